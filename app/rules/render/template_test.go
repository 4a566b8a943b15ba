package render

import (
	"html"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// oneVariable returns a template with the variables X, without fallback, and Y, with one.
func oneVariable(htmlPart string, text *string) *app.TemplateContent {
	fallback := apptest.String("<y>")
	return &app.TemplateContent{HTML: htmlPart, Text: text, Variables: []app.TemplateVariable{
		{Key: "X", Type: app.StringProperty}, {Key: "Y", Type: app.StringProperty, Fallback: &fallback}, {Key: "N", Type: app.NumberProperty},
	}}
}

func TestTemplate(t *testing.T) {
	values := map[string]app.PropertyValue{"X": apptest.String(`<b> & "`), "N": {Type: app.NumberProperty, Number: -1.50}}
	for _, c := range []struct{ in, html, text string }{
		{"", "", ""},
		{"none {{X}} {X} }}}", "none {{X}} {X} }}}", "none {{X}} {X} }}}"},
		{"{{{X}}}", "&lt;b&gt; &amp; &#34;", `<b> & "`},
		{"{{{ \t\r\nX\n }}}", "&lt;b&gt; &amp; &#34;", `<b> & "`},
		{"a{{{N}}}b{{{N}}}", "a-1.5b-1.5", "a-1.5b-1.5"},
		{"{{{{{N}}}}}", "{{-1.5}}", "{{-1.5}}"},
		{"{{{Y}}}", "&lt;y&gt;", "<y>"},
		{"{{{Y|a & b}}}", "a & b", "a & b"},
		{"{{{Y|}}}", "", ""},
		{"{{{X| there }}}", "&lt;b&gt; &amp; &#34;", `<b> & "`},
		{"{{{FIRST_NAME|there}}}{{{LAST_NAME}}}{{{EMAIL}}}{{{contact.a_1|c}}}{{{contact}}}{{{this|t}}}", "therect", "therect"},
		{"{{{ RESEND_UNSUBSCRIBE_URL | x }}}", "{{{UNSUBSCRIBE_URL}}}", "{{{UNSUBSCRIBE_URL}}}"},
	} {
		r, err := Template(oneVariable(c.in, &c.in), values, nil, false, time.Time{}, app.MaxRendered)
		if err != nil || r.HTML != c.html || *r.Text != c.text {
			t.Errorf("%q: %v %+v", c.in, err, r)
		}
	}
}

func TestStrayBracesAreRefused(t *testing.T) {
	for _, in := range []string{"{{{", "{{{}}}", "{{{ }}}", "{{{X", "{{{X}}", "{{{X Y}}}", "{{{#if X}}}", "{{{|a}}}", "{{{contact.}}}", "{{{contact.a.b}}}",
		"{{{a.b}}}", "{{{X|{{{X}}}", "{{{Z}}}", "{{{x}}}", "{{{é}}}", "{{{first_name}}}", "{{{" + strings.Repeat("x", 201) + "}}}"} {
		if err := oneVariable("ok"+in, nil).Check(); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`html`") {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestInvalidPlaceholderNamesLine(t *testing.T) {
	for in, want := range map[string]string{"a\n\n{{{X}}}\n b {{{X Y}}}": "`html` holds {{{X Y}}}, which is no placeholder: {{{KEY}}} and {{{KEY|fallback}}} are, with letters, digits and _ in the key (line 4)",
		"{{{X": "`html` opens a placeholder with {{{ that never ends (line 1)", "{{{Z}}}": "`html` holds {{{Z}}}, which `variables` does not declare"} {
		if err := oneVariable(in, nil).Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestLinkFromValuesStaysText(t *testing.T) {
	for _, c := range []struct{ in, x, want string }{
		{"{{{X}}}", "{{{UNSUBSCRIBE_URL}}}", "{\u2060{{UNSUBSCRIBE_URL}}}"},
		{"{{{X}}} {{{UNSUBSCRIBE_URL}}}", "{{{ RESEND_UNSUBSCRIBE_URL }}}", "{\u2060{{ RESEND_UNSUBSCRIBE_URL }}} {{{UNSUBSCRIBE_URL}}}"},
		{"{{{X}}}{{UNSUBSCRIBE_URL}}}", "{", "{\u2060{{UNSUBSCRIBE_URL}}}"},
		{"{{{X}}}{{{UNSUBSCRIBE_URL}}}{{{X}}}", "{", "{{{{UNSUBSCRIBE_URL}}}{"},
	} {
		content := oneVariable(c.in, &c.in)
		if err := content.Check(); err != nil {
			t.Fatal(err)
		}
		r, err := Template(content, map[string]app.PropertyValue{"X": apptest.String(c.x)}, nil, false, time.Time{}, app.MaxRendered)
		if err != nil || r.HTML != c.want || *r.Text != c.want {
			t.Errorf("%q: %v %q", c.in, err, r.HTML)
		}
	}
}

func TestSubjectStaysOnOneLine(t *testing.T) {
	c := oneVariable("x", nil)
	c.Subject = "Hi {{{X}}}!"
	r, err := Template(c, map[string]app.PropertyValue{"X": apptest.String("a\r\nb\x01\x7f\u0085\u2028<é>")}, nil, true, time.Time{}, app.MaxRendered)
	if err != nil || r.Subject != "Hi a  b    <é>!" {
		t.Errorf("%v %q", err, r.Subject)
	}
	c.Subject = strings.Repeat("{{{X}}}", 3)
	if _, err := Template(c, map[string]app.PropertyValue{"X": apptest.String(strings.Repeat("x", 1000))}, nil, true, time.Time{}, app.MaxRendered); app.CodeOf(err) != app.CodeValidation {
		t.Errorf("a subject of 3,000 bytes: %v", err)
	}
}

func TestRenderedSizeLimit(t *testing.T) {
	text := "{{{X}}}"
	c := oneVariable("{{{X}}}{{{X}}}", &text)
	values := map[string]app.PropertyValue{"X": apptest.String("12345")}
	for limit, want := range map[int]app.Code{15: "", 14: app.CodePayloadTooLarge, 9: app.CodePayloadTooLarge} {
		_, err := Template(c, values, nil, false, time.Time{}, limit)
		if (err == nil) != (want == "") || err != nil && app.CodeOf(err) != want {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}

func TestUnclosedAndRepeatedPlaceholders(t *testing.T) {
	for in, good := range map[string]bool{
		strings.Repeat("{", 99): false, strings.Repeat("{{{", 33) + "}}}": false, strings.Repeat("{{{X}}}", 99): true, strings.Repeat("{{ ", 33) + "{{{X}}}": true,
		strings.Repeat("}", 99): true, "{{{X|" + strings.Repeat("{", 99): false,
	} {
		c := oneVariable(in, nil)
		err := c.Check()
		if (err == nil) != good {
			t.Errorf("%s: %v", in, err)
		}
		if err == nil {
			if _, err := Template(c, map[string]app.PropertyValue{"X": apptest.String("")}, nil, false, time.Time{}, app.MaxRendered); err != nil {
				t.Error(err)
			}
		}
	}
}

// FuzzRender checks that any value is rendered unchanged and that no placeholder remains.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{"", "Ann", "{{{X}}}", "{{{Y|a}}}", "{{{UNSUBSCRIBE_URL}}}", "{", "}}}", "a\r\nb", "<b>&\"'", "\xff", "|", "{{{ RESEND_UNSUBSCRIBE_URL\n}}}"} {
		f.Add("a {{{X}}} b {{{UNSUBSCRIBE_URL}}} {{{Y}}}", seed)
		f.Add("{{{X}}}{{UNSUBSCRIBE_URL}}} {{{X|q}}}", seed)
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, template, value string) {
		c := oneVariable(template, &template)
		if c.Check() != nil {
			return
		}
		values := map[string]app.PropertyValue{"X": apptest.String(value), "N": {Type: app.NumberProperty, Number: 7}}
		if (&app.TemplateUse{ID: "x", Variables: values}).Validate() != nil {
			return
		}
		r, err := Template(c, values, nil, false, time.Time{}, app.MaxRendered)
		if err != nil {
			t.Fatal(err)
		}
		links := 0
		wantHTML := expected(t, template, html.EscapeString(value), html.EscapeString("<y>"), &links)
		wantText := expected(t, template, value, "<y>", new(int))
		for _, part := range []struct{ got, want string }{{r.HTML, wantHTML}, {*r.Text, wantText}} {
			if strings.ReplaceAll(part.got, wordJoiner, "") != strings.ReplaceAll(part.want, wordJoiner, "") {
				t.Errorf("%q with %q gives %q, want %q", template, value, part.got, part.want)
			}
			if n := app.Placeholders(part.got); n != links {
				t.Errorf("%q with %q has %d links, want %d: %q", template, value, n, links, part.got)
			}
		}
	})
}

// expected renders by cutting the template into pieces.
func expected(t *testing.T, template, x, y string, links *int) string {
	t.Helper()
	var b strings.Builder
	for {
		before, p, after, found, err := app.NextPlaceholder(template)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(before)
		if !found {
			return b.String()
		}
		switch {
		case app.IsUnsubscribeKey(p.Key):
			*links++
			b.WriteString("{{{UNSUBSCRIBE_URL}}}")
		case p.Key == "X":
			b.WriteString(x)
		case p.Key == "N":
			b.WriteString("7")
		case p.Key == "Y" && !p.HasFallback:
			b.WriteString(y)
		default:
			b.WriteString(p.Fallback)
		}
		template = after
	}
}

func TestUnquotedAttributeValueIsEscaped(t *testing.T) {
	values := map[string]app.PropertyValue{"X": apptest.String("https://ok.test/ style=position:fixed;inset:0\tonfocus=`x`")}
	const bare = "https://ok.test/&#32;style&#61;position:fixed;inset:0&#9;onfocus&#61;&#96;x&#96;"
	const quoted = "https://ok.test/ style=position:fixed;inset:0\tonfocus=`x`"
	for in, want := range map[string]string{
		"<a href={{{X}}}>a</a>":                       "<a href=" + bare + ">a</a>",
		"<a href=\"{{{X}}}\">{{{X}}}</a>":             "<a href=\"" + quoted + "\">" + quoted + "</a>",
		"<a href='{{{X}}}' title={{{X}}}>{{{X}}}</a>": "<a href='" + quoted + "' title=" + bare + ">" + quoted + "</a>",
		"<a {{{X}}} href=x>":                          "<a " + bare + " href=x>",
		"{{{X}}}<a b=c{{{X}}}d>{{{X}}}":               quoted + "<a b=c" + bare + "d>" + quoted,
	} {
		r, err := Template(oneVariable(in, &in), values, nil, false, time.Time{}, app.MaxRendered)
		if err != nil || r.HTML != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", in, err, r.HTML, want)
		} else if *r.Text != strings.ReplaceAll(in, "{{{X}}}", quoted) {
			t.Errorf("text %q", *r.Text)
		}
	}
}

// BenchmarkTemplateHTML renders a template of 100 KB.
func BenchmarkTemplateHTML(b *testing.B) {
	c := oneVariable(strings.Repeat(`<p class="x">Hello {{{X}}}, <a href="https://example.com/">look</a> here</p>`, 1300), nil)
	values := map[string]app.PropertyValue{"X": apptest.String("Ann")}
	b.SetBytes(int64(len(c.HTML)))
	for b.Loop() {
		if _, err := Template(c, values, nil, false, time.Time{}, app.MaxRendered); err != nil {
			b.Fatal(err)
		}
	}
}
