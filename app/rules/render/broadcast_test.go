package render

import (
	"html"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/testing/apptest"
)

const testTopic = "01920000-0000-7000-8000-0000000000aa"

const testSegment = "01920000-0000-7000-8000-0000000000ab"

const testRecipient = "01920000-0000-7000-8000-00000000000b"

func compileTest(t testing.TB, b *app.Broadcast) *Broadcast {
	t.Helper()
	m, err := Compile(b)
	if err != nil {
		t.Fatalf("CompileBroadcast: %v", err)
	}
	return m
}

// rendered returns the mail to one recipient with strings as bodies.
func rendered(t testing.TB, b *app.Broadcast, fields map[string]string) *app.Mail {
	t.Helper()
	return compileTest(t, b).Partial(apptest.Sealer(t, 0), &app.BroadcastRecipient{ID: testRecipient, Email: "ann@example.org", Fields: fields}).Flatten()
}

func TestBroadcastMail(t *testing.T) {
	b := apptest.Broadcast(`<html><body class=x><p>{{{contact.first_name|<b>you</b>}}}, {{{EMAIL}}}</p></body></html>`)
	b.Subject, b.Preview, b.Text = "Hi {{{FIRST_NAME|there}}}", "For {{{FIRST_NAME|<all>}}} & more", nil
	const hidden = `<html><body class=x><div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0">`
	for _, c := range []struct {
		fields              map[string]string
		html, subject, text string
	}{
		{map[string]string{"first_name": "<Ann>"}, hidden + `For &lt;Ann&gt; &amp; more</div><p>&lt;Ann&gt;, ann@example.org</p></body></html>`, "Hi <Ann>", "<Ann>, ann@example.org"},
		{nil, hidden + `For &lt;all&gt; &amp; more</div><p><b>you</b>, ann@example.org</p></body></html>`, "Hi there", "you, ann@example.org"},
	} {
		if m := rendered(t, b, c.fields); m.HTML != c.html || m.Subject != c.subject || m.Text != c.text {
			t.Errorf("%v: %q\n%q\n%s", c.fields, m.Subject, m.Text, m.HTML)
		}
	}
}

// TestFallbackOrder: a placeholder becomes the recipient's value, or the fallback in the
// placeholder, or the property's fallback, or nothing, in HTML, text and subject.
func TestFallbackOrder(t *testing.T) {
	fallbacks := map[string]string{"plan": "<free>", "company": "Acme"}
	fields := map[string]string{"first_name": "Ann", "property:size": "4", "property:COLOR": "red"}
	for in, want := range map[string]string{
		"{{{FIRST_NAME|there}}}":           "Ann",
		"{{{ contact.first_name }}}":       "Ann",
		"{{{LAST_NAME|nobody}}}":           "nobody",
		"{{{contact.last_name}}}":          "",
		"{{{EMAIL|x}}}":                    "ann@example.org",
		"{{{contact.email}}}":              "ann@example.org",
		"{{{size}}}":                       "4",
		"{{{contact.size|9}}}":             "4",
		"{{{contact.plan|own}}}":           "own",
		"{{{contact.plan|}}}":              "",
		"{{{contact.plan}}}":               "<free>",
		"{{{PLAN}}}":                       "<free>",
		"{{{contact.nothing}}}":            "",
		"{{{contact.nothing|x}}}":          "x",
		"{{{COLOR}}}":                      "red",
		"{{{contact}}}{{{this}}}":          "",
		"{{{contact.FIRST_NAME}}}":         "", // a property with this name
		"{{{first_name}}}{{{email}}}":      "Annann@example.org",
		"a{{{size}}}b{{{size}}}{{{SIZE}}}": "a4b4",
		"{{{{{size}}}}}":                   "{{4}}",
		"{{size}} {size} }}}":              "{{size}} {size} }}}",
	} {
		b := apptest.Broadcast("<p>" + in + "</p>")
		b.Text, b.Subject, b.Snapshot.Fallbacks = &in, "-"+in, fallbacks
		m := rendered(t, b, fields)
		if m.HTML != "<p>"+html.EscapeString(want)+"</p>" || m.Subject != "-"+want || strings.TrimSuffix(m.Text, "\n") != want {
			t.Errorf("%s: html %q, text %q, subject %q, want %q", in, m.HTML, m.Text, m.Subject, want)
		}
	}
}

