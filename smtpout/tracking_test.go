package smtpout

import (
	"bytes"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/app/testing/apptest"
)

// tracked is a mail with open and click tracking.
func tracked(t testing.TB, m *app.Mail) *app.Mail {
	t.Helper()
	s := apptest.Sealer(t, 0)
	return tracking.Track(s, m, "01920000-0000-7000-8000-0000000000aa", "01920000-0000-7000-8000-000000000001", &app.Tracking{Base: "https://links.example.com", Open: true, Click: true})
}

func TestLongTrackedLinksAreFolded(t *testing.T) {
	m := benchmarkMail(t)
	mail := *m.Mail
	mail.HTML = `<a href="https://a.test/` + strings.Repeat("x", tracking.MaxTarget-15) + `">x</a>`
	m.Mail = tracked(t, &mail)
	if m.Mail.HTML == mail.HTML {
		t.Fatal("the link is not tracked")
	}
	message, err := compose(m)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(message) {
		if len(line) > 1000 { // with CRLF (RFC 5322 2.1.1)
			t.Fatalf("a line of %d bytes", len(line))
		}
	}
}

func BenchmarkComposeTracked(b *testing.B) {
	link := `<p>Have a look at <a class="button" href="https://shop.example.com/products/1?utm_source=mail&amp;n=%">it</a> ` + strings.Repeat("now or later ", 20) + "</p>\n"
	var html strings.Builder
	for i := range 20 {
		html.WriteString(strings.Replace(link, "%", string(rune('a'+i)), 1))
	}
	m := benchmarkMail(b)
	mail := *m.Mail
	mail.HTML = html.String()
	for name, track := range map[string]bool{"with": true, "without": false} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Mail = &mail
				if track {
					m.Mail = tracked(b, &mail)
				}
				if _, err := compose(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
