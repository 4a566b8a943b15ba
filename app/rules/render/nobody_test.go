package render

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
)

const nobodysPage = "https://page.invalid/"

// forNobody renders the content for the archive, and fails if a placeholder or something of a recipient is left.
func forNobody(t *testing.T, syntax app.Syntax, content string) *Preview {
	t.Helper()
	b := apptest.Broadcast(content)
	text := content
	b.Syntax, b.Text, b.Subject, b.Preview = syntax, &text, content, content
	b.Status, b.QueuedAt, b.EmailIDPrefix = app.QueuedBroadcast, time.UnixMilli(1_800_000_000_000), app.NewEmailIDPrefix()
	b.Snapshot.Numbers, b.Snapshot.Fallbacks = map[string]bool{"age": true}, map[string]string{"city": "your town", "age": "30"}
	b.Snapshot.Tracking = &app.Tracking{Base: "https://links.test", Open: true, Click: true}
	b.Snapshot.Pages = "https://mail.test"
	out, err := ForNobody(b, nobodysPage)
	if err != nil {
		t.Fatalf("%s: %v", content, err)
	}
	for _, s := range []string{out.Subject, out.Preview, out.HTML, out.Text} {
		for _, left := range []string{"{{", "}}", "{%", "links.test", "mail.test"} {
			if strings.Contains(s, left) {
				t.Errorf("%s: %q is left in %q", content, left, s)
			}
		}
	}
	return out
}

// TestPlaceholdersForNobody: each placeholder of a broadcast becomes its fallback, nothing, or the page.
func TestPlaceholdersForNobody(t *testing.T) {
	for key, fallback := range map[string]string{
		"FIRST_NAME": "", "LAST_NAME": "", "EMAIL": "", "contact.first_name": "", "contact.last_name": "", "contact.email": "",
		"PREFERENCES_URL": "", "city": "your town", "contact.city": "your town", "age": "30", "none": "", "contact.none": "",
	} {
		for placeholder, want := range map[string]string{"{{{" + key + "}}}": fallback, "{{{" + key + "|own & <b>}}}": "own & <b>", "{{{ " + key + " | }}}": ""} {
			for _, syntax := range []app.Syntax{app.PlainSyntax, app.LiquidSyntax} {
				out := forNobody(t, syntax, "["+placeholder+"]")
				if out.Subject != "["+want+"]" || out.Text != "["+want+"]" || !strings.Contains(out.HTML, "["+want+"]") {
					t.Errorf("%s %q: %q %q %q, want %q", placeholder, syntax, out.Subject, out.HTML, out.Text, want)
				}
			}
		}
	}
	for _, key := range []string{"UNSUBSCRIBE_URL", "RESEND_UNSUBSCRIBE_URL", "VIEW_URL"} {
		for _, syntax := range []app.Syntax{app.PlainSyntax, app.LiquidSyntax} {
			b := apptest.Broadcast(`<a href="{{{` + key + `}}}">x</a>`)
			b.Syntax = syntax
			text := "at {{{" + key + "}}}"
			b.Text = &text
			out, err := ForNobody(b, nobodysPage)
			if err != nil {
				t.Errorf("%s %q: %v", key, syntax, err)
				continue
			}
			if out.HTML != `<a href="`+nobodysPage+`">x</a>` || out.Text != "at "+nobodysPage {
				t.Errorf("%s %q: %q %q", key, syntax, out.HTML, out.Text)
			}
		}
	}
}

// TestLiquidForNobody: each tag of Liquid sees an empty contact, whose properties have the fallbacks of the team.
func TestLiquidForNobody(t *testing.T) {
	for content, want := range map[string]string{
		`{{ contact.email }}{{ contact.first_name }}{{ contact.last_name }}{{ contact.none }}`: "",
		`{{ contact.first_name | default: "you" | upcase }}`:                                   "YOU",
		`{{ contact.city }}`: "your town",
		`{% if contact.email %}a{% elsif contact.first_name %}b{% else %}c{% endif %}`:                                                             "c",
		`{% if contact.email == "" %}a{% else %}b{% endif %}`:                                                                                      "b",
		`{% if contact.email contains "@" %}a{% else %}b{% endif %}`:                                                                               "b",
		`{% unless contact.email %}a{% endunless %}`:                                                                                               "a",
		`{% case contact.plan %}{% when "pro" %}pro{% else %}free{% endcase %}`:                                                                    "free",
		`{% assign x = contact.email | append: "!" %}{{ x }}`:                                                                                      "!",
		`{% capture x %}<{{ contact.email }}>{% endcapture %}{{ x | size }}`:                                                                       "2",
		`{% assign l = contact.email | split: "@" %}{% for x in l %}{{ x }}{% else %}none{% endfor %}`:                                             "none",
		`{% for i in (1..3) %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{{ contact.email }}{% if i == 3 %}{% break %}{% endif %}{% endfor %}`: "13",
		`{% for i in (1..2) %}{% cycle contact.email, "b" %}{% endfor %}`:                                                                          "b",
		`{% comment %}{{ contact.email }}{% endcomment %}x`:                                                                                        "x",
		`{{ "now" | date: "%Y" | size }}`:                                                                                                          "4",
	} {
		if out := forNobody(t, app.LiquidSyntax, content); out.Text != want && strings.TrimSpace(out.Text) != want {
			t.Errorf("%s: %q, want %q", content, out.Text, want)
		}
	}
	b := liquidBroadcast(`{% block "greet" %}{% raw %}{{ contact.email }}{% endraw %}`)
	b.Snapshot.Blocks = app.Blocks{"greet": `<p>{{ contact.first_name | default: "friend" }}{{{EMAIL}}}</p>`}
	out, err := ForNobody(b, nobodysPage)
	if err != nil || out.HTML != `<p>friend</p>{{ contact.email }}` { // what raw says is the same for everybody
		t.Errorf("%+v %v", out, err)
	}
}
