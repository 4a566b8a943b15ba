package sdktest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// picturesEnv names the directory that gets pictures of every screen:
//
//	SDKTEST_PICTURES=/tmp/pictures go test -run TestEveryScreen .
const picturesEnv = "SDKTEST_PICTURES"

// dashboardFixture is a server with data on every screen, and its users.
type dashboardFixture struct {
	*instance
	relay    *sink
	key      client
	operator *browser
	team     string
	pages    []string // a path for each of the dashboard's patterns
	ns       *nameServer
	peer     *peer
}

// newDashboardFixture starts a server whose relay answers by the recipient's address.
func newDashboardFixture(t *testing.T) *dashboardFixture {
	t.Helper()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{rcpt: func(to string) error {
		switch {
		case strings.HasPrefix(to, "nobody"):
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "User unknown in virtual mailbox table"}
		case strings.HasPrefix(to, "later"):
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "Greylisted, come back later"}
		}
		return nil
	}})
	ns, at := newNameServer(t), freeAddr(t)
	in := startBare(t, append(killArgs(relay), "--backup-dir", t.TempDir(), "--webhook-allow", "127.0.0.0/8", "--resolver", ns.addr, "--smtp-receive", at, "--bounce-host", "mx.example.test")...)
	in.addDomain(t, "example.test")
	w := &dashboardFixture{instance: in, relay: relay, key: client{in.url, in.newKey(t)}, operator: in.setUp(t), ns: ns, peer: newPeer(t, ns, at)}
	me := w.operator.want(t, http.StatusOK, "GET", "/users/me", nil)
	w.team = me["teams"].([]any)[0].(map[string]any)["id"].(string)
	w.operator.team = w.team
	w.fill(t)
	return w
}

// made is the id that an answer to a POST has.
func (w *dashboardFixture) made(t *testing.T, path string, body map[string]any) string {
	t.Helper()
	status, answer := w.key.do(t, "POST", path, body)
	var made struct{ ID string }
	if status >= 300 || json.Unmarshal(answer, &made) != nil {
		t.Fatalf("POST %s: %d %s", path, status, answer)
	}
	return made.ID
}

