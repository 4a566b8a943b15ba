package render

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/testing/apptest"
)

// TestBrokenUnsubscribeLinksAreRepaired compiles drafts and templates whose links an editor broke,
// in HTML and text.
func TestBrokenUnsubscribeLinksAreRepaired(t *testing.T) {
	s := apptest.Sealer(t, 0)
	for _, link := range []string{"{{{UNSUBSCRIBE_URL}}}", "http://{{{UNSUBSCRIBE_URL}}}", "%7B%7B%7BUNSUBSCRIBE_URL%7D%7D%7D", "https://%7B%7B%7Bunsubscribe_url%7D%7D%7D", "&#123;&#123;&#123;UNSUBSCRIBE_URL&#125;&#125;&#125;"} {
		text := "leave: " + link
		b := apptest.Broadcast("<p>x</p><a href=\"" + link + "\">u</a>")
		b.Text = &text
		m := compileTest(t, b).Partial(s, &app.BroadcastRecipient{ID: testRecipient, Email: "ann@example.org"})
		page := strings.Trim(m.Headers[1].Value, "<>")
		html, text := m.Bodies.HTML.String(), m.Bodies.Text.String()
		if !strings.Contains(html, `href="`+page+`"`) || !strings.HasSuffix(text, "leave: "+page) {
			t.Errorf("%s: %s\n%s", link, html, text)
		}
		out, err := Template(&app.TemplateContent{HTML: `<a href="` + link + `">u</a>`}, nil, nil, false, time.Time{}, 1<<20)
		if err != nil || out.HTML != `<a href="{{{UNSUBSCRIBE_URL}}}">u</a>` {
			t.Errorf("%s in a template: %+v, %v", link, out, err)
		}
	}
	value := app.PropertyValue{Type: app.StringProperty, Text: "%7B%7B%7BUNSUBSCRIBE_URL%7D%7D%7D"}
	c := &app.TemplateContent{HTML: "<p>{{{NAME}}}</p>", Variables: []app.TemplateVariable{{Key: "NAME", Type: app.StringProperty}}}
	out, err := Template(c, map[string]app.PropertyValue{"NAME": value}, nil, false, time.Time{}, 1<<20)
	if err != nil || htmltext.RepairPageLinks(out.HTML) != out.HTML {
		t.Errorf("a value is taken for the link: %+v, %v", out, err)
	}
}
