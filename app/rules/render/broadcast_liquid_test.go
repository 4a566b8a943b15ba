package render

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// liquidBroadcast is a broadcast with Liquid whose text is derived from its HTML.
func liquidBroadcast(content string) *app.Broadcast {
	b := apptest.Broadcast(content)
	b.Syntax, b.Text = app.LiquidSyntax, nil
	b.Snapshot.Numbers, b.Snapshot.Fallbacks = map[string]bool{"age": true}, map[string]string{"plan": "free"}
	return b
}

func TestBroadcastWithLiquid(t *testing.T) {
	fields := map[string]string{"first_name": "Ann & Bob", "property:age": "20", "property:city": "Rome"}
	for _, c := range []struct{ name, in, html, text string }{
		{"output", `<p>Hi {{ contact.first_name }}</p>`, `<p>Hi Ann &amp; Bob</p>`, "Hi Ann & Bob"},
		{"placeholder beside it", `<p>{{{FIRST_NAME|x}}} {{ contact.last_name | default: "L" }}</p>`, `<p>Ann &amp; Bob L</p>`, "Ann & Bob L"},
		{"condition", `<p>{% if contact.age >= 18 %}adult{% else %}child{% endif %}</p>`, `<p>adult</p>`, "adult"},
		{"loop", `<ul>{% for i in (1..3) %}<li>{{ i }}</li>{% endfor %}</ul>`, `<ul><li>1</li><li>2</li><li>3</li></ul>`, "- 1\n- 2\n- 3"},
		{"capture", `{% capture x %}&lt;{{ contact.city }}{% endcapture %}<p>{{ x }}</p>`, `<p>&lt;Rome</p>`, "<Rome"},
		{"fallback of the property", `<p>{{ contact.plan | upcase }} {{ contact.plan | default: "own" }}{% if contact.plan %}x{% endif %}</p>`, `<p>FREE own</p>`, "FREE own"},
		{"nothing", `{% if contact.age > 99 %}<p>x</p>{% endif %}`, "\n", ""},
		{"query", `<a href="https://a.example/?c={{ contact.first_name }}">l</a>`, `<a href="https://a.example/?c=Ann%20%26%20Bob">l</a>`, "l (https://a.example/?c=Ann%20%26%20Bob)"},
	} {
		m := rendered(t, liquidBroadcast(c.in), fields)
		if m.HTML != c.html || strings.TrimSuffix(m.Text, "\n") != c.text {
			t.Errorf("%s:\nhtml %q, want %q\ntext %q, want %q", c.name, m.HTML, c.html, m.Text, c.text)
		}
	}
	b := liquidBroadcast("<p>x</p>")
	b.Subject, b.Preview = "{{ contact.first_name | upcase }}\n{% if contact.age == 20 %}!{% endif %}", "<{{ contact.city }}>"
	text := "{{ contact.first_name }} https://a.example/?q={{ contact.first_name }}&r={{ contact.first_name | url_encode }}"
	b.Text = &text
	m := rendered(t, b, fields)
	if m.Subject != "ANN & BOB !" || !strings.Contains(m.HTML, "&lt;Rome&gt;</div><p>x</p>") || m.Text != "Ann & Bob https://a.example/?q=Ann%20%26%20Bob&r=Ann+%26+Bob" {
		t.Errorf("%q, %q, %q", m.Subject, m.HTML, m.Text)
	}
}

func TestTrackedLinksWithLiquid(t *testing.T) {
	b := liquidBroadcast(`{% for i in (1..2) %}<a href="https://a.example/{{ i }}">l</a>{% endfor %}<a href="https://a.example/{% if contact.city == "Rome" %}rome{% else %}else{% endif %}">m</a><a href="https://a.example/fixed">f</a>`)
	b.Snapshot.Tracking = &app.Tracking{Base: "https://t.example", Click: true, Open: true}
	mail := compileTest(t, b)
	if got := mail.Links(); len(got) != 3 || got[0] != "https://a.example/{{ i }}" || !strings.Contains(got[1], "{% else %}") {
		t.Fatalf("links %q", got)
	}
	s := apptest.Sealer(t, 0)
	m, err := mail.Mail(s, &app.BroadcastRecipient{ID: testRecipient, Email: "ann@example.org", Fields: map[string]string{"property:city": "Rome"}})
	if err != nil {
		t.Fatal(err)
	}
	whole := m.Flatten()
	if n := strings.Count(whole.HTML, `<a href="https://t.example/`); n != 4 || strings.Contains(whole.HTML, "a.example") || strings.Count(whole.HTML, "<img ") != 1 {
		t.Errorf("html %s", whole.HTML)
	}
	seen := map[string]bool{}
	for _, part := range strings.Split(whole.HTML, `href="`)[1:] {
		link, _, _ := strings.Cut(part, `"`)
		seen[link] = true
	}
	if len(seen) != 4 {
		t.Errorf("%d distinct links in %s", len(seen), whole.HTML)
	}
	if want := "l (https://a.example/1)"; !strings.Contains(whole.Text, want) || strings.Contains(whole.Text, "t.example") {
		t.Errorf("text %q", whole.Text)
	}
}

