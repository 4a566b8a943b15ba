package smtpout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mailer/app"
	"mailer/app/rules/render"
)

// plainBroadcasts are broadcasts with placeholders at all kinds of positions, and with text that
// other template languages would evaluate.
func plainBroadcasts() []app.Broadcast {
	none, text := "", "Hello {{{FIRST_NAME|there}}},\n{{ contact.first_name }} {% if x %}\nhttps://shop.acme.test/?e={{{EMAIL}}}\n{{{VIEW_URL}}} {{{UNSUBSCRIBE_URL}}}\n"
	contents := []app.BroadcastContent{
		{HTML: `<h1>Hello {{{FIRST_NAME|there}}} of {{{contact.company|<i>your company</i>}}}</h1>`, Preview: "For {{{FIRST_NAME|you}}} & more"},
		{HTML: `<!DOCTYPE html><html><head><title>{{{contact.first_name}}}</title><style>td{color:red}</style></head><body class="a"><a href="https://shop.acme.test/?email={{{EMAIL}}}&amp;c={{{company}}}#top">shop</a>` +
			` <a href=https://acme.test/{{{company}}}>{{{LAST_NAME}}}</a> <a href="{{{ website }}}">site</a> <img alt={{{FIRST_NAME|x y}}} src="https://acme.test/a.png"><a href="{{{UNSUBSCRIBE_URL}}}">out</a><a href='{{{VIEW_URL}}}'>view</a></body></html>`},
		{HTML: `<p>{{ contact.first_name | default: "there" }} {% for x in (1..3) %}{{x}}{% endfor %} {{{FIRST_NAME}}} {{{{contact.company}}}} %} }}</p>`, Text: &text},
		{Text: &text, Preview: "unused {{{EMAIL}}}"},
		{HTML: `<p>春のお知らせ {{{FIRST_NAME|皆様}}}</p><p>http://{{{UNSUBSCRIBE_URL}}} %7B%7B%7BUNSUBSCRIBE_URL%7D%7D%7D</p>`, Text: &none},
	}
	var out []app.Broadcast
	for _, c := range contents {
		for _, tracked := range []bool{false, true} {
			b := newsletter(tracked)
			b.Subject = "News for {{{FIRST_NAME|you}}} {{ x }}"
			b.Preview, b.HTML, b.Text = c.Preview, c.HTML, c.Text
			b.Snapshot.Fallbacks = map[string]string{"company": "Acme & Sons"}
			out = append(out, *b)
		}
	}
	return out
}

// A plain document gives the same bytes as in the versions before documents had a syntax and
// variants.
func TestPlainDocumentsKeepTheirBytes(t *testing.T) {
	var got bytes.Buffer
	add := func(name string, m *app.Outgoing) {
		t.Helper()
		b, err := compose(m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "==== %s ====\n%s", name, b)
	}
	s := testSealer(t)
	for i, b := range plainBroadcasts() {
		m := compiled(t, &b)
		for n, fields := range []map[string]string{nil, {"first_name": `Ann "A" <b>`, "last_name": "O'Neil", "property:company": "C&A <x>\nÜ", "property:website": "https://ann.example.org/?a=b&c=d"}} {
			add(fmt.Sprintf("broadcast %d, recipient %d", i, n), toRecipient(s, m, int64(n), "ann+news@example.org", fields))
		}
	}
	content := app.TemplateContent{
		From: "Acme <hi@acme.test>", Subject: "Order {{{ORDER}}} for {{{NAME|you}}} {{ x }}",
		HTML: `<p title={{{NAME}}}>{{{NAME|<b>you</b>}}}, {{{FIRST_NAME|friend}}}: {{{ORDER}}} for {{{TOTAL}}} {% if a %}{{ b }}{% endif %}</p><a href="https://acme.test/o?n={{{ORDER}}}">see</a> <a href="{{{UNSUBSCRIBE_URL}}}">out</a>`,
		Variables: []app.TemplateVariable{{Key: "NAME", Type: app.StringProperty, Fallback: &app.PropertyValue{Type: app.StringProperty, Text: "A & B"}}, {Key: "ORDER", Type: app.StringProperty},
			{Key: "TOTAL", Type: app.NumberProperty}},
	}
	for i, values := range []map[string]app.PropertyValue{
		{"ORDER": {Type: app.StringProperty, Text: "1"}, "TOTAL": {Type: app.NumberProperty, Number: 1.5}},
		{"ORDER": {Type: app.StringProperty, Text: "<i> {{{UNSUBSCRIBE_URL}}}\n{{{NAME}}}"}, "TOTAL": {Type: app.NumberProperty, Number: -1e9}, "NAME": {Type: app.StringProperty, Text: `x" onclick="y`}},
	} {
		in, err := render.Fill(&app.EmailInput{To: []string{"ann@example.org"}, Template: &app.TemplateUse{ID: "t", Variables: values}}, &content, time.Time{}, app.MaxRendered)
		if err != nil {
			t.Fatal(err)
		}
		add(fmt.Sprintf("template, values %d", i), outgoing(t, *in))
	}
	path := filepath.Join("testdata", "plain_documents.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("differs from %s (-want +got):\n%s", path, d)
	}
}