func TestValuesAreEscaped(t *testing.T) {
	for _, c := range []struct{ value, html, bare, text, subject string }{
		{`<b onclick="x('y')">&`, `&lt;b onclick=&#34;x(&#39;y&#39;)&#34;&gt;&amp;`, `&lt;b&#32;onclick&#61;&#34;x(&#39;y&#39;)&#34;&gt;&amp;`, `<b onclick="x('y')">&`, `<b onclick="x('y')">&`},
		{"a\r\nBcc: x@y.z\rb\nc", "a\r\nBcc: x@y.z\rb\nc", "a&#13;&#10;Bcc:&#32;x@y.z&#13;b&#10;c", "a\r\nBcc: x@y.z\rb\nc", "a  Bcc: x@y.z b c"},
		{"a\x00b", "ab", "ab", "ab", "ab"},
		{"a\xffb", "a\uFFFDb", "a\uFFFDb", "a\uFFFDb", "a\uFFFDb"},
		{"\u2028\x1b\u0085", "\u2028\x1b\u0085", "\u2028\x1b\u0085", "\u2028\x1b\u0085", "   "},
		{"👩‍👩‍👧 é", "👩‍👩‍👧 é", "👩‍👩‍👧&#32;é", "👩‍👩‍👧 é", "👩‍👩‍👧 é"},
		{"{{{FIRST_NAME}}}", "{{{FIRST_NAME}}}", "{{{FIRST_NAME}}}", "{{{FIRST_NAME}}}", "{{{FIRST_NAME}}}"},
		{"{{{UNSUBSCRIBE_URL}}}", "{{{UNSUBSCRIBE_URL}}}", "{{{UNSUBSCRIBE_URL}}}", "{{{UNSUBSCRIBE_URL}}}", "{{{UNSUBSCRIBE_URL}}}"},
		{"=?utf-8?q?x?=", "=?utf-8?q?x?=", "&#61;?utf-8?q?x?&#61;", "=?utf-8?q?x?=", "=?utf-8?q?x?="},
		{"$1 %s \\", "$1 %s \\", "$1&#32;%s&#32;\\", "$1 %s \\", "$1 %s \\"},
	} {
		b := apptest.Broadcast(`<p title="{{{X}}}" id={{{X}}} {{{X}}}>{{{X}}}</p {{{X}}}><!-- {{{X}}} -->`)
		text := "<{{{X}}}>"
		b.Text, b.Subject = &text, "<{{{X}}}>"
		m := rendered(t, b, map[string]string{"property:X": c.value})
		want := `<p title="` + c.html + `" id=` + c.bare + ` ` + c.bare + `>` + c.html + `</p ` + c.bare + `><!-- ` + c.html + ` -->`
		if m.HTML != want || m.Text != "<"+c.text+">" || m.Subject != "<"+c.subject+">" {
			t.Errorf("%q:\nhtml    %q\nwant    %q\ntext    %q\nsubject %q", c.value, m.HTML, want, m.Text, m.Subject)
		}
	}
}

func TestLongSubjectIsCut(t *testing.T) {
	b := apptest.Broadcast("x")
	b.Subject = "a{{{X}}}"
	for _, value := range []string{strings.Repeat("é", 1000), strings.Repeat("日本", 5000), strings.Repeat("x", 1<<20)} {
		m := rendered(t, b, map[string]string{"property:X": value})
		if n := len(m.Subject); n > app.MaxSubject || n < app.MaxSubject-3 || !utf8.ValidString(m.Subject) || !strings.HasPrefix("a"+value, m.Subject) {
			t.Errorf("a subject of %d bytes", n)
		}
	}
}

