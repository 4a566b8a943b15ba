package tracking

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
)

const browser = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36"

func TestJudge(t *testing.T) {
	taken := time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)
	open, click := ClickLink{EmailID: trackedID}, ClickLink{EmailID: trackedID, Links: 2, Target: "https://a.test/"}
	for _, c := range []struct {
		name  string
		link  ClickLink
		agent string
		after time.Duration
		taken time.Time
		burst bool
		want  app.EventType
		words string
	}{
		{"an open", open, browser, 10 * time.Second, taken, false, app.EventType(app.Opened), "loaded"},
		{"a click", click, browser, 10 * time.Second, taken, false, app.EventType(app.Clicked), "followed"},
		{"an open too soon", open, browser, 10*time.Second - 1, taken, false, app.EventPrefetched, "10 seconds"},
		{"a click at once", click, browser, 0, taken, false, app.EventPrefetched, "10 seconds"},
		{"before the relay had it", click, browser, time.Hour, time.Time{}, false, app.EventPrefetched, "before"},
		{"a mail proxy", open, "Mozilla/5.0 (via ggpht.com GoogleImageProxy)", time.Hour, taken, false, app.EventPrefetched, "Google"},
		{"no agent", click, "", time.Hour, taken, false, app.EventPrefetched, "without a name"},
		{"a click in a burst", click, browser, time.Hour, taken, true, app.EventPrefetched, "all the others"},
		{"an open in a burst", open, browser, time.Hour, taken, true, app.EventPrefetched, "all the others"},
	} {
		f := NewHit(c.link, Visitor{UserAgent: c.agent}, taken.Add(c.after))
		if kind, words := f.Judge(c.taken, c.burst); kind != c.want || !strings.Contains(words, c.words) {
			t.Errorf("%s: %s, %q", c.name, kind, words)
		}
	}
}

// gathered returns clicks (link numbers from 0, -1 for the pixel) at given seconds in an email
// with that many links.
func gathered(links int, clicks ...float64) *Pending {
	var g Pending
	for i := 0; i < len(clicks); i += 2 {
		l := ClickLink{EmailID: trackedID, Link: int(clicks[i]), Links: links}
		if clicks[i] < 0 {
			l = ClickLink{EmailID: trackedID}
		}
		g.Add(NewHit(l, Visitor{UserAgent: browser}, time.Unix(0, int64(clicks[i+1]*1e9))))
	}
	return &g
}

func TestBursts(t *testing.T) {
	for _, c := range []struct {
		name  string
		g     *Pending
		burst bool
		due   float64
	}{
		{"nothing", &Pending{}, false, 0},
		{"one of three links", gathered(3, 0, 0), false, 3},
		{"the only link", gathered(1, 0, 0), false, 3},
		{"both links", gathered(2, 0, 0, 1, 1), true, 4},
		{"both links and the pixel", gathered(2, -1, 0, 0, 1, 1, 2), true, 5},
		{"the pixel alone", gathered(0, -1, 0), false, 3},
		{"two of three links", gathered(3, 0, 0, 1, 1), false, 4},
		{"one link again and again", gathered(3, 0, 0, 0, 1, 0, 2), false, 3},
		{"a link again does not extend", gathered(2, 0, 0, 1, 2, 0, 4), true, 5},
		{"ten seconds apart", gathered(3, 0, 0, 1, 5, 2, 10), true, 12},
		{"more than ten seconds apart", gathered(3, 0, 0, 1, 5, 2, 10.1), false, 12},
		{"one link early and once more", gathered(3, 0, 0, 1, 5, 2, 10.5, 0, 11), true, 12},
	} {
		if got := c.g.Burst(); got != c.burst {
			t.Errorf("%s: burst %v", c.name, got)
		}
		if got := c.g.Due(); c.due != 0 && !got.Equal(time.Unix(0, int64(c.due*1e9))) {
			t.Errorf("%s: due at %v", c.name, got)
		}
	}
}

func TestRepeatedFetchIsPendingOnce(t *testing.T) {
	g := gathered(2, 0, 0, 0, 1, -1, 1, -1, 2)
	if n := len(g.Hits()); n != 2 {
		t.Errorf("%d fetches wait, want one of the link and one of the pixel", n)
	}
	scanned := NewHit(ClickLink{EmailID: trackedID, Links: 2}, Visitor{UserAgent: "curl/8"}, time.Unix(3, 0))
	if !g.Add(scanned) || g.Add(scanned) {
		t.Error("a scanner's fetch is distinguished from a reader's, and waits once")
	}
}

func TestScannerLeavesTimelineToReaders(t *testing.T) {
	click := app.EventType(app.Clicked)
	for _, c := range []struct {
		kind            app.EventType
		all, prefetched int
		want            bool
	}{
		{click, 0, 0, true}, {click, MaxPrefetchEvents, MaxPrefetchEvents, true}, {click, MaxHitEvents - 1, 3, true}, {click, MaxHitEvents, 3, false},
		{app.EventPrefetched, MaxPrefetchEvents - 1, MaxPrefetchEvents - 1, true}, {app.EventPrefetched, MaxPrefetchEvents, MaxPrefetchEvents, false},
		{app.EventPrefetched, MaxHitEvents, 0, false},
	} {
		if got := TimelineFits(c.kind, c.all, c.prefetched); got != c.want {
			t.Errorf("%s after %d events, %d of them prefetches: %v", c.kind, c.all, c.prefetched, got)
		}
	}
}

func TestAgentText(t *testing.T) {
	f := NewHit(ClickLink{}, Visitor{UserAgent: "Moz\r\n\x1b[31m\xff illa ü" + strings.Repeat("x", 1000)}, time.Time{})
	if len(f.UserAgent) > 300 || !strings.HasPrefix(f.UserAgent, "Moz[31m illa xxx") {
		t.Errorf("%q", f.UserAgent)
	}
}

func TestScannerName(t *testing.T) {
	for _, agent := range []string{
		"", " ", "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)", "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html",
		"BarracudaCentral/1.0", "Mozilla/5.0 Mimecast", "proofpoint/1", "SafeLinks", "curl/8.5.0", "Wget/1.21", "python-requests/2.31", "Go-http-client/2.0",
		"Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/120.0.0.0", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", "facebookexternalhit/1.1", "WhatsApp/2.23.20.0",
		"Twitterbot/1.0", "LinkedInBot/1.0", "TelegramBot (like TwitterBot)", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)", "Mozilla/5.0 BingPreview/1.0b",
		"bitlybot/3.0", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Mozilla/5.0 (compatible; SkypeUriPreview)",
	} {
		if ScannerName(agent) == "" {
			t.Errorf("%q passes as a reader", agent)
		}
	}
	for _, agent := range []string{
		browser,
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Thunderbird/128.1.0",
		"Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; WOW64; Trident/7.0; Microsoft Outlook 16.0.5; ms-office)",
		"Mozilla/5.0 (Linux; Android 14; CUBOT X70 Build/UP1A) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Mobile Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 Instagram 300.0 [FBAN/FBIOS]", "Mozilla/5.0",
	} {
		if name := ScannerName(agent); name != "" {
			t.Errorf("%q is taken for %s", agent, name)
		}
	}
}
