package render

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// TestQueryValuesArePercentEncoded uses values in links of HTML and text.
func TestQueryValuesArePercentEncoded(t *testing.T) {
	s := apptest.Sealer(t, 0)
	for link, want := range map[string]string{
		"https://ex.test/?email={{{EMAIL}}}&c={{{COMPANY}}}": "https://ex.test/?email=bob%2Bnews%40example.org&c=C%26A%20%25",
		"https://ex.test/p;v?c={{{COMPANY}}}#{{{EMAIL}}}":    "https://ex.test/p;v?c=C%26A%20%25#bob%2Bnews%40example.org",
		"https://ex.test/?c={{{COMPANY}}}{{{COMPANY}}}":      "https://ex.test/?c=C%26A%20%25C%26A%20%25",
		"mailto:a@ex.test?subject={{{COMPANY}}}":             "mailto:a@ex.test?subject=C%26A%20%25",
		"https://ex.test/?c={{{MISSING|a&b}}}":               "https://ex.test/?c=a&b", // as written
		"https://ex.test/{{{EMAIL}}}":                        "https://ex.test/bob+news@example.org",
		"{{{SITE}}}":                                         "https://site.test/?a=1&b=2",
		"https://ex.test/?{{{QUERY}}}":                       "https://ex.test/?a=1&b=2",
		"https://ex.test/?x=1&{{{QUERY}}}":                   "https://ex.test/?x=1&a=1&b=2",
	} {
		text := "Is it {{{COMPANY}}}? " + link
		b := apptest.Broadcast("<p>Is it {{{COMPANY}}}?</p><a href=\"" + strings.ReplaceAll(link, "&", "&amp;") + "\">u</a>")
		b.Text = &text
		m := compileTest(t, b).Partial(s, &app.BroadcastRecipient{ID: testRecipient, Email: "bob+news@example.org", Fields: map[string]string{
			app.PropertyPrefix + "COMPANY": "C&A %", app.PropertyPrefix + "SITE": "https://site.test/?a=1&b=2", app.PropertyPrefix + "QUERY": "a=1&b=2"}})
		got := m.Bodies.HTML.String()
		href := html.UnescapeString(regexp.MustCompile(`href="([^"]*)"`).FindStringSubmatch(got)[1])
		if href != want || !strings.Contains(got, "Is it C&amp;A %?") {
			t.Errorf("%s in html: %s", link, got)
		}
		if got := m.Bodies.Text.String(); got != "Is it C&A %? "+want {
			t.Errorf("%s in text: %s", link, got)
		}
	}
}