// Tags of Liquid within tags of HTML, addresses that are none, and references in quotes.
func TestPositionsOfLiquid(t *testing.T) {
	fields := map[string]string{"first_name": "A&B x", "property:url": "javascript:alert(1)", "property:ok": "https://b.example/?x=1&y=2"}
	track := &app.Tracking{Base: "https://t.example", Click: true}
	for _, c := range []struct{ name, in, html, text string }{
		{"tag after a name", `<a{% if contact.ok %} class="y"{% endif %} href="https://a.example/">l</a>`, `<a   class="y"   href="https://t.example/`, "l (https://a.example/)"},
		{"attribute before another one", `<a {% if contact.no %}class="y" {% endif %}href="https://a.example/">l</a>`, `href="https://t.example/`, "l (https://a.example/)"},
		{"value that is no address", `<a href="{{ contact.url }}">l</a>`, `<a href="">l</a>`, "l"},
		{"placeholder that is no address", `<a href="{{{contact.url}}}">l</a>`, `<a href="">l</a>`, "l"},
		{"whole address", `<a href="{{{contact.ok}}}">l</a><a href="{{ contact.ok }}">m</a>`, `<a href="https://t.example/`, "l (https://b.example/?x=1&y=2)m (https://b.example/?x=1&y=2)"},
		{"placeholder in a query", `<a href="https://a.example/?q={{{FIRST_NAME}}}">l</a>`, `<a href="https://t.example/`, "l (https://a.example/?q=A%26B%20x)"},
		{"placeholder in a style", `<p style="color:{{{contact.url}}}">l</p>`, `<p style="color:javascriptalert1">l</p>`, "l"},
		{"reference in quotes", `<p>{{ contact.no | default: "Tom &amp; Co" }}</p>`, `<p>Tom &amp; Co</p>`, "Tom & Co"},
	} {
		b := liquidBroadcast(c.in)
		b.Snapshot.Tracking = track
		m := rendered(t, b, fields)
		if !strings.Contains(m.HTML, c.html) || strings.Contains(m.HTML, `"https://a.example`) || strings.TrimSuffix(m.Text, "\n") != c.text {
			t.Errorf("%s:\nhtml %q, want %q\ntext %q, want %q", c.name, m.HTML, c.html, m.Text, c.text)
		}
	}
}

func TestLimitOfLiquid(t *testing.T) {
	b := liquidBroadcast(`{% for i in (1..100000) %}{{ contact.first_name }}{% endfor %}`)
	mail := compileTest(t, b)
	if _, err := mail.Mail(apptest.Sealer(t, 0), &app.BroadcastRecipient{ID: testRecipient, Email: "ann@example.org"}); !errors.Is(err, ErrLimit) {
		t.Errorf("error %v", err)
	}
	found := mail.Inspect(apptest.Sealer(t, 0), &app.Contact{Email: "ann@example.org"})
	if !found.Limit || len(found.Missing) != 1 || found.Missing[0] != "contact.first_name" {
		t.Errorf("findings %+v", found)
	}
}

func TestTemplateWithLiquid(t *testing.T) {
	c := &app.TemplateContent{
		Syntax: app.LiquidSyntax, Subject: "{{ name }}\r\nx", HTML: `<p id={{ name }} title="{{{name}}}">{% for i in items %}{{ i.n }}{% endfor %} {{{UNSUBSCRIBE_URL}}} {{ note | raw }}</p>`,
		Variables: []app.TemplateVariable{{Key: "name", Type: app.StringProperty}, {Key: "items", Type: "list"}, {Key: "note", Type: "html"}},
	}
	values := map[string]app.PropertyValue{
		"name": apptest.String("A <b> {{{UNSUBSCRIBE_URL}}} {{ name }}"), "items": {Type: "list", Text: `[{"n":1},{"n":"<"}]`}, "note": {Type: "html", Text: "<i>x</i>"},
	}
	if err := CheckTemplate(c, nil); err != nil {
		t.Fatal(err)
	}
	r, err := Template(c, values, nil, true, time.Time{}, app.MaxRendered)
	if err != nil {
		t.Fatal(err)
	}
	const name = "A &lt;b&gt; {\u2060{{UNSUBSCRIBE_URL}}} {{ name }}"
	if want := `<p id=` + strings.NewReplacer(" ", "&#32;", "=", "&#61;").Replace(name) + ` title="` + name + `">1&lt; {{{UNSUBSCRIBE_URL}}} <i>x</i></p>`; r.HTML != want {
		t.Errorf("html %s\nwant %s", r.HTML, want)
	}
	if want := "A <b> {\u2060{{UNSUBSCRIBE_URL}}} {{ name }}  x"; r.Subject != want {
		t.Errorf("subject %q, want %q", r.Subject, want)
	}
}
