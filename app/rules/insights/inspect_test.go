package insights

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

// plainMail returns a mail without findings.
func plainMail() *app.Mail {
	return &app.Mail{From: app.Address{Local: "ann", Domain: "mail.example.com"}, Subject: "Your invoice", HTML: "<p>Hello</p>", Text: "Hello"}
}

// newsMail returns a newsletter without findings.
func newsMail() *app.Mail {
	m := plainMail()
	m.TopicID = app.NewID()
	m.HTML = `<p>Hello <a href="https://www.example.com/">us</a>, <a href="https://mailer.test/unsubscribe/x">stop</a></p>`
	m.Headers = []app.Header{{Name: "List-Unsubscribe", Value: "<https://mailer.test/unsubscribe/x>"}, {Name: "List-Unsubscribe-Post", Value: app.OneClick}}
	return m
}

func TestOfMail(t *testing.T) {
	link := func(href, text string) string { return `<a href="` + href + `">` + text + `</a>` }
	own := link("https://example.com", "us")
	for _, c := range []struct {
		name   string
		change func(m *app.Mail)
		want   string
	}{
		{"nothing", func(m *app.Mail) {}, ""},
		{"text alone", func(m *app.Mail) { m.HTML = "" }, ""},
		{"no text", func(m *app.Mail) { m.Text = "" }, "no_text_part"},
		{"a subdomain", func(m *app.Mail) { m.HTML += link("https://a.b.example.com/x?y#z", "there") }, ""},
		{"a foreign link", func(m *app.Mail) { m.HTML += link("https://example.org", "there") }, "no_sender_link"},
		{"a foreign link beside an own", func(m *app.Mail) { m.HTML += link("https://example.org", "there") + own }, ""},
		{"another of the same suffix", func(m *app.Mail) { m.From.Domain = "a.co.uk"; m.HTML += link("https://b.co.uk", "there") }, "no_sender_link"},
		{"a foreign link in a text", func(m *app.Mail) { m.HTML, m.Text = "", "See (https://example.org/a)." }, "no_sender_link"},
		{"an own link in a text", func(m *app.Mail) { m.HTML, m.Text = "", "See http or https://example.com." }, ""},
		{"no web link", func(m *app.Mail) { m.HTML += link("mailto:ann@example.org", "write") + link("#top", "up") }, ""},
		{"a shortener", func(m *app.Mail) { m.HTML += own + link("HTTPS://www.Bit.ly/x", "there") }, "link_shortener"},
		{"http", func(m *app.Mail) { m.HTML += link("http://example.com/", "there") }, "http_links"},
		{"a large html", func(m *app.Mail) { m.HTML += strings.Repeat("x", 100<<10) }, "html_too_large"},
		{"a html just small enough", func(m *app.Mail) { m.HTML += strings.Repeat("x", 100<<10-len(m.HTML)) }, ""},
		{"an IP address", func(m *app.Mail) { m.HTML += own + link("https://192.0.2.1/x", "there") }, "phishing_link"},
		{"an IPv6 address", func(m *app.Mail) { m.HTML += own + link("https://[2001:db8::1]:8443/x", "there") }, "phishing_link"},
		{"an IP address as a number", func(m *app.Mail) { m.HTML += own + link("https://3221225985/", "there") }, "phishing_link"},
		{"a text that names another domain", func(m *app.Mail) { m.HTML += own + link("https://evil.example.net", "www.bank.com") }, "phishing_link"},
		{"a text with another address", func(m *app.Mail) {
			m.HTML += own + link("https://evil.example.net", "go to <b>https://bank.com/login</b>!")
		}, "phishing_link"},
		{"a text that names its own domain", func(m *app.Mail) { m.HTML += link("https://www.example.com/a", "Example.com/b") }, ""},
		{"a text with a file and an address", func(m *app.Mail) { m.HTML += own + link("https://example.com", "node.js 3.5 ann@bank.com") }, ""},
		{"no-reply", func(m *app.Mail) { m.From.Local = "No-Reply+1" }, "no_reply_sender"},
		{"do not reply", func(m *app.Mail) { m.From.Local = "do_not_reply" }, "no_reply_sender"},
		{"a svg", func(m *app.Mail) { m.HTML += "<SVG><text>x</text></SVG>" }, "svg"},
		{"a svg picture", func(m *app.Mail) { m.HTML += `<img src="https://example.com/a.SVG?x=1">` }, "svg"},
		{"a svg file", func(m *app.Mail) { m.Attachments = []app.Attachment{{Filename: "a.svg", ContentType: "text/plain"}} }, "svg"},
		{"a file", func(m *app.Mail) {
			m.Attachments = []app.Attachment{{Filename: "a.pdf", ContentType: "application/pdf"}}
		}, ""},
		{"pictures alone", func(m *app.Mail) {
			m.HTML = `<head><title>Hi</title><style>p{}</style></head><img src="a.png">` + link("https://example.com", "see")
		}, "images_without_text"},
		{"pictures and text", func(m *app.Mail) { m.HTML += `<img src="a.png">` }, ""},
		{"shouting", func(m *app.Mail) { m.Subject = "BUY NOW" }, "shouting_subject"},
		{"exclaiming", func(m *app.Mail) { m.Subject = "Hello!!" }, "shouting_subject"},
		{"a short name", func(m *app.Mail) { m.Subject = "Your OTP 1234" }, ""},
		{"a link to unsubscribe makes it marketing", func(m *app.Mail) { m.HTML += own + link("https://example.com/x", "Abmelden") }, "no_one_click"},
		{"a scheme without a host", func(m *app.Mail) { m.HTML += link("https://", "x") + link("https:///", "x") + "<a href=http>x" }, ""},
	} {
		m := plainMail()
		c.change(m)
		if got := strings.Join(OfMail(m, false, "https://mailer.test").Found, " "); got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		change func(m *app.Mail)
		want   string
	}{
		{"nothing", func(m *app.Mail) {}, ""},
		{"no pair", func(m *app.Mail) { m.Headers = nil }, "no_one_click"},
		{"half a pair", func(m *app.Mail) { m.Headers = m.Headers[:1] }, "no_one_click"},
		{"no visible link", func(m *app.Mail) { m.HTML = "<p>Hello</p>" }, "no_unsubscribe_link"},
		{"an own visible link", func(m *app.Mail) {
			m.Headers[0].Value = "<https://example.com/u/1>"
			m.HTML = `<p>Hello <a href="https://example.com/u/1">stop</a></p>`
		}, ""},
		{"a file", func(m *app.Mail) {
			m.Attachments = []app.Attachment{{Filename: "a.pdf", ContentType: "application/pdf"}}
		}, "marketing_attachments"},
		{"the bare domain", func(m *app.Mail) { m.From.Domain = "example.com" }, "bare_domain"},
	} {
		m := newsMail()
		c.change(m)
		if got := strings.Join(OfMail(m, false, "https://mailer.test").Found, " "); got != c.want {
			t.Errorf("marketing, %s: found %q, want %q", c.name, got, c.want)
		}
	}
}

