package render

import (
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/rules/tracking"
	"mailer/app/testing/apptest"
)

// trackReference renders a body by filling it first and tracking the result.
func trackReference(t testing.TB, b *app.Broadcast, fields map[string]string) string {
	t.Helper()
	s := apptest.Sealer(t, 0)
	page := s.UnsubscribeURL(b.Snapshot.Pages, app.PageLink{TeamID: b.TeamID, Address: s.AddressHash(b.TeamID, app.KeyOf("ann@example.org")), Source: testRecipient})
	var out strings.Builder
	for rest := b.HTML; ; {
		before, p, after, found, err := app.NextPlaceholder(rest)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(before)
		if !found {
			break
		}
		field := fieldOf(p.Key)
		inQuery := inQuery(out.String())
		switch v := fields[field]; {
		case field == unsubscribeField:
			out.WriteString(html.EscapeString(page))
		case field == app.EmailField:
			v = "ann@example.org"
			fallthrough
		case v != "":
			if inQuery {
				v = queryValue(v)
			}
			out.WriteString(html.EscapeString(v))
		default:
			out.WriteString(p.Fallback)
		}
		rest = after
	}
	m := &app.Mail{HTML: out.String(), Headers: []app.Header{{Name: "List-Unsubscribe", Value: "<" + page + ">"}}}
	return tracking.Track(s, m, b.TeamID, testRecipient, b.Snapshot.Tracking).HTML
}

func trackedBroadcast(content string) *app.Broadcast {
	b := apptest.Broadcast(content)
	b.Snapshot.Tracking = &app.Tracking{Base: "https://links.acme.test/x&y", Pages: apptest.Pages, Open: true, Click: true}
	return b
}

var broadcastPieces = []string{
	`{{{X}}}`, `<p title="{{{X}}}">`, `{{{EMAIL}}}`, `<a href="{{{UNSUBSCRIBE_URL}}}">`, `<a href='{{{ RESEND_UNSUBSCRIBE_URL }}}' x>`, `{{{N|none}}}`,
	`<a href="https://a.test/v?x={{{X}}}&amp;y={{{EMAIL}}}">`, `<a href="https://a.test/w?x={{{X}}}">`, `<a href=https://a.test/{{{X}}}>`, `<a href="{{{U}}}">`,
	`<a href=" {{{U}}}?z ">`, `<a href="mailto:{{{EMAIL}}}">`, `<a href="https://{{{X}}}.test/">`, `<a href="ht{{{T}}}a.test/t">`, `<a href="https://a.test/?u={{{UNSUBSCRIBE_URL}}}">`,
	`<a href="https://a.test/?a=1&copy{{{X}}}">`, `<a href="https://a.test/?a=1&amp{{{X}}};">`, `<a href="https://a.test/{{{N|f?a=1&amp;b=2}}}">`, `<area href="{{{U}}}/area">`,
	`<template>{{{X}}}`, `<!-- {{{X}}} -->`, `<script>{{{X}}}`, `<title>{{{X}}}`, `</body>{{{X}}}`, `<{{{X}}}>`, `<b {{{X}}}="{{{X}}}">`, `<a {{{X}}} href="https://a.test/after">`, `&{{{X}}};`,
}

func TestTrackingEqualsReference(t *testing.T) {
	fields := map[string]string{"property:X": "Ann", "property:U": "https://u.test/?a&b", "property:T": "tps://"}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 4000 {
		var source strings.Builder
		for range rng.IntN(10) {
			list := broadcastPieces
			if rng.IntN(3) == 0 {
				list = apptest.HostileHTML
			}
			source.WriteString(list[rng.IntN(len(list))])
		}
		b := trackedBroadcast(source.String() + "x")
		b.Snapshot.Tracking.Open, b.Snapshot.Tracking.Click = i%5 > 0, i%7 > 0
		m := rendered(t, b, fields)
		if want := trackReference(t, b, fields); m.HTML != want {
			t.Fatalf("%q becomes\n%q, want\n%q", b.HTML, m.HTML, want)
		}
	}
}

// TestFilledTargetsEqualFilledHTML: values can change the meaning of the URL around them.
func TestFilledTargetsEqualFilledHTML(t *testing.T) {
	for _, source := range []string{`<a href="https://a.test/?a&copy{{{X}}}">`, `<a href="https://a.test/?a&{{{X}}}=1">`, `<a href="https://a.test/?a&amp{{{X}}}">`, `<a href="https://a.test/?{{{N|a&copy}}}{{{X}}}">`,
		`<a href="{{{X}}}">`, `<a href=" https://a.test/{{{X}}} ">`, `<a href='https://a.test/{{{X}}}'>`} {
		for _, x := range []string{"-", "=", ";", "&copy;", "lt;", "#", "", "ü", "日本", " https://u.test/ ", "\nhttps://u.test/?a=1&b\t", "a b", `"`, "'", "https://u.test/?&#38;&amp;", strings.Repeat("x", 2000)} {
			b := trackedBroadcast(source)
			fields := map[string]string{"property:X": x}
			want := trackReference(t, b, fields)
			if !strings.Contains(want, "/t/c/") && len(compileTest(t, b).Links()) != 1 {
				t.Errorf("%s is not among the links", source)
			}
			if got := rendered(t, b, fields).HTML; got != want {
				t.Errorf("%s with %q becomes\n%s, want\n%s", source, x, got, want)
			}
		}
	}
}

