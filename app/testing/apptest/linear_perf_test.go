//go:build perf

package apptest_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/kit/mailbox"
	"mailer/app/kit/schedule"
	"mailer/app/rules/contactfile"
	"mailer/app/rules/feedback"
	"mailer/app/rules/insights"
	"mailer/app/rules/mergetags"
	"mailer/app/rules/rawmail"
	"mailer/app/rules/render"
	"mailer/app/rules/tracking"
)

// parsers are parsers of text that tenants store or send, by name, each with pieces that have made
// such parsers slow: constructs that never end, searches to the end of the text, lookups in lists.
// parse is called with many repetitions of one piece.
var parsers = map[string]struct {
	parse  func(t *testing.T, text string)
	pieces []string
}{
	"CSS of a preview": {func(_ *testing.T, s string) { htmltext.RemoteImages("<style>" + s) }, []string{
		"url(", "URL(", "url('", "url(a)", "url(https://x.test/", "(", ")", "/*", "@import ", "\\", "url(\n"}},
	"styles of tags": {func(_ *testing.T, s string) { htmltext.RemoteImages(`<p style="` + s + `">`); htmltext.RemoteImages(s) }, []string{
		"url(", "&#40;", "url&#40;", `"><p style="url(`, `<img srcset="a,`, ",", `<img src="//a`, "<svg><image href=//a "}},
	"HTML": {func(_ *testing.T, s string) { htmltext.Height(s); htmltext.DisableLinkElements(s) }, []string{
		"<", "</", "<a", "<a ", "<link", "<!--", "<script><!--<script>", "<title>", "<pre>\r", "&", "&#", "<ul><li>", "<table><tr>", "<a href=//x>", "<div hidden>"}},
	"links of HTML": {func(_ *testing.T, s string) {
		places := tracking.Scan(s)
		places.Rewrite(s, func(target string) string { return target }, "")
	}, []string{`<a href="https://x.test/">`, "<a href=https://x.test/ ", "<a href='", "<area href=//x>", "<a href=&amp;"}},
	"a mail that is judged": {func(_ *testing.T, s string) {
		insights.OfMail(&app.Mail{HTML: s, From: app.Address{Local: "a", Domain: "b.test"}}, true, "https://m.test")
		insights.OfMail(&app.Mail{Text: s, Subject: s, From: app.Address{Local: "a", Domain: "b.test"}}, true, "https://m.test")
	}, []string{"http", "https://a.b ", "<a href=https://a.b>c.d", "<svg>", "a.b ", "unsubscrib", "!"}},
	"List-Unsubscribe beside links": {func(_ *testing.T, s string) {
		n := min(len(s)/4, 60_000)
		m := &app.Mail{HTML: strings.Repeat("<a href=https://a.test/1>x</a>", len(s)/30), From: app.Address{Local: "a", Domain: "b.test"}}
		m.Headers = []app.Header{{Name: "List-Unsubscribe", Value: strings.Repeat("<https://a.test/2>,", n/19)}}
		insights.OfMail(m, true, "https://m.test")
	}, []string{"x"}},
	"a template": {func(_ *testing.T, s string) {
		values := map[string]app.PropertyValue{"A": {Type: app.StringProperty, Text: "{{{"}}
		_, _ = render.Template(&app.TemplateContent{Subject: "x", HTML: s, Variables: []app.TemplateVariable{{Key: "A", Type: app.StringProperty}}}, values, nil, true, time.Time{}, app.MaxRendered)
		_ = app.CheckBroadcastPlaceholders("html", s)
		app.Placeholders(s)
	}, []string{"{", "{{{", "{{{A}}}", "<p {{{A}}}", "<p a={{{A}}} ", "{{{A|b", "{{{A|b}}}", "{{{ ", "{{{UNSUBSCRIBE_URL", "{{{UNSUBSCRIBE_URL}}}", "}}}"}},
	"a broadcast": {func(_ *testing.T, s string) {
		b := &app.Broadcast{TeamID: app.NewID()}
		b.HTML, b.Subject, b.Snapshot = s, "x", &app.BroadcastSnapshot{Tracking: &app.Tracking{Open: true, Click: true, Base: "https://t.test"}}
		_, _ = render.Compile(b)
		clicks := render.Clicks{}
		for n := range 200 {
			clicks[strings.Repeat("x", n)] = 1
		}
		clicks["https://x.test/"] = 3
		_, _ = render.PreviewOf(b, &app.Contact{Email: "a@b.test"}, "https://m.test/p", "https://m.test/v", clicks)
	}, []string{`<a href="https://x.test/">y</a>`, `<a href="{{{A}}}">`, "{{{A}}}", "<body", "<a href=x>", "{{{A|b}}}", "<title>"}},
	"merge tags": {func(_ *testing.T, s string) {
		mergetags.Detect(s)
		for _, d := range []mergetags.Dialect{mergetags.Listmonk, mergetags.Mailchimp, mergetags.SendGrid, mergetags.HubSpot, mergetags.MailerLite, mergetags.Brevo, mergetags.Postmark} {
			mergetags.Convert(d, mergetags.Broadcast, s)
		}
	}, []string{"{", "{{ ", "{{a}}", "*|", "%7B", "&lt;%", "{$", "{% ", "@TrackLink", "://@TrackLink", "{{#a}}", "{{- x -}} \n", "<%", "{{a|default:"}},
	"headers of a message": {func(_ *testing.T, s string) {
		lines := strings.Join(chunks(s, 900), "\r\n ")
		for _, name := range []string{"To", "Subject", "Content-Type", "Content-Disposition", "Reply-To", "Message-ID"} {
			_, _ = rawmail.Parse([]byte("From: a@b.test\r\n" + name + ": " + lines + "\r\n\r\nx\r\n"))
		}
	}, []string{"a@b.test, ", "(", "<", "\"", "a ", "=?utf-8?q?a?=", "=?utf-8?b?YQ==?= ", "=?", ";a=b", "; a*0=b", "[", "@", ",", ":", "\\", "a@[", "(a) ", "a: b;"}},
	"parts of a message": {func(_ *testing.T, s string) {
		_, _ = rawmail.Parse([]byte("From: a@b.test\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" + s))
	}, []string{"--x\r\n", "--x\r\n\r\n", "--x\r\nA: b\r\n", "--xx\r\n", "--x\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n", "\r\n", "--x\r\n \r\n"}},
	"a report": {func(_ *testing.T, s string) {
		feedback.ReadBounce([]byte("Content-Type: multipart/report; boundary=x\r\n\r\n--x\r\nContent-Type: message/delivery-status\r\n\r\n"+s), true)
		feedback.ReadBounce([]byte("Subject: failed\r\n\r\n"+s), true)
	}, []string{"Final-Recipient: rfc822; a@b.test\r\nAction: failed\r\n\r\n", "<a@b.test>: 550 5.1.1\r\n", "550 ", "a@b.test ", "Status: 5.1.1\r\n", "--x\r\n", " "}},
	"a CSV file": {func(_ *testing.T, s string) {
		rows, _, err := contactfile.Read(strings.NewReader("email\n" + s))
		for err == nil {
			_, err = rows.Next()
		}
	}, []string{"\"", "\"\n", ",", "a@b.test\n", "\"a\nb\"", ";", "\t", "\r", "\xff", "\n"}},
	"headings of a CSV file": {func(t *testing.T, s string) {
		rows, headings, err := contactfile.Read(strings.NewReader("email," + s[:min(len(s), 60_000)] + "\nx"))
		if err != nil {
			return
		}
		_, _, _ = (&contactfile.Input{FileName: "a.csv"}).Plan(headings, map[string]app.PropertyType{})
		_, _ = rows.Next()
	}, []string{"a,", "a1,", "email,", "first name,", ",", "unsubscribed,"}},
	"addresses": {func(_ *testing.T, s string) {
		mailbox.Split(s, ",;")
		_, _ = app.ParseAddress(s)
		_, _ = rawmail.Addresses(rawmail.Field{Name: "To", Value: s})
	}, []string{"a@b.test,", "\"", "<", "(", "a ", "\\", "@", ",", "a:b;", "=?utf-8?q?a?= "}},
	"times": {func(_ *testing.T, s string) {
		_, _ = schedule.Parse(s, time.Unix(0, 0))
		_, _ = schedule.ParseSpan(s)
	}, []string{"in 1 day ", "1", "1h", "at ", " "}},
}

