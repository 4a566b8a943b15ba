package tracking

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"mailer/app"
	"mailer/app/testing/apptest"
)

const (
	trackedTeam = "01920000-0000-7000-8000-0000000000aa"
	trackedID   = "01920000-0000-7000-8000-00000000000a"
	linkHost    = "links.test"
)

// forgeries returns texts that differ slightly from a token.
func forgeries(token string) []string {
	out := []string{"", token + "A", token + "=", token + "\n", token[:5] + "\r\n" + token[5:], " " + token, strings.ToUpper(token), token + token}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range token {
		out = append(out, token[:i], token[i+1:])
		at := strings.IndexByte(alphabet, token[i])
		for bit := range 6 {
			out = append(out, token[:i]+string(alphabet[at^1<<bit])+token[i+1:])
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		panic(err)
	}
	return append(out, base64.URLEncoding.EncodeToString(append(raw, 0)), base64.RawStdEncoding.EncodeToString(append(raw[:len(raw):len(raw)], 0xff, 0xff)))
}

func TestOpenTokens(t *testing.T) {
	s := apptest.Sealer(t, 1)
	token := OpenToken(s, trackedID)
	if id, ok := ReadOpenToken(s, token); !ok || id != trackedID || len(token) != 44 {
		t.Errorf("%q, %v from a token of %d characters", id, ok, len(token))
	}
	for _, forged := range forgeries(token) {
		if _, ok := ReadOpenToken(s, forged); ok {
			t.Errorf("%q is read like %q", forged, token)
		}
	}
	if _, ok := ReadOpenToken(apptest.Sealer(t, 2), token); ok {
		t.Error("a token of another server is read")
	}
	if _, ok := ReadClickToken(s, token, linkHost); ok {
		t.Error("an open token is read as a click token")
	}
}

func TestClickTokens(t *testing.T) {
	s := apptest.Sealer(t, 1)
	link := ClickLink{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Link: 3, Links: 1000, Target: "https://a.test/ü?x=1&y=2#z"}
	token := ClickToken(s, link)
	if got, ok := ReadClickToken(s, token, linkHost); !ok || got != link {
		t.Errorf("read %+v, %v", got, ok)
	}
	for _, forged := range forgeries(token) {
		if got, ok := ReadClickToken(s, forged, linkHost); ok {
			t.Errorf("%q is read as %+v", forged, got)
		}
	}
	if _, ok := ReadClickToken(apptest.Sealer(t, 2), token, linkHost); ok {
		t.Error("a token of another server is read")
	}
	if _, ok := ReadOpenToken(s, token); ok {
		t.Error("a click token is read as an open token")
	}
	longest := ClickLink{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Links: 1, Target: "https://a.test/" + strings.Repeat("x", MaxTarget-15)}
	if got, ok := ReadClickToken(s, ClickToken(s, longest), linkHost); !ok || got != longest || len(ClickToken(s, longest)) != 2746 {
		t.Errorf("the longest link is not read: %v", ok)
	}
}

// A link of a broadcast in several languages has a number among those of all. Versions that know no
// languages check that the first number of a token is less than the second.
func TestClickTokensOfSeveralLanguages(t *testing.T) {
	s := apptest.Sealer(t, 1)
	for _, number := range []int{2, 7, 1<<15 - 1} {
		link := ClickLink{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Link: number, Links: 2, Target: "https://a.test/"}
		token := ClickToken(s, link)
		if got, ok := ReadClickToken(s, token, linkHost); !ok || got != link {
			t.Errorf("read %+v, %v", got, ok)
		}
		b, ok := s.OpenToken(clickPurpose, token, clickTokenSize, clickTokenSize+MaxTarget)
		numbers := b[1+16+16+hostMarkSize:]
		if first, second := binary.BigEndian.Uint16(numbers), binary.BigEndian.Uint16(numbers[2:]); !ok || first >= second {
			t.Errorf("an older version refuses link %d of %d", first, second)
		}
	}
}

// TestSignedInvalidTokenIsRefused: whatever else was signed with the key, no token leads to a
// target that was not wrapped.
func TestSignedInvalidTokenIsRefused(t *testing.T) {
	s := apptest.Sealer(t, 1)
	for _, link := range []ClickLink{
		{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Links: 1, Target: "javascript:alert(1)"},
		{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Links: 1, Target: "https://a.test/\r\nSet-Cookie: x"},
		{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Links: 1, Target: ""},
		{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Target: "https://a.test/"},
		{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Links: 1, Target: "https://a.test/" + strings.Repeat("x", MaxTarget)},
	} {
		if _, ok := ReadClickToken(s, ClickToken(s, link), linkHost); ok {
			t.Errorf("%+v is read", link)
		}
	}
}

func TestClickTokenIsBoundToHost(t *testing.T) {
	s := apptest.Sealer(t, 1)
	token := ClickToken(s, ClickLink{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Links: 1, Target: "https://evil.test/"})
	for host, want := range map[string]bool{
		"links.test": true, "LINKS.test.": true, "links.test:8443": true,
		"links.team-b.test": false, "mail.test": false, "x.links.test": false, "test": true, "": true, "203.0.113.9": false, "203.0.113.9:80": false,
		"127.0.0.1:3000": true, "localhost:3000": true, "mailer": true, "[::1]:3000": true, "10.0.0.7": true, "[2001:db8::1]:80": false,
	} {
		if _, ok := ReadClickToken(s, token, HostOf(host)); ok != want {
			t.Errorf("at %q it leads on: %v", host, ok)
		}
	}
	other := ClickToken(s, ClickLink{TeamID: trackedID, EmailID: trackedID, Host: linkHost, Links: 1, Target: "https://evil.test/"})
	if l, _ := ReadClickToken(s, other, linkHost); other == token || l.TeamID != trackedID {
		t.Error("the token does not hold the team")
	}
}

func FuzzReadTrackingTokens(f *testing.F) {
	s := apptest.Sealer(f, 1)
	made := map[string]bool{}
	for _, token := range []string{OpenToken(s, trackedID), ClickToken(s, ClickLink{TeamID: trackedTeam, EmailID: trackedID, Host: linkHost, Links: 1, Target: "https://a.test/"})} {
		made[token] = true
		f.Add(token)
		f.Add(token[1:])
	}
	f.Fuzz(func(t *testing.T, token string) {
		_, open := ReadOpenToken(s, token)
		_, click := ReadClickToken(s, token, linkHost)
		if (open || click) && !made[token] {
			t.Errorf("%q is read", token)
		}
	})
}

// trackedLinks reads the links and pixels of tracked HTML.
func trackedLinks(t *testing.T, s *app.Sealer, base, html string) (links []ClickLink, pixels int) {
	t.Helper()
	rewriteLinks(html, func(target string) string {
		if token, ok := strings.CutPrefix(target, base+"/t/c/"); ok {
			l, ok := ReadClickToken(s, token, BaseHost(&app.Tracking{Base: base}))
			if !ok {
				t.Errorf("the link %s is not read", target)
			}
			links = append(links, l)
		}
		return target
	})
	for rest := html; ; pixels++ {
		_, after, found := strings.Cut(rest, `<img src="`+base+`/t/o/`)
		if !found {
			return links, pixels
		}
		token, _, _ := strings.Cut(after, `"`)
		if id, ok := ReadOpenToken(s, token); !ok || id != trackedID {
			t.Errorf("the pixel of %q, %v", id, ok)
		}
		rest = after
	}
}

func TestTrackedMail(t *testing.T) {
	s := apptest.Sealer(t, 1)
	const html = `<body><a href="https://a.test/1">1</a><a href="https://a.test/2">2</a><a href="https://a.test/1">again</a>` +
		`<a href="https://mail.test/unsubscribe/tok">u</a><a href="https://MAIL.test/preferences/tok">p</a><a href="https://mail.test/other">o</a>` +
		`<a href="https://own.test/leave?u=1&amp;x=2">l</a></body>`
	mail := app.Mail{HTML: html, Text: "https://a.test/1", Headers: []app.Header{{Name: "list-unsubscribe", Value: "<mailto:x@y.test>, <https://own.test/leave?u=1&x=2>"}}}
	given := mail
	tracking := &app.Tracking{Base: "https://links.test", Open: true, Click: true, Pages: "https://mail.test"}
	got := Track(s, &mail, trackedTeam, trackedID, tracking)
	if mail.HTML != given.HTML || got.Text != given.Text || got == &mail {
		t.Error("the mail itself changed, or its text")
	}
	if again := Track(s, &mail, trackedTeam, trackedID, tracking); again.HTML != got.HTML {
		t.Error("the second attempt has other bytes")
	}
	links, pixels := trackedLinks(t, s, tracking.Base, got.HTML)
	want := []ClickLink{{trackedTeam, trackedID, linkHost, 0, 3, "https://a.test/1"}, {trackedTeam, trackedID, linkHost, 1, 3, "https://a.test/2"}, {trackedTeam, trackedID, linkHost, 0, 3, "https://a.test/1"}, {trackedTeam, trackedID, linkHost, 2, 3, "https://mail.test/other"}}
	if len(links) != len(want) || pixels != 1 {
		t.Fatalf("links %+v, %d pixels in %s", links, pixels, got.HTML)
	}
	for i := range want {
		if links[i] != want[i] {
			t.Errorf("link %d is %+v, want %+v", i, links[i], want[i])
		}
	}
	for _, kept := range []string{"https://mail.test/unsubscribe/tok", "https://MAIL.test/preferences/tok", "https://own.test/leave?u=1&amp;x=2"} {
		if !strings.Contains(got.HTML, `href="`+kept+`"`) {
			t.Errorf("the unsubscribe link %s is wrapped", kept)
		}
	}
}

func TestTrackingSettings(t *testing.T) {
	s := apptest.Sealer(t, 1)
	mail := &app.Mail{HTML: `<a href="https://a.test/">`}
	for _, c := range []struct {
		tracking *app.Tracking
		links    int
		pixels   int
	}{{nil, 0, 0}, {&app.Tracking{Base: "http://b"}, 0, 0}, {&app.Tracking{Base: "http://b", Open: true}, 0, 1}, {&app.Tracking{Base: "http://b", Click: true}, 1, 0}} {
		links, pixels := trackedLinks(t, s, "http://b", Track(s, mail, trackedTeam, trackedID, c.tracking).HTML)
		if len(links) != c.links || pixels != c.pixels {
			t.Errorf("%+v: %d links, %d pixels", c.tracking, len(links), pixels)
		}
	}
	text := &app.Mail{Text: "https://a.test/"}
	if got := Track(s, text, trackedTeam, trackedID, &app.Tracking{Base: "http://b", Open: true, Click: true}); got.HTML != "" || got.Text != text.Text {
		t.Errorf("a mail without html became %+v", got)
	}
}

func TestDestination(t *testing.T) {
	found := []app.RecordCheck{{Record: app.RecordTracking, Name: "links.acme.test", Live: app.LiveFound}}
	for _, c := range []struct {
		name   string
		domain app.Domain
		base   string
		want   *app.Tracking
	}{
		{"no tracking", app.Domain{Name: "acme.test", TrackingSubdomain: "links", Checks: found}, "https://m.test", nil},
		{"a server that does not know where it is", app.Domain{Name: "acme.test", OpenTracking: true}, "", nil},
		{"no host of its own", app.Domain{Name: "acme.test", OpenTracking: true}, "https://m.test", &app.Tracking{Base: "https://m.test", Open: true}},
		{"its own host", app.Domain{Name: "acme.test", ClickTracking: true, TrackingSubdomain: "links", Checks: found}, "https://m.test",
			&app.Tracking{Base: "https://links.acme.test", Click: true, Pages: "https://m.test"}},
		{"with port and path", app.Domain{Name: "acme.test", ClickTracking: true, TrackingSubdomain: "links", Checks: found}, "http://m.test:3000/mail",
			&app.Tracking{Base: "http://links.acme.test:3000/mail", Click: true, Pages: "http://m.test:3000/mail"}},
		{"a server by address", app.Domain{Name: "acme.test", ClickTracking: true, TrackingSubdomain: "links", Checks: found}, "http://[::1]:3000",
			&app.Tracking{Base: "http://links.acme.test:3000", Click: true, Pages: "http://[::1]:3000"}},
		{"not found yet", app.Domain{Name: "acme.test", ClickTracking: true, TrackingSubdomain: "links",
			Checks: []app.RecordCheck{{Record: app.RecordTracking, Name: "links.acme.test", Live: app.LiveMissing}}}, "https://m.test", &app.Tracking{Base: "https://m.test", Click: true}},
		{"another name found", app.Domain{Name: "acme.test", ClickTracking: true, TrackingSubdomain: "news", Checks: found}, "https://m.test", &app.Tracking{Base: "https://m.test", Click: true}},
		{"the server's own host", app.Domain{Name: "acme.test", ClickTracking: true, TrackingSubdomain: "links", Checks: found}, "https://links.acme.test",
			&app.Tracking{Base: "https://links.acme.test", Click: true}},
	} {
		got := ForDomain(&c.domain, c.base)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