// fill makes something of each resource.
func (w *dashboardFixture) fill(t *testing.T) {
	t.Helper()
	mail := func(to, subject string) map[string]any {
		return map[string]any{"from": "Harbour & Pine <invoices@example.test>", "to": []string{to}, "subject": subject, "text": "thank you",
			"html": `<p>thank you for <a href="https://example.test/order">your order</a></p><img src="https://example.test/p.png" alt="a picture">`,
			"tags": []map[string]string{{"name": "kind", "value": "invoice"}}}
	}
	hook := w.made(t, "/webhooks", map[string]any{"endpoint": "http://127.0.0.1:1/hook", "events": []string{"email.sent", "email.bounced"}})
	sent := w.made(t, "/emails", mail("zofia@example.org", "Faktura 2026-11-0481"))
	bounced := w.made(t, "/emails", mail("nobody@example.net", "Faktura 2026-11-0482"))
	put := w.made(t, "/emails", mail("later@example.com", "Faktura 2026-11-0483"))
	scheduled := mail("hanako@example.org", "Reminder")
	scheduled["scheduled_at"] = time.Now().Add(3 * time.Hour).UTC().Format(time.RFC3339)
	w.made(t, "/emails", scheduled)
	segment := w.made(t, "/segments", map[string]any{"name": "Newsletter readers"})
	topic := w.made(t, "/topics", map[string]any{"name": "Workshops", "default_subscription": "opt_in", "visibility": "public"})
	w.made(t, "/contact-properties", map[string]any{"key": "city", "type": "string", "fallback_value": "Bergen"})
	contact := ""
	for i := range 12 {
		contact = w.made(t, "/contacts", map[string]any{"email": fmt.Sprintf("reader%d@example.org", i), "first_name": "Zofia", "properties": map[string]any{"city": "Bergen"}, "segments": []map[string]string{{"id": segment}}})
	}
	letter := map[string]any{"from": "Ingrid <news@example.test>", "segment_id": segment, "name": "Winter workshop dates", "subject": "Three evenings",
		"html": `<h1>Hello {{{contact.first_name|there}}}</h1><p><a href="https://example.test/dates">The dates</a></p><a href="{{{RESEND_UNSUBSCRIBE_URL}}}">Unsubscribe</a>`}
	draft := w.made(t, "/broadcasts", letter)
	letter["name"], letter["send"] = "November letter", true
	gone := w.made(t, "/broadcasts", letter)
	w.operator.want(t, http.StatusCreated, "POST", "/invitations", map[string]any{"email": "a.colleague@example.test", "role": "admin"})
	template := w.made(t, "/templates", map[string]any{"name": "Welcome", "subject": "Welcome", "html": "<h1>Welcome {{{NAME}}}</h1>",
		"variables": []map[string]any{{"key": "NAME", "type": "string", "fallback_value": "friend"}}})
	block := w.made(t, "/blocks", map[string]any{"name": "Footer", "html": "<p>Harbour & Pine, Bergen</p>"})
	form := w.made(t, "/forms", map[string]any{"name": "Home page", "from": "Ingrid <news@example.test>", "topics": []map[string]any{{"id": topic, "preselected": true}}, "fields": []map[string]any{{"property": "city", "label": "City"}}})
	optIn := w.made(t, "/contacts/opt-in", map[string]any{"email": "asked@example.org", "topics": []string{topic}, "form": form})
	w.made(t, "/images", map[string]any{"content": smallPicture(t), "alt": "A lamp"})
	domain := w.made(t, "/domains", map[string]any{"name": "pending.example.net"})
	automation := w.made(t, "/automations", map[string]any{"name": "Welcome series", "steps": []map[string]any{
		{"key": "start", "type": "trigger", "config": map[string]any{"event_name": "mailer:contact.created"}}, {"key": "pause", "type": "delay", "config": map[string]any{"duration": "3 days"}},
		{"key": "choice", "type": "condition", "config": map[string]any{"type": "rule", "field": "contact.city", "operator": "eq", "value": "Bergen"}},
		{"key": "local", "type": "add_to_segment", "config": map[string]any{"segment_id": segment}}, {"key": "topic", "type": "set_topic", "config": map[string]any{"topic_id": topic, "subscription": "opt_in"}}},
		"connections": []map[string]any{{"from": "start", "to": "pause"}, {"from": "pause", "to": "choice"}, {"from": "choice", "to": "local", "type": "condition_met"}, {"from": "choice", "to": "topic", "type": "condition_not_met"}}})
	upload := w.key.importFile(t, "email,first_name\nimported@example.org,Noor\nnot an address,X\n")
	w.key.waitLast(t, sent, time.Minute, "sent")
	w.key.waitLast(t, bounced, time.Minute, "bounced")
	w.key.waitEvent(t, put, time.Minute, "deferred")
	var requests []string
	eventually(t, time.Minute, "requests are logged", func() (bool, string) {
		requests = w.operator.ids(t, "/logs")
		return len(requests) > 0, ""
	})
	w.peer.receiveFor(t, w.key, "example.test")
	var received struct{ Data []struct{ ID string } }
	w.key.get(t, "/emails/receiving", &received)
	w.pages = dashboardPages(t, map[string][]string{"received": {received.Data[0].ID}, "emails": {sent, bounced, put}, "broadcasts": {draft}, "report": {gone}, "automations": {automation}, "contacts": {contact}, "forms": {form}, "opt-ins": {optIn}, "topics": {topic}, "segments": {segment},
		"imports": {upload}, "templates": {template}, "blocks": {block}, "domains": {domain}, "webhooks": {hook}, "requests": requests[:1]})
}

// smallPicture returns a PNG file.
func smallPicture(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	must(t, png.Encode(&file, image.NewGray(image.Rect(0, 0, 320, 160))))
	return file.Bytes()
}

var pagePattern = regexp.MustCompile(`(?m)^\t\['(/[^']*)', \(\) => import\(`)

// dashboardPages returns a path for each pattern in routes.js. It fails for a pattern without a
// known id.
func dashboardPages(t *testing.T, ids map[string][]string) (out []string) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "dashboard", "routes.js"))
	must(t, err)
	for _, m := range pagePattern.FindAllStringSubmatch(string(source), -1) {
		pattern := m[1]
		switch {
		case pattern == "/sign-in" || pattern == "/setup" || pattern == "/link" || pattern == "/invitation":
			continue
		case !strings.Contains(pattern, ":"):
			out = append(out, pattern)
			continue
		}
		section := strings.Split(pattern, "/")[1]
		if section == "broadcasts" && strings.HasSuffix(pattern, "/report") {
			section = "report"
		}
		if len(ids[section]) == 0 {
			t.Errorf("no id for the page %s", pattern)
		}
		for _, id := range ids[section] {
			out = append(out, strings.Replace(pattern, ":id", id, 1))
		}
	}
	return out
}