func TestInsightsOfTheDomain(t *testing.T) {
	i := OfMail(plainMail(), false, "")
	for _, c := range []struct {
		noDMARC bool
		at      *app.Tracking
		want    string
	}{
		{false, nil, ""},
		{true, nil, "no_dmarc"},
		{false, &app.Tracking{Base: "https://links.example.com"}, ""},
		{false, &app.Tracking{Base: "https://mailer.test"}, "foreign_tracking"},
		{true, &app.Tracking{Base: "http://127.0.0.1:3000"}, "no_dmarc foreign_tracking"},
	} {
		got := i.ForDomain("mail.example.com", c.noDMARC, c.at)
		got = got.ForDomain("mail.example.com", c.noDMARC, c.at) // a write may run twice
		if strings.Join(got.Found, " ") != c.want {
			t.Errorf("%t, %+v: %q, want %q", c.noDMARC, c.at, got.Found, c.want)
		}
	}
}

func TestOfBroadcast(t *testing.T) {
	b := apptest.Broadcast(`<p>Hello {{{FIRST_NAME|there}}}, <a href="{{{UNSUBSCRIBE_URL}}}">stop</a> <a href="https://example.com">us</a></p>`)
	b.From, b.Subject = app.Address{Local: "ann", Domain: "news.example.com"}, "News"
	b.Snapshot = &app.BroadcastSnapshot{Pages: "https://mailer.test", Tracking: &app.Tracking{Base: "https://mailer.test", Click: true}}
	text := "Hello"
	b.Text = &text
	s := apptest.Sealer(t, 0)
	i, err := OfBroadcast(s, b)
	if err != nil || strings.Join(i.Found, " ") != "foreign_tracking" || i.Score() != 9.6 {
		t.Errorf("found %+v, %v", i, err)
	}
	b.Snapshot, b.HTML = nil, ""
	i, err = OfBroadcast(s, b)
	if err != nil || strings.Join(i.Found, " ") != "no_one_click no_unsubscribe_link" {
		t.Errorf("without a server's address found %+v, %v", i, err)
	}
}