func TestBroadcastLinks(t *testing.T) {
	b := trackedBroadcast(`<a href="https://a.test/?a=1&amp;b=2">1</a><a href="https://b.test/{{{X|y}}}">2</a><a href="https://a.test/?a=1&b=2">1 again</a>
<a href="{{{UNSUBSCRIBE_URL}}}">3</a><a href="https://mail.acme.test/unsubscribe/x">4</a><a href="mailto:{{{EMAIL}}}">5</a><a href="{{{U}}}">6</a><a href="https://b.test/{{{ X |y}}}">7</a><!--<a href="https://c.test">-->`)
	want := []string{"https://a.test/?a=1&b=2", "https://b.test/{{{X|y}}}", "{{{U}}}"}
	m := compileTest(t, b)
	if !slices.Equal(m.Links(), want) {
		t.Errorf("%q, want %q", m.Links(), want)
	}
	s := apptest.Sealer(t, 0)
	for _, c := range []struct {
		fields  map[string]string
		targets map[string]int
	}{
		{nil, map[string]int{"https://a.test/?a=1&b=2": 0, "https://b.test/y": 1}},
		{map[string]string{"property:X": "é&1", "property:U": "http://u.test"}, map[string]int{"https://a.test/?a=1&b=2": 0, "https://b.test/é&1": 1, "http://u.test": 2}},
		{map[string]string{"property:X": "a b", "property:U": "javascript:alert(1)"}, map[string]int{"https://a.test/?a=1&b=2": 0, "https://b.test/a%20b": 1}},
		{map[string]string{"property:X": `a\b`, "property:U": " http://u.test/a b "}, map[string]int{"https://a.test/?a=1&b=2": 0, "http://u.test/a%20b": 2}},
		{map[string]string{"property:U": apptest.Pages + "/preferences/x"}, map[string]int{"https://a.test/?a=1&b=2": 0, "https://b.test/y": 1}},
	} {
		mail := m.Partial(s, &app.BroadcastRecipient{ID: testRecipient, Email: "a@b.test", Fields: c.fields}).Flatten()
		got := map[string]int{}
		scanned := tracking.Scan(mail.HTML)
		scanned.Rewrite(mail.HTML, func(target string) string {
			if token, ok := strings.CutPrefix(target, b.Snapshot.Tracking.Base+"/t/c/"); ok {
				link, ok := tracking.ReadClickToken(s, token, tracking.BaseHost(b.Snapshot.Tracking))
				if !ok || link.EmailID != testRecipient || link.Links != 3 {
					t.Errorf("%v: %v %+v", c.fields, ok, link)
				}
				got[link.Target] = link.Link
			}
			return target
		}, "")
		if len(got) != len(c.targets) {
			t.Errorf("%v: tracked %v, want %v", c.fields, got, c.targets)
		}
		for target, n := range c.targets {
			if got[target] != n {
				t.Errorf("%v: tracked %v, want %v", c.fields, got, c.targets)
			}
		}
	}
	b.Snapshot.Tracking.Click = false
	if links := compileTest(t, b).Links(); len(links) != 0 {
		t.Errorf("links without click tracking: %q", links)
	}
}

func TestUntrackableLinkIsUnchanged(t *testing.T) {
	b := trackedBroadcast(`<a href='https://b.test/{{{X}}}?z=1'>x</a><a href={{{X}}}>y</a>`)
	b.Snapshot.Tracking.Open = false
	want := `<a href='https://b.test/a\ &#34;b&#34; &lt;c&gt;?z=1'>x</a><a href=a\&#32;&#34;b&#34;&#32;&lt;c&gt;>y</a>`
	if m := rendered(t, b, map[string]string{"property:X": `a\ "b" <c>`}); m.HTML != want {
		t.Errorf("got  %s\nwant %s", m.HTML, want)
	}
}

// FuzzBroadcast checks that any content and values result in a mail with the values at their
// placeholders.
func FuzzBroadcast(f *testing.F) {
	for _, piece := range slices.Concat(broadcastPieces, apptest.HostileHTML) {
		f.Add(piece, "Ann", true)
		f.Add(piece+"{{{FIRST_NAME|you}}}", "<\" '&\r\n{{{X}}}", false)
	}
	f.Add(strings.Join(broadcastPieces, ""), "=", true)
	f.Fuzz(func(t *testing.T, content, value string, track bool) {
		b := apptest.Broadcast(content)
		b.Subject, b.Preview, b.Text = content, content, nil
		if track {
			b.Snapshot.Tracking = &app.Tracking{Base: "https://links.acme.test", Open: true, Click: true}
		}
		m, err := Compile(b)
		if err != nil {
			if app.CodeOf(err) != app.CodeValidation {
				t.Fatal(err)
			}
			return
		}
		fields := map[string]string{"first_name": value, "property:X": value, "property:U": value}
		mail := m.Partial(apptest.Sealer(t, 0), &app.BroadcastRecipient{ID: testRecipient, Email: "ann@example.org", Fields: fields}).Flatten()
		if len(mail.Subject) > app.MaxSubject || strings.ContainsAny(mail.Subject, "\r\n\x00") {
			t.Errorf("subject %q", mail.Subject)
		}
		if track || content == "" || strings.ContainsAny(value, " \t\r\n\f=`\x00") || strings.ToValidUTF8(value, "") != value {
			return
		}
		b.Preview, b.Snapshot.Tracking = "", nil
		got, want := rendered(t, b, fields).HTML, trackReference(t, b, fields)
		if strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") { // a body is never empty
			t.Errorf("%q becomes %q, want %q", content, got, want)
		}
	})
}
