package sdktest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mmcdole/gofeed"
)

// issuePolicy is what the specification promises for the page of an issue.
const issuePolicy = "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; default-src 'none'; img-src https: data:; font-src https:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

// shownPage is an answer that a reader got.
type shownPage struct {
	status int
	header http.Header
	body   string
}

// reader asks for pages as anybody does.
type reader struct {
	client *http.Client
	host   string // the Host header; empty: that of the URL
}

func (r *reader) ask(t *testing.T, method, url string, header ...string) shownPage {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	must(t, err)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	if r.host != "" {
		req.Host = r.host
	}
	res, err := r.client.Do(req)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	if len(res.Header.Values("Set-Cookie")) > 0 {
		t.Errorf("%s %s sets the cookie %s", method, url, res.Header.Get("Set-Cookie"))
	}
	return shownPage{res.StatusCode, res.Header, string(body)}
}

func (r *reader) get(t *testing.T, url string, header ...string) shownPage {
	t.Helper()
	return r.ask(t, http.MethodGet, url, header...)
}

// newArchive makes a public topic with an archive, and returns its id.
func newArchive(t *testing.T, api client, kind string) string {
	t.Helper()
	var topic struct{ ID string }
	status, b := api.do(t, "POST", "/topics", map[string]any{"name": "Letters & <News>", "description": "Every \"week\"", "default_subscription": "opt_in", "visibility": "public"})
	if status != http.StatusCreated || json.Unmarshal(b, &topic) != nil {
		t.Fatalf("POST /topics: %d %s", status, b)
	}
	patchArchive(t, api, topic.ID, kind)
	return topic.ID
}

// patchArchive sets the archive of a topic; nil: none.
func patchArchive(t *testing.T, api client, topic string, kind any) {
	t.Helper()
	if status, b := api.do(t, "PATCH", "/topics/"+topic, map[string]any{"archive": kind}); status != http.StatusOK {
		t.Fatalf("PATCH /topics: %d %s", status, b)
	}
}

// personalContent has each placeholder and something active.
const personalContent = `<p>Dear {{{FIRST_NAME|reader}}} {{{LAST_NAME}}} {{{EMAIL}}} {{{contact.email|friend}}}</p><script>evil()</script><form action="https://evil.test"><input name=p></form>` +
	`<a href="https://shop.test/?who={{{EMAIL}}}">shop</a> <a href="{{{UNSUBSCRIBE_URL}}}">no more</a> <a href="{{{VIEW_URL}}}">in the browser</a>`

// sendToTopic sends a broadcast to everyone who has the topic.
func sendToTopic(t *testing.T, api client, topic, subject string) {
	t.Helper()
	status, b := api.do(t, "POST", "/broadcasts", map[string]any{"from": "News <a@example.test>", "subject": subject, "preview_text": "For {{{FIRST_NAME|you}}} & <all>",
		"html": personalContent, "topic_id": topic, "send": true})
	if status != http.StatusCreated {
		t.Fatalf("POST /broadcasts: %d %s", status, b)
	}
}

// waitIssues waits until the feed of an archive has n issues, and returns what another program reads in it.
func (r *reader) waitIssues(t *testing.T, feed string, n int) *gofeed.Feed {
	t.Helper()
	var read *gofeed.Feed
	eventually(t, time.Minute, "the issues appear", func() (bool, string) {
		got := r.get(t, feed)
		if got.status != http.StatusOK {
			return false, fmt.Sprint(got.status, got.body)
		}
		var err error
		if read, err = gofeed.NewParser().ParseString(got.body); err != nil {
			t.Fatalf("%v\n%s", err, got.body)
		}
		return len(read.Items) == n, fmt.Sprint(len(read.Items))
	})
	return read
}