// decided are the expected points of each penalty.
var decided = map[string]float64{
	"no_dmarc": 3.5, "no_one_click": 1.5, "no_sender_link": 1.25, "link_shortener": 1.25, "html_too_large": 1, "no_text_part": 1,
	"no_unsubscribe_link": 1, "phishing_link": 1,
}

var decidedMinor = map[string]float64{
	"no_reply_sender": 0.5, "svg": 0.5, "marketing_attachments": 0.5, "images_without_text": 0.4, "foreign_tracking": 0.4,
	"bare_domain": 0.25, "http_links": 0.25, "shouting_subject": 0.25,
}

// randomMail returns a random mail with its expected findings.
func randomMail(r *rand.Rand) (m *app.Mail, noDMARC bool, at *app.Tracking, want map[string]bool) {
	want = map[string]bool{}
	has := func(id string) bool {
		if r.IntN(3) > 0 {
			return false
		}
		want[id] = true
		return true
	}
	m = &app.Mail{From: app.Address{Local: "ann", Domain: "mail.example.com"}, Subject: "Some words", Text: "Hello"}
	marketing := r.IntN(2) == 0
	links := []string{`<a href="https://example.com/a">us</a>`}
	if has("no_sender_link") {
		links = []string{`<a href="https://example.org/a">them</a>`}
	}
	if has("link_shortener") {
		links = append(links, `<a href="https://tinyurl.com/a">that</a>`)
	}
	if has("phishing_link") {
		links = append(links, []string{`<a href="https://10.0.0.1/a">that</a>`, `<a href="https://example.org/a">paypal.com</a>`}[r.IntN(2)])
	}
	if has("http_links") {
		links = append(links, `<a href="http://example.org/a">that</a>`)
	}
	if marketing {
		m.TopicID = app.NewID()
		if !has("no_one_click") {
			m.Headers = []app.Header{{Name: "List-Unsubscribe", Value: "<https://u.test/x>"}, {Name: "List-Unsubscribe-Post", Value: app.OneClick}}
		}
		if !has("no_unsubscribe_link") {
			links = append(links, `<a href="https://example.org/unsubscribe">that</a>`)
		}
		if has("marketing_attachments") {
			m.Attachments = []app.Attachment{{Filename: "a.pdf"}}
		}
		if has("bare_domain") {
			m.From.Domain = "example.com"
		}
	}
	words := "<p>Some words</p>"
	if has("images_without_text") {
		words = `<img src="https://example.com/a.png">`
	}
	if has("svg") {
		words += "<svg></svg>"
	}
	if has("html_too_large") {
		words += "<!--" + strings.Repeat("x", 103_000) + "-->"
	}
	if has("no_text_part") {
		m.Text = ""
	}
	if has("no_reply_sender") {
		m.From.Local = "noreply"
	}
	if has("shouting_subject") {
		m.Subject = "WAKE UP"
	}
	if noDMARC = has("no_dmarc"); has("foreign_tracking") {
		at = &app.Tracking{Base: "https://track.test"}
	}
	r.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	m.HTML = words + strings.Join(links, " ")
	return m, noDMARC, at, want
}

