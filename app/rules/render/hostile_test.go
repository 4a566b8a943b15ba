package render

import (
	"math/rand/v2"
	"strings"
	"testing"

	nethtml "golang.org/x/net/html"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// hostileDocument has a contact's values in every position that a document may use, in Liquid and in
// placeholders.
const hostileDocument = `<!doctype html><html><head><title>{{ contact.a }}</title><style>p{color:{{ contact.b }}}</style></head><body>
<!--[if mso]><p title="{{ contact.a }}">{{ contact.b }}</p><![endif]-->
<p title="{{ contact.a }}" id={{ contact.b }} class='{{ contact.c }}' style="color:{{ contact.a }};{{{contact.b}}}">{{ contact.a }}{{ contact.b }} {{{contact.c}}}</p>
<a href="https://shop.example/{{ contact.a }}/x?q={{ contact.b }}&r={{{contact.c}}}#{{ contact.c }}">{{ contact.a | upcase }}</a>
<a href="mailto:{{ contact.a }}?subject={{ contact.b }}">{{ contact.c | newline_to_br }}</a>
{% if contact.a contains contact.b %}<b>{{ contact.b | strip_html | truncate: 20 }}</b>{% else %}<b>{{ contact.c | url_encode }}</b>{% endif %}
{% assign parts = contact.a | split: contact.b %}<ul>{% for part in parts %}<li {% if forloop.first %}class="{{ part }}"{% endif %}>{{ part }}</li>{% endfor %}</ul>
<table><tr><td width={{{contact.a}}}>{{ contact.c | replace: contact.a, contact.b | append: contact.a }}</td></tr></table></body></html>`

// hostileWords are parts of values that mean something to somebody.
var hostileWords = []string{"<", ">", `"`, "'", "`", "&", "=", "/", "\\", ";", ":", "\r\n", "\n", "\t", "\x00", "\xff", " ", "--", "-->", "<!--", "<script>", "</style>", "</title>", "</a>", "<img src=x onerror=alert(1)>",
	"javascript:", "data:text/html,", "https://evil.example/", "//evil.example", "@evil.example", "onclick=x ", "style=x", "url(", "expression(", "&lt;", "&#60;", "&quot;", "%0d%0a", "%3c", "{{ contact.a }}", "{% if %}", "{{{UNSUBSCRIBE_URL}}}",
	"Bcc: x@evil.example", "\u2028", "\u202e", "é", "a", "1", "]]>", "<![endif]", "*/", "}", "{"}

func hostileValue(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(hostileWords[r.IntN(len(hostileWords))])
	}
	return b.String()
}

// shape is what a value must not change: tags, names of attributes, and scheme and host of addresses.
func shape(source string) string {
	var b strings.Builder
	z := nethtml.NewTokenizer(strings.NewReader(source))
	for z.Next() != nethtml.ErrorToken {
		t := z.Token()
		if t.Type == nethtml.TextToken || t.Type == nethtml.CommentToken {
			continue
		}
		if t.Data == "li" || t.Data == "br" { // as many as the value has parts
			continue
		}
		b.WriteString(t.Type.String() + t.Data)
		for _, a := range t.Attr {
			b.WriteString(" " + a.Key)
			if a.Key == "href" {
				at := strings.IndexByte(a.Val, ':')
				if strings.HasPrefix(a.Val, "https://") {
					at = len("https://") + strings.IndexByte(a.Val[len("https://"):], '/')
				}
				b.WriteString("=" + a.Val[:max(at, 0)])
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// hostileValues renders the document with hostile values n times.
func hostileValues(t *testing.T, seed uint64, n int) {
	t.Helper()
	b := liquidBroadcast(hostileDocument)
	b.Subject, b.Preview = "{{ contact.a }} {{{contact.b}}} {% if contact.c %}{{ contact.c }}{% endif %}", "{{ contact.a }} {{{contact.b}}}"
	b.Snapshot.Tracking = &app.Tracking{Base: "https://track.example", Click: true, Open: true}
	if err := CheckBroadcast(b, nil); err != nil {
		t.Fatal(err)
	}
	mail, s := compileTest(t, b), apptest.Sealer(t, 0)
	render := func(a, b, c string) *app.Mail {
		return mail.Partial(s, &app.BroadcastRecipient{ID: testRecipient, Email: "ann@example.org", Fields: map[string]string{"property:a": a, "property:b": b, "property:c": c}}).Flatten()
	}
	want := shape(render("x", "y", "z").HTML)
	if !strings.Contains(want, "https://track.example") {
		t.Fatalf("the links are not tracked: %s", want)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		x, y, z := hostileValue(r), hostileValue(r), hostileValue(r)
		m := render(x, y, z)
		if got := shape(m.HTML); got != want {
			t.Fatalf("%q, %q, %q change the mail:\n%s\nhtml %s", x, y, z, got, m.HTML)
		}
		if strings.ContainsAny(m.Subject, "\r\n\x00") {
			t.Fatalf("%q, %q, %q: subject %q", x, y, z, m.Subject)
		}
	}
}

// A contact's values add no tag, attribute, link or header to a mail.
func TestHostileProperties(t *testing.T) { hostileValues(t, 1, 2000) }