// TestArchiveOfBroadcasts: what was sent to a topic appears for everybody, without anything of a recipient, with the
// promised headers, and in feeds that another program reads; it disappears with the archive, and while the team is
// suspended.
func TestArchiveOfBroadcasts(t *testing.T) {
	part(t, shortForm)
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	in := startBare(t, "--relay", "smtp://"+relay.addr+"?tls=off", "--rate-limit", "0")
	in.addDomain(t, "example.test")
	api, r := client{in.url, in.newKey(t)}, &reader{client: plainHTTP}
	for _, name := range []string{"Ann", "Bob"} {
		if status, b := api.do(t, "POST", "/contacts", map[string]any{"email": strings.ToLower(name) + "@example.org", "first_name": name, "last_name": "Personal"}); status != http.StatusCreated {
			t.Fatalf("POST /contacts: %d %s", status, b)
		}
	}
	topic := newArchive(t, api, "public")
	form := newForm(t, in.url, api, topic)
	sendToTopic(t, api, topic, "For {{{FIRST_NAME|everybody}}} & <all>")
	relay.wait(t, 2, time.Minute, func(*message) bool { return true })
	at := in.url + "/a/" + topic
	read := r.waitIssues(t, at+"/feed.xml", 1)
	item := read.Items[0]
	if read.FeedType != "rss" || read.FeedVersion != "2.0" || read.Title != "Letters & <News>" || item.Title != "For everybody & <all>" || item.Description != "For you & <all>" ||
		!strings.HasPrefix(item.Link, at+"/") || !strings.HasPrefix(item.GUID, "urn:uuid:") || item.PublishedParsed == nil || time.Since(*item.PublishedParsed).Abs() > time.Hour {
		t.Errorf("feed.xml: %+v %+v", read, item)
	}
	inJSON := r.waitIssues(t, at+"/feed.json", 1)
	if got := inJSON.Items[0]; inJSON.FeedType != "json" || got.Title != item.Title || got.Link != item.Link || got.GUID != item.GUID || !got.PublishedParsed.Truncate(time.Second).Equal(*item.PublishedParsed) {
		t.Errorf("feed.json: %+v %+v", inJSON, got)
	}
	issue := r.get(t, item.Link)
	r.checkIssue(t, item.Link, issue, in.url+"/f/"+form.id)
	r.checkCaching(t, at, item.Link, at+"/feed.xml", at+"/feed.json")
	if list := r.get(t, at); !strings.Contains(list.body, `href="`+item.Link+`"`) || !strings.Contains(list.body, `<link rel="canonical" href="`+at+`"`) || strings.Contains(list.body, "noindex") {
		t.Errorf("%s", list.body)
	}

	patchArchive(t, api, topic, "unlisted")
	for _, url := range []string{at, item.Link, at + "/feed.xml", at + "/feed.json"} {
		got := r.get(t, url)
		if page := strings.HasPrefix(got.header.Get("Content-Type"), "text/html"); got.status != http.StatusOK || !strings.Contains(got.header.Get("X-Robots-Tag"), "noindex") || page != strings.Contains(got.body, `<meta name="robots" content="noindex">`) {
			t.Errorf("%s is unlisted: %d %v\n%s", url, got.status, got.header, got.body)
		}
	}
	gone := func(why string) {
		t.Helper()
		for _, url := range []string{at, item.Link, at + "/feed.xml", at + "/feed.json"} {
			eventually(t, time.Minute, why+": "+url, func() (bool, string) {
				got := r.get(t, url)
				return got.status == http.StatusNotFound && !strings.Contains(got.body, "everybody"), fmt.Sprint(got.status)
			})
		}
	}
	in.run(t, "teams", "suspend", "Default", "--reason", "test")
	gone("the team is suspended")
	in.run(t, "teams", "resume", "Default")
	r.waitIssues(t, at+"/feed.xml", 1)
	patchArchive(t, api, topic, nil)
	gone("the topic has no archive")
}

// checkIssue checks the page of an issue.
func (r *reader) checkIssue(t *testing.T, url string, issue shownPage, form string) {
	t.Helper()
	if got := issue.header.Values("Content-Security-Policy"); issue.status != http.StatusOK || len(got) != 1 || got[0] != issuePolicy {
		t.Errorf("%d, policy %q", issue.status, got)
	}
	for _, want := range []string{`<link rel="canonical" href="` + url + `"`, `<meta property="og:title" content="For everybody &amp; &lt;all&gt;"`, `<meta property="og:url" content="` + url + `"`,
		"Dear reader   friend", `href="https://shop.test/?who="`, `href="` + form + `"`} {
		if !strings.Contains(issue.body, want) {
			t.Errorf("the issue has no %s:\n%s", want, issue.body)
		}
	}
	for _, left := range []string{"Ann", "Bob", "Personal", "example.org", "{{", "evil", "<form", "/unsubscribe/", "/view/", "sign-up.invalid", "noindex", "<img"} {
		if strings.Contains(issue.body, left) {
			t.Errorf("the issue has %s:\n%s", left, issue.body)
		}
	}
}