func TestScoreEqualsReference(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 12))
	bands := map[app.Band]int{}
	for range 1000 {
		m, noDMARC, at, want := randomMail(r)
		score, minor := 10.0, 0.0
		for id := range want {
			score -= decided[id]
			minor += decidedMinor[id]
		}
		score = math.Max(0, score-math.Min(1.5, minor))
		got := OfMail(m, false, "").ForDomain(m.From.Domain, noDMARC, at)
		if math.Abs(got.Score()-score) > 1e-9 || len(got.Found) != len(want) {
			t.Fatalf("%q: score %g, want %g of %v", got.Found, got.Score(), score, want)
		}
		var sum float64
		for _, p := range got.Penalties() {
			if !want[p.ID] || p.Points != decided[p.ID]+decidedMinor[p.ID] || (p.Severity == app.Minor) != (decidedMinor[p.ID] > 0) || p.Message == "" {
				t.Fatalf("penalty %+v", p)
			}
			sum += p.Points
		}
		if sum > 0 && got.Score() == 10 {
			t.Fatalf("%q cost nothing", got.Found)
		}
		bands[app.BandOf(got.Score())]++
	}
	if len(bands) != 4 {
		t.Errorf("the mails were all in %v", bands)
	}
}

func TestBandLimits(t *testing.T) {
	for score, want := range map[float64]app.Band{10: app.Excellent, 9: app.Excellent, 8.99: app.Good, 7: app.Good, 6.99: app.NeedsAttention, 5: app.NeedsAttention, 4.99: app.AtRisk, 0: app.AtRisk} {
		if got := app.BandOf(score); got != want {
			t.Errorf("%g is %s, want %s", score, got, want)
		}
	}
}

func TestUnsubscribeWords(t *testing.T) {
	n := 0
	for first, words := range unsubscribeWords {
		for _, word := range words {
			if n++; word[0] != byte(first) || !saysUnsubscribe("x"+strings.ToUpper(word)) || saysUnsubscribe(word[1:]) {
				t.Errorf("%q under %#x", word, first)
			}
		}
	}
	if n != 29 {
		t.Errorf("%d words", n)
	}
}

func FuzzInspect(f *testing.F) {
	for _, s := range []string{`<a href="http://[::1">x</a>`, "<a href=https://@:>", "http://.", `<img src="//a.svg#?">`, "<svg/><title>"} {
		f.Add(s, "ann", "Hi")
	}
	f.Fuzz(func(t *testing.T, content, local, subject string) {
		for _, m := range []*app.Mail{{HTML: content, Subject: subject}, {Text: content, TopicID: app.NewID(), Subject: subject}} {
			m.From = app.Address{Local: local, Domain: "example.com"}
			i := OfMail(m, false, "https://mailer.test").ForDomain(m.From.Domain, true, nil)
			if p := i.Points(); p < 0 || p > 650 || !slices.Contains(i.Found, "no_dmarc") {
				t.Errorf("%d points of %q", p, i.Found)
			}
		}
	})
}

func BenchmarkInspect(b *testing.B) {
	mails := apptest.Mails(b)
	mails["rows"] = strings.Repeat(`<tr><td style="padding:0 0 10px">Some words of a mail, <a href="https://example.com/a">and a link</a></td></tr>`, 40)
	for name, in := range mails {
		b.Run(name, func(b *testing.B) {
			m := newsMail()
			m.HTML = in
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				OfMail(m, false, "https://mailer.test").ForDomain(m.From.Domain, false, nil)
			}
		})
	}
}
