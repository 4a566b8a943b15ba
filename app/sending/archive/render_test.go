package archive_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/sending/archive"
)

// queued returns a queued broadcast with secrets of recipients in everything but its content.
func queued(syntax app.Syntax, subject, html string) *app.Broadcast {
	return &app.Broadcast{ID: app.NewID(), TeamID: app.NewID(), TopicID: app.NewID(), From: app.Address{Local: "news", Domain: "acme.test"}, Subject: subject, EmailIDPrefix: app.NewEmailIDPrefix(),
		Status: app.QueuedBroadcast, QueuedAt: time.UnixMilli(1_800_000_000_000),
		BroadcastContent: app.BroadcastContent{Syntax: syntax, HTML: html, Snapshot: &app.BroadcastSnapshot{Pages: "https://mail.test", Fallbacks: map[string]string{"city": "your town"},
			Tracking: &app.Tracking{Base: "https://links.test", Open: true, Click: true}, Blocks: app.Blocks{"head": "<h1>{{ contact.first_name | default: 'friend' }}</h1>"}}}}
}

func TestIssueIsRenderedForNobody(t *testing.T) {
	t.Parallel()
	const link = app.SignUpLink
	for name, tt := range map[string]struct {
		syntax app.Syntax
		html   string
		want   string
	}{
		"names":              {"", `<p>{{{FIRST_NAME|there}}}{{{LAST_NAME}}}{{{contact.first_name|x}}}</p>`, `<p>therex</p>`},
		"address":            {"", `<p>[{{{EMAIL}}}{{{contact.email|nobody}}}]</p>`, `<p>[nobody]</p>`},
		"property":           {"", `<p>{{{city}}}/{{{none|far}}}/{{{other}}}</p>`, `<p>your town/far/</p>`},
		"in links":           {"", `<a href="https://a.test/?e={{{EMAIL}}}&c={{{city}}}">x</a>`, `<a href="https://a.test/?e=&amp;c=your%20town" target="_blank">x</a>`},
		"unsubscribe":        {"", `<a href="{{{UNSUBSCRIBE_URL}}}">a</a><a href="{{{RESEND_UNSUBSCRIBE_URL}}}">b</a>`, `<a href="` + link + `" target="_blank">a</a><a href="` + link + `" target="_blank">b</a>`},
		"view":               {"", `<a href="{{{VIEW_URL}}}">v</a>`, `<a href="` + link + `" target="_blank">v</a>`},
		"copied pages":       {"", `<a href="https://mail.test/unsubscribe/AbC-_9">u</a><a href="https://mail.test/view/xyz">v</a>`, `<a href="` + link + `" target="_blank">u</a><a href="` + link + `" target="_blank">v</a>`},
		"copied in disguise": {"", `<a href="HTTP://Mail.test/unsub&#115;cribe&#x2f;AbC/x">u</a>`, `<a href="` + link + `" target="_blank">u</a>`},
		"no tracking":        {"", `<body><a href="https://shop.test/x">x</a></body>`, `<body><a href="https://shop.test/x" target="_blank">x</a>`},
		"hostile HTML":       {"", `<script>steal()</script><form action="https://e.test"><input name=p></form><img src=x onerror=y><meta http-equiv="refresh" content="0"><base href="https://e.test">z`, `<img>z`},
		"liquid values":      {"liquid", `<p>{{ contact.first_name | default: "you" }}{{ contact.email }}{{ contact.city }}{{ contact.missing }}</p>`, `<p>youyour town</p>`},
		"liquid conditions":  {"liquid", `{% if contact.first_name %}named{% else %}anonymous{% endif %}{% unless contact.email == "a@b.test" %}!{% endunless %}{% case contact.plan %}{% when "pro" %}pro{% else %}free{% endcase %}`, `anonymous!free`},
		"liquid loops":       {"liquid", `{% assign l = "a,b" | split: "," %}{% for x in l %}{{ x }}{% if contact.last_name %}{{ contact.last_name }}{% endif %}{% endfor %}`, `ab`},
		"liquid capture":     {"liquid", `{% capture c %}{{ contact.email }}{% endcapture %}[{{ c }}]{% comment %}{{ contact.email }}{% endcomment %}`, `[]`},
		"liquid block":       {"liquid", `{% block "head" %}<p>{{{UNSUBSCRIBE_URL}}}</p>`, `<h1>friend</h1><p>` + link + `</p>`},
	} {
		t.Run(name, func(t *testing.T) {
			issue, err := archive.Render(queued(tt.syntax, "For {{{FIRST_NAME|everybody}}}", tt.html))
			if err != nil {
				if tt.syntax != "" {
					issue, err = archive.Render(queued(tt.syntax, "For everybody", tt.html))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.ReplaceAll(strings.TrimSpace(issue.HTML), ` rel="noopener noreferrer"`, ""); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if issue.Subject != "For everybody" {
				t.Errorf("subject %q", issue.Subject)
			}
			for _, text := range []string{issue.HTML, issue.Subject, issue.Preview} {
				if strings.Contains(text, "links.test") || strings.Contains(text, "{{") || strings.Contains(text, "mail.test") {
					t.Errorf("%s", text)
				}
			}
		})
	}
}

func TestIssueOfPlainText(t *testing.T) {
	t.Parallel()
	b := queued("", "Hi", "")
	text := "Dear {{{FIRST_NAME|reader}}} <b>\n{{{UNSUBSCRIBE_URL}}}"
	b.Text = &text
	issue, err := archive.Render(b)
	if err != nil || !strings.Contains(issue.HTML, "Dear reader &lt;b&gt;\n"+app.SignUpLink) || issue.Preview != "Dear reader <b>" {
		t.Errorf("%q %q %v", issue.HTML, issue.Preview, err)
	}
}

// TestIssueAlwaysHasASubject: one that is a name alone is empty for nobody, and a link needs a text.
func TestIssueAlwaysHasASubject(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{`<p>Hello {{{FIRST_NAME|you}}}</p>`: "Hello you", `<img src="https://a.test/x.png">`: "…"} {
		if issue, err := archive.Render(queued("", "{{{FIRST_NAME}}} {{{EMAIL}}}", content)); err != nil || issue.Subject != want {
			t.Errorf("%q, want %q, %v", issue.Subject, want, err)
		}
	}
}