// joined returns the browser of an invited person with a role.
func (w *dashboardFixture) joined(t *testing.T, role string) *browser {
	t.Helper()
	made := w.operator.want(t, http.StatusCreated, "POST", "/invitations", map[string]any{"email": role + "@example.test", "role": role})
	b := newBrowser(t, w.url)
	b.team = w.team
	b.want(t, http.StatusOK, "POST", "/auth/invitation", map[string]any{"code": afterHash(made["url"]), "password": "a long enough pass phrase", "name": "Somebody"})
	return b
}

// TestEveryScreen visits every page of the dashboard as an operator, an owner, an admin and a
// member, wide and narrow, light and dark, and reports usability defects.
func TestEveryScreen(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	w := newDashboardFixture(t)
	people := map[string]*browser{"operator": w.operator, "owner": w.joined(t, "owner"), "admin": w.joined(t, "admin"), "member": w.joined(t, "member")}
	pictures := os.Getenv(picturesEnv)
	for who, b := range people {
		t.Run(who, func(t *testing.T) {
			s := newScreen(t, w.url, b.session(t))
			s.load("/emails")
			for _, width := range []int64{1280, 390} {
				for _, scheme := range []string{"light", "dark"} {
					if who != "operator" && (width == 390) == (scheme == "light") {
						continue // the same pages: two looks are enough
					}
					s.look(width, scheme)
					for _, path := range w.pages {
						if strings.HasPrefix(path, "/operator/") && who != "operator" {
							continue
						}
						s.visit(path)
						where := fmt.Sprintf("%s at %d px, %s, as %s", path, width, scheme, who)
						s.fine(where)
						if n := s.sideways(); n > 0 {
							t.Errorf("%s: scrolls sideways by %d px", where, n)
						}
						for _, v := range s.axe() {
							t.Errorf("%s: axe: %s", where, v)
						}
						if pictures != "" && who == "operator" {
							name := strings.Trim(anyID.ReplaceAllString(strings.ReplaceAll(path, "/", "-"), "one"), "-")
							s.shoot(filepath.Join(pictures, fmt.Sprintf("%s.%d.%s.png", orOverview(name), width, scheme)))
						}
					}
				}
			}
		})
	}
}

func orOverview(name string) string {
	if name == "" {
		return "overview"
	}
	return name
}

var (
	moduleLink = regexp.MustCompile(`(?:modulepreload" href|script[^>]* src|stylesheet" href)="([^"]+)"`)
	fileBase   = regexp.MustCompile(`"(/dashboard/_/[0-9a-f]+)/app\.js"`)
)

// ofEditors are the modules that belong to an editor.
var ofEditors = []string{"lib/editor.js", "ui/editor-setup.js"}

var importedFile = regexp.MustCompile(`(?:from\s*|import\s*\(?)"\.{1,2}/([^"]+)"`)

// TestDashboardSize: the transferred size of all pages together, without the editors, and of what comes before the
// first paint.
func TestDashboardSize(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	in := startBare(t)
	shell := fetchGzip(t, in.url+"/dashboard/emails")
	base := fileBase.FindStringSubmatch(shell.text)
	wires := map[string]int{}
	total := 0
	var load func(name string)
	load = func(name string) {
		if _, known := wires[name]; known || slices.Contains(ofEditors, name) {
			return
		}
		file := fetchGzip(t, in.url+base[1]+"/"+name)
		if !strings.Contains(file.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: Cache-Control %q", name, file.header.Get("Cache-Control"))
		}
		wires[name] = file.wire
		total += file.wire
		for _, m := range importedFile.FindAllStringSubmatch(file.text, -1) {
			load(m[1])
		}
	}
	first := 0
	links := moduleLink.FindAllStringSubmatch(shell.text, -1)
	for _, m := range links {
		name := strings.TrimPrefix(m[1], base[1]+"/")
		load(name)
		first += wires[name]
	}
	t.Logf("%d files, %d bytes over the wire; %d of them, %d bytes, before the first paint", len(wires), total, len(links), first)
	if len(links) > 5 || len(wires) < 30 {
		t.Errorf("%d files come before the first paint, of %d: %s", len(links), len(wires), shell.text)
	}
	if total > 280_000 {
		t.Errorf("all pages have %d bytes, 280,000 are the limit", total)
	}
	if first > 110_000 {
		t.Errorf("%d bytes come over the wire before the first paint", first)
	}
	policy := shell.header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy lacks %s: %s", part, policy)
		}
	}
}

type fetched struct {
	text   string
	wire   int // bytes
	header http.Header
}

func fetchGzip(t *testing.T, address string) fetched {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	must(t, err)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	must(t, err)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, res.Status)
	}
	out := fetched{text: string(raw), wire: len(raw), header: res.Header}
	if res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		must(t, err)
		text, err := io.ReadAll(z)
		must(t, err)
		out.text = string(text)
	}
	return out
}