// checkCaching checks that caches may keep pages, and ask whether they changed.
func (r *reader) checkCaching(t *testing.T, urls ...string) {
	t.Helper()
	for _, url := range urls {
		got := r.get(t, url)
		tag := got.header.Get("ETag")
		if !strings.HasPrefix(got.header.Get("Cache-Control"), "public, max-age=") || len(tag) < 10 {
			t.Errorf("%s: %v", url, got.header)
		}
		if again := r.get(t, url, "If-None-Match", `"other", W/`+tag); again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != tag {
			t.Errorf("%s again: %d %v %q", url, again.status, again.header, again.body)
		}
		if other := r.get(t, url, "If-None-Match", `"other"`); other.status != http.StatusOK || other.body != got.body {
			t.Errorf("%s with another tag: %d", url, other.status)
		}
		if head := r.ask(t, http.MethodHead, url); head.status != http.StatusOK || head.header.Get("ETag") != tag || head.body != "" || head.header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
			t.Errorf("HEAD %s: %d %v", url, head.status, head.header)
		}
	}
}

// TestOwnPagesHostByACME: the own host of a team has a certificate of the authority, and serves nothing but pages.
func TestOwnPagesHostByACME(t *testing.T) {
	part(t, "tls")
	t.Parallel()
	p := newPebble(t)
	in := p.serve(t, "mail.acme.test", p.tls, "none")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	topic := newArchive(t, api, "public")
	form := newForm(t, in.url, api, topic)
	const host = "news.example.test"
	if _, err := p.certificate(p.tls, host); err == nil {
		t.Fatal("a host has a certificate that is nobody's")
	}
	if status, b := api.do(t, "PATCH", "/team", map[string]any{"pages_host": "news.other.test"}); status != http.StatusUnprocessableEntity {
		t.Errorf("a host of another domain: %d %s", status, b)
	}
	p.names.publish(t, dnsRecord{Name: host, Type: "CNAME", Value: "mail.acme.test"}, dnsRecord{Name: host, Type: "A", Value: "127.0.0.1"})
	if status, b := api.do(t, "PATCH", "/team", map[string]any{"pages_host": host}); status != http.StatusOK {
		t.Fatalf("PATCH /team: %d %s", status, b)
	}
	sendToTopic(t, api, topic, "First issue")
	p.awaitCertificate(t, p.tls, host, nil)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.roots}, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, p.tls)
	}
	r := &reader{client: &http.Client{Transport: transport, Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	base := fmt.Sprintf("https://%s:%d", host, portOf(t, p.tls))
	at := base + "/a/" + topic
	item := r.waitIssues(t, at+"/feed.xml", 1).Items[0]
	if r.waitIssues(t, at+"/feed.json", 1); !strings.HasPrefix(item.Link, at+"/") {
		t.Errorf("the issue is at %s", item.Link)
	}
	if home := r.get(t, base+"/"); home.status != http.StatusOK || !strings.Contains(home.body, item.Link) || !strings.Contains(home.body, `<link rel="canonical" href="`+base+`/"`) {
		t.Errorf("/ %d\n%s", home.status, home.body)
	}
	for url, want := range map[string]string{at: "First issue", item.Link: "First issue", base + "/f/" + form.id: "<form", base + "/f/" + form.id + ".js": ""} {
		if got := r.get(t, url); got.status != http.StatusOK || !strings.Contains(got.body, want) || got.header.Get("Strict-Transport-Security") != "" {
			t.Errorf("%s: %d %v", url, got.status, got.header)
		}
	}
	const mailer = "Authorization"
	for _, path := range []string{"/emails", "/topics/" + topic, "/team", "/forms/" + form.id, "/dashboard/", "/dashboard/sign-in", "/dashboard/session", "/session", "/sign-in", "/sessions", "/openapi.json", "/docs", "/manual", "/mcp", "/metrics", "/teams", "/operator", "/../emails", "//emails"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if got := r.ask(t, method, base+path, mailer, "Bearer "+api.key); got.status != http.StatusNotFound {
				t.Errorf("%s %s on a pages host: %d %s", method, path, got.status, got.body)
			}
		}
	}
	// The base URL serves API and dashboard, and the pages of a team alone on the server.
	main := &reader{client: r.client}
	if got := main.get(t, fmt.Sprintf("https://mail.acme.test:%d/topics", portOf(t, p.tls)), mailer, "Bearer "+api.key); got.status != http.StatusOK {
		t.Errorf("the API at the base URL: %d %s", got.status, got.body)
	}
	if status, b := api.do(t, "PATCH", "/team", map[string]any{"pages_host": nil}); status != http.StatusOK {
		t.Fatalf("PATCH /team: %d %s", status, b)
	}
	if got := r.get(t, base+"/"); strings.Contains(got.body, "First issue") {
		t.Errorf("the host is no longer the team's: %d %s", got.status, got.body)
	}
	if log := in.log(t); bytes.Contains(log, []byte("level=ERROR")) {
		t.Errorf("%s", log)
	}
}