func chunks(s string, size int) (out []string) {
	for len(s) > size {
		out, s = append(out, s[:size]), s[size:]
	}
	return append(out, s)
}

// processorTime returns the processor time of f, which the system counts in steps of some
// milliseconds.
func processorTime(t *testing.T, f func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const ofThread = 1 // RUSAGE_THREAD
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(ofThread, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	f()
	return used() - before
}

// TestPerfParsersTakeLinearTime compares the processor time for a long text with that for eight
// texts of an eighth of its length. Eight times as much would be quadratic.
func TestPerfParsersTakeLinearTime(t *testing.T) {
	const short, long, much = 1 << 15, 1 << 18, 60 * time.Millisecond
	for name, p := range parsers {
		for _, piece := range p.pieces {
			whole, part := strings.Repeat(piece, long/len(piece)), strings.Repeat(piece, short/len(piece))
			times := time.Duration(0)
			for range 3 { // once may be chance
				one := processorTime(t, func() { p.parse(t, whole) })
				if one < much {
					times = 0
					break
				}
				eight := processorTime(t, func() {
					for range long / short {
						p.parse(t, part)
					}
				})
				if times = one / max(eight, much/3); times < 3 {
					break
				}
			}
			if times >= 3 {
				t.Errorf("%s: one of many %q takes %d times as long as eight of an eighth", name, piece, times)
			}
		}
	}
}