func TestMalformedPlaceholderNamesField(t *testing.T) {
	for _, in := range []string{"{{{", "{{{}}}", "{{{ }}}", "{{{X", "{{{X}}", "{{{X Y}}}", "{{{#if X}}}", "{{{|a}}}", "{{{contact.}}}", "{{{contact.a.b}}}", "{{{X|{{{X}}}",
		"{{{é}}}", "{{{X-Y}}}", "{{{" + strings.Repeat("x", 201) + "}}}"} {
		for _, field := range []string{"subject", "preview_text", "html", "text"} {
			err := app.CheckBroadcastPlaceholders(field, "ok {{{EMAIL}}} "+in)
			if app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`"+field+"`") {
				t.Errorf("%s %q: %v", field, in, err)
			}
		}
		for field, change := range map[string]func(b *app.Broadcast){
			"subject": func(b *app.Broadcast) { b.Subject = in }, "preview_text": func(b *app.Broadcast) { b.Preview = in },
			"html": func(b *app.Broadcast) { b.HTML = in }, "text": func(b *app.Broadcast) { b.Text = &in },
		} {
			b := apptest.Broadcast("x")
			change(b)
			if _, err := Compile(b); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`"+field+"`") {
				t.Errorf("compiling %s %q: %v", field, in, err)
			}
		}
	}
	for field, text := range map[string]string{"subject": "{{{UNSUBSCRIBE_URL}}}", "preview_text": "{{{ RESEND_UNSUBSCRIBE_URL }}}", "html": strings.Repeat("{{{UNSUBSCRIBE_URL}}}", 101)} {
		if err := app.CheckBroadcastPlaceholders(field, text); app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`"+field+"`") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for field, text := range map[string]string{"subject": "{{{ANY_KEY|x}}} {{{contact.any_key}}}", "text": strings.Repeat("{{{UNSUBSCRIBE_URL}}}", 100), "html": "no {{placeholder}} }}}"} {
		if err := app.CheckBroadcastPlaceholders(field, text); err != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestFieldsKeepUsedValuesOnly(t *testing.T) {
	b := apptest.Broadcast(`{{{contact.first_name}}} {{{PLAN|x}}} {{{contact.size}}} {{{EMAIL}}} {{{UNSUBSCRIBE_URL}}}`)
	text := "{{{contact.last_name}}} {{{contact.empty}}}"
	b.Text, b.Subject, b.Preview = &text, "{{{contact.gone}}}", "{{{contact.seen}}}"
	m := compileTest(t, b)
	got := m.Fields(&app.Contact{Email: "ann@example.org", FirstName: "Ann", Properties: app.Properties{
		"plan": apptest.String("pro"), "size": {Type: app.NumberProperty, Number: 0}, "empty": apptest.String(""), "other": apptest.String("x"), "seen": apptest.String("y"),
	}})
	want := map[string]string{"first_name": "Ann", "property:PLAN": "pro", "property:size": "0", "property:seen": "y"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := m.Fields(&app.Contact{Email: "ann@example.org", Properties: app.Properties{"other": apptest.String("x")}}); got != nil {
		t.Errorf("%v of a contact without any", got)
	}
}

func TestBroadcastHeaders(t *testing.T) {
	b := apptest.Broadcast(`<a href="{{{UNSUBSCRIBE_URL}}}">x</a> {{{ RESEND_UNSUBSCRIBE_URL | x }}}`)
	b.Name, b.ReplyTo = "private name", []app.Address{{Local: "r", Domain: "acme.test"}}
	s := apptest.Sealer(t, 0)
	for _, c := range []struct{ topic, segment, id string }{{"", "", apptest.Team}, {"", testSegment, testSegment}, {testTopic, testSegment, testTopic}} {
		b.TopicID, b.SegmentID = c.topic, c.segment
		m := compileTest(t, b).Partial(s, &app.BroadcastRecipient{ID: testRecipient, Email: "Ann@Example.ORG"}).Flatten()
		page := s.UnsubscribeURL(apptest.Pages, app.PageLink{TeamID: apptest.Team, TopicID: c.topic, Address: s.AddressHash(apptest.Team, app.KeyOf("ann@example.org")), Source: testRecipient})
		want := []app.Header{{Name: "List-Id", Value: "<" + c.id + ".acme.test>"}, {Name: "List-Unsubscribe", Value: "<" + page + ">"}, {Name: "List-Unsubscribe-Post", Value: "List-Unsubscribe=One-Click"}}
		if !slices.Equal(m.Headers, want) {
			t.Errorf("headers %v, want %v", m.Headers, want)
		}
		if m.HTML != `<a href="`+page+`">x</a> `+page {
			t.Errorf("html %s", m.HTML)
		}
		if !slices.Equal(m.To, []app.Address{{Local: "Ann", Domain: "example.org"}}) || m.From != b.From || !slices.Equal(m.ReplyTo, b.ReplyTo) || m.TopicID != c.topic {
			t.Errorf("%+v", m)
		}
	}
}

func TestInternationalAddressHash(t *testing.T) {
	s := apptest.Sealer(t, 0)
	m := compileTest(t, apptest.Broadcast("x")).Partial(s, &app.BroadcastRecipient{ID: testRecipient, Email: "jörg@Bücher.example"})
	_, key, err := app.ParseBareAddress("jörg@Bücher.example")
	if err != nil || m.To[0].Key() != key {
		t.Fatalf("%v %q, want %q", err, m.To[0].Key(), key)
	}
	token := strings.TrimSuffix(strings.TrimPrefix(m.Headers[1].Value, "<"+apptest.Pages+"/unsubscribe/"), ">")
	if link, ok := s.ReadPageToken(app.UnsubscribePage, token); !ok || link.Address != s.AddressHash(apptest.Team, key) {
		t.Errorf("%v %+v", ok, link)
	}
}

func TestNoUnsubscribeLinkWithoutPages(t *testing.T) {
	b := apptest.Broadcast(`<a href="{{{UNSUBSCRIBE_URL}}}">x</a>`)
	b.Snapshot = nil
	m := rendered(t, b, nil)
	if len(m.Headers) != 1 || m.HTML != `<a href="">x</a>` {
		t.Errorf("%v %s", m.Headers, m.HTML)
	}
}

func TestBodyIsNeverEmpty(t *testing.T) {
	for _, content := range []string{"{{{X}}}", "{{{X}}}{{{Y}}}", "{{{X|}}}"} {
		b := apptest.Broadcast(content)
		m := compileTest(t, b).Partial(apptest.Sealer(t, 0), &app.BroadcastRecipient{ID: testRecipient, Email: "a@b.test"})
		if !m.HasBody() || m.Flatten().HTML == "" {
			t.Errorf("%s: html %q", content, m.Flatten().HTML)
		}
		b.HTML, b.Text = "", &content
		if m := rendered(t, b, nil); m.Text == "" {
			t.Errorf("%s: no text", content)
		}
	}
	b := apptest.Broadcast("")
	if _, err := Compile(b); app.CodeOf(err) != app.CodeValidation {
		t.Errorf("a broadcast that says nothing: %v", err)
	}
}

func TestInvalidIDErrorIsDeterministic(t *testing.T) {
	for range 50 {
		b := apptest.Broadcast("x")
		b.TeamID, b.TopicID = "x", "y"
		if _, err := Compile(b); err == nil || !strings.Contains(err.Error(), "`team`") {
			t.Fatal(err)
		}
	}
}

func TestDerivedTextKeepsPlaceholders(t *testing.T) {
	page := strings.TrimSuffix(rendered(t, apptest.Broadcast("{{{UNSUBSCRIBE_URL}}}"), nil).HTML, "\n")
	for _, c := range []struct{ html, text, missing string }{
		{"<p>Hi {{{FIRST_NAME|<b>you</b> &amp; all}}}!</p><p>x</p>", "Hi <A&B>!\n\nx", "Hi you & all!\n\nx"},
		{`<a href="https://a.test/?n={{{FIRST_NAME|a&amp;b}}}">go</a>`, "go (https://a.test/?n=%3CA%26B%3E)", "go (https://a.test/?n=a&b)"},
		{`<a href="{{{UNSUBSCRIBE_URL}}}">Unsubscribe</a>`, "Unsubscribe (" + page + ")", "Unsubscribe (" + page + ")"},
		{`<a href="{{{UNSUBSCRIBE_URL}}}">{{{UNSUBSCRIBE_URL}}}</a>`, page, page},
		{"<title>{{{FIRST_NAME}}}</title><ul><li>{{{FIRST_NAME|<li>}}}</ul>", "- <A&B>", "- "},
		{`<img alt="{{{FIRST_NAME|x}}}"><br>&#123;{{FIRST_NAME}}}`, "<A&B>\n{{{FIRST_NAME}}}", "x\n{{{FIRST_NAME}}}"},
		{"{{{\n FIRST_NAME \t| a }}}<style>{{{LAST_NAME}}}</style>", "<A&B>", "a"},
		{"<p>x{{{FIRST_NAME|<style>}}}y</p>", "x<A&B>y", "xy"},
	} {
		b := apptest.Broadcast(c.html)
		b.Text, b.Preview = nil, "not in the text"
		for want, fields := range map[string]map[string]string{c.text: {"first_name": "<A&B>"}, c.missing: nil} {
			if m := rendered(t, b, fields); strings.TrimSuffix(m.Text, "\n") != strings.TrimSuffix(want, "\n") {
				t.Errorf("%s: %q, want %q", c.html, m.Text, want)
			}
		}
	}
	b := apptest.Broadcast("<p>x</p>")
	if m := rendered(t, b, nil); m.Text != "" {
		t.Errorf("a text that was not wanted: %q", m.Text)
	}
	b.Text = nil
	b.HTML = "<style>x</style>"
	if m := compileTest(t, b); m.text != nil {
		t.Error("a text part of nothing")
	}
}

func TestPreheaderPosition(t *testing.T) {
	for source, want := range map[string]string{
		`<body>x`:           `<body>^x`,
		`<p>x</p>`:          `^<p>x</p>`,
		`x`:                 `^x`,
		`x<body>y`:          `x<body>^y`,
		`<!DOCTYPE html>x`:  `<!DOCTYPE html>^x`,
		"<html lang=en>\nx": "<html lang=en>^\nx",
		`<!DOCTYPE html><html><head><title>a</title><style>b</style></head> <p>x`: `<!DOCTYPE html><html><head><title>a</title><style>b</style></head>^ <p>x`,
		`<html><head><title><body></title></head><BODY bgcolor="a>b">x`:           `<html><head><title><body></title></head><BODY bgcolor="a>b">^x`,
		`<!-- <body> --><body>x`:     `<!-- <body> --><body>^x`,
		`<p>x</p><html></head>y`:     `^<p>x</p><html></head>y`,
		`<body style="{{{S}}}">x`:    `<body style="sss">^x`,
		`<!--[if mso]>x<![endif]-->`: `^<!--[if mso]>x<![endif]-->`,
	} {
		b := apptest.Broadcast(source)
		b.Preview = "PRE"
		m := rendered(t, b, map[string]string{"property:S": "sss"})
		begin := strings.Index(m.HTML, "<div style=")
		end := strings.Index(m.HTML, "PRE</div>") + len("PRE</div>")
		if begin < 0 || end < begin || m.HTML[:begin]+"^"+m.HTML[end:] != want {
			t.Errorf("%s: %s", source, m.HTML)
		}
	}
	b := apptest.Broadcast("")
	text := "t"
	b.Text, b.Preview = &text, "PRE"
	if m := rendered(t, b, nil); m.HTML != "" || m.Text != "t" {
		t.Errorf("%+v", m)
	}
}

// TestHostileContactValues: no value of a contact may prevent its mail.
func TestHostileContactValues(t *testing.T) {
	b := apptest.Broadcast(`<p id={{{X}}}>{{{X}}} {{{EMAIL}}}</p><a href="{{{X}}}">x</a>`)
	b.Subject, b.Text = "{{{X}}} {{{EMAIL}}}", nil
	b.Snapshot.Tracking = &app.Tracking{Base: "https://links.acme.test", Open: true, Click: true}
	m := compileTest(t, b)
	s := apptest.Sealer(t, 0)
	for _, email := range []string{"", "@", "no address", "a@b@c", "\"a b\"@c.test", "ann@example.org\r\nBcc: x@y.z", "<a@b.test>", "\xff@\xff.test", app.Erased, strings.Repeat("x", 5000) + "@b.test", "a@\x00"} {
		for _, value := range []string{"", "\x00", "\xff\xfe", "\r\n.\r\n", strings.Repeat("{", 5000), strings.Repeat("<", 5000), "https://a.test/\r\nx", "javascript:1", strings.Repeat("é", 100_000)} {
			mail := m.Partial(s, &app.BroadcastRecipient{ID: testRecipient, Email: email, Fields: map[string]string{"property:X": value}}).Flatten()
			if strings.ContainsAny(mail.Subject, "\r\n\x00") || app.HasControl(mail.To[0].Mailbox()) || !utf8.ValidString(mail.HTML+mail.Text+mail.Subject) || strings.Contains(mail.HTML, "\x00") {
				t.Errorf("%q, %.20q: subject %q, to %q", email, value, mail.Subject, mail.To)
			}
		}
	}
}

func TestCompiledBroadcastIsConcurrent(t *testing.T) {
	b := apptest.Broadcast(`<p>{{{FIRST_NAME}}}</p><a href="https://a.test/{{{FIRST_NAME}}}">x</a><a href="https://b.test/">y</a>`)
	b.Snapshot.Tracking = &app.Tracking{Base: "https://links.acme.test", Open: true, Click: true}
	m, s := compileTest(t, b), apptest.Sealer(t, 0)
	mails := app.NewEmailIDPrefix()
	var work sync.WaitGroup
	for n := range int64(8) {
		r := &app.BroadcastRecipient{ID: app.BroadcastEmailID(mails, n), Email: "a@b.test", Fields: map[string]string{"first_name": "Ann"}}
		want := m.Partial(s, r).Flatten().HTML
		work.Go(func() {
			for range 50 {
				if got := m.Partial(s, r).Flatten().HTML; got != want {
					t.Errorf("%s\n%s", got, want)
				}
			}
		})
	}
	work.Wait()
}

// hostileSources return broadcasts with about n placeholders that are difficult to parse.
var hostileSources = []func(n int) string{
	func(n int) string { return strings.Repeat("{{{X}}}", n) },
	func(n int) string { return strings.Repeat(`<a href="https://a.test/{{{X}}}">`, n/4) },
	func(n int) string { return strings.Repeat("<b {{{X}}}", n) },
	func(n int) string { return strings.Repeat("{{{X|", n) },
	func(n int) string { return "<a href=\"" + strings.Repeat("{{{X}}}", n) + "\">" },
	func(n int) string { return strings.Repeat("<title>", n) + "{{{X}}}" },
}

// compileHostile compiles a source with tracking; nil: refused.
func compileHostile(source string) (*Broadcast, error) {
	b := apptest.Broadcast(source)
	b.Text, b.Preview, b.Snapshot.Tracking = nil, "x", &app.Tracking{Base: "https://links.acme.test", Open: true, Click: true}
	return Compile(b)
}

func TestHostileSources(t *testing.T) {
	for _, source := range hostileSources {
		m, err := compileHostile(source(40))
		if err != nil {
			if app.CodeOf(err) == "" {
				t.Errorf("%.40s: %v", source(40), err)
			}
			continue
		}
		got := m.Partial(apptest.Sealer(t, 0), &app.BroadcastRecipient{ID: testRecipient, Email: "a@b.test"}).Flatten().HTML
		if got == "" || strings.Contains(got, "{{{X}}}") {
			t.Errorf("%.40s: %.80s", source(40), got)
		}
	}
}

func TestFilledSizeLimit(t *testing.T) {
	b := apptest.Broadcast(strings.Repeat("{{{X}}}", 100_000) + "end")
	m := compileTest(t, b).Partial(apptest.Sealer(t, 0), &app.BroadcastRecipient{ID: testRecipient, Email: "a@b.test", Fields: map[string]string{"property:X": strings.Repeat("日", 1000)}})
	if n := m.Bodies.Size(); n < maxFilled || n > maxFilled+4000 {
		t.Errorf("%d bytes", n)
	}
	if !strings.HasSuffix(m.Flatten().HTML, "end") {
		t.Error("what all recipients get is cut off")
	}
}

func TestCompiledSize(t *testing.T) {
	small, large := compileTest(t, apptest.Broadcast("x")).Size(), compileTest(t, apptest.Broadcast(strings.Repeat("x", 100_000))).Size()
	if small < 100 || small > 5000 || large-small < 100_000 || large-small > 500_000 {
		t.Errorf("%d and %d", small, large)
	}
}
