package sdktest

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	resendv3 "github.com/resend/resend-go/v3"
)

// domainThing is any object of the routes of domains.
type domainThing struct {
	Object            string        `json:"object"`
	ID                string        `json:"id"`
	Name              string        `json:"name"`
	Status            string        `json:"status"`
	Region            string        `json:"region"`
	CreatedAt         string        `json:"created_at"`
	OpenTracking      bool          `json:"open_tracking"`
	ClickTracking     bool          `json:"click_tracking"`
	TrackingSubdomain string        `json:"tracking_subdomain"`
	Capabilities      any           `json:"capabilities"`
	Records           []dnsRecord   `json:"records"`
	Deleted           bool          `json:"deleted"`
	HasMore           bool          `json:"has_more"`
	Data              []domainThing `json:"data"`
	LastEvent         string        `json:"last_event"`
}

// domainsResult is the output of domains.mjs.
type domainsResult struct {
	Domain, Plain, List, Rest, Updated, Changed, Verify, Pending, Verified, Sent, Email, Removed domainThing

	Errors map[string]apiError
}

// newDomainFixture is a service that asks the DNS server given about domains, with
// the sink as its relay.
func newDomainFixture(t *testing.T, ns *nameServer, args ...string) *fixture {
	t.Helper()
	w := &fixture{sink: newSink(t, sinkOptions{})}
	w.in = start(t, append([]string{"--relay", "smtp://" + w.sink.addr + "?tls=off", "--resolver", ns.addr}, args...)...)
	w.key = w.in.newKey(t)
	return w
}

// domain reads a domain and its records with a command; args are its arguments.
func (w *fixture) domain(t *testing.T, args ...string) (d domainThing) {
	t.Helper()
	must(t, json.Unmarshal([]byte(w.in.run(t, append(append([]string{"domains"}, args...), "--json")...)), &d))
	return d
}

// signedBy checks a message with the independent verifier against records as
// they are shown.
func signedBy(t *testing.T, m *message, records []dnsRecord, selector, domain string) {
	t.Helper()
	name := selector + "._domainkey." + domain
	i := slices.IndexFunc(records, func(r dnsRecord) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no record %s in %+v", name, records)
	}
	if sig, err := verifyDKIM(m.Raw, name, records[i].Value); err != nil || sig.Domain != domain {
		t.Errorf("by %s: %+v, %v\n%s", name, sig, err, m.Raw)
	}
}

func TestNodeClientDomains(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientDomains)
}

func nodeClientDomains(t *testing.T, mode compat) {
	needNode(t)
	needPythonDKIM(t)
	ns := newNameServer(t)
	w := newDomainFixture(t, ns, mode.flags()...)
	var got domainsResult
	runNode(t, w.in.url, w.key, "domains.mjs", map[string]string{"DNS": ns.url}).into(t, &got)
	const name = "shop.xn--bcher-kva.test"
	d := got.Domain
	if d.ID == "" || d.Name != name || d.Status != "not_started" || d.Region != "us-east-1" || !d.OpenTracking || !d.ClickTracking ||
		d.TrackingSubdomain != "links" || d.CreatedAt == "" || d.Capabilities == nil {
		t.Errorf("created %+v", d)
	}
	var rows []string
	for _, r := range d.Records {
		rows = append(rows, r.Record+" "+r.Type+" "+r.Name)
	}
	if want := []string{"DKIM TXT mailer._domainkey." + name, "SPF TXT bounce." + name, "DMARC TXT _dmarc." + name, "Tracking CNAME links." + name}; !slices.Equal(rows, want) {
		t.Errorf("records %q", rows)
	}
	if got.List.Object != "list" || !got.List.HasMore || got.List.Data[0].ID != got.Plain.ID || got.List.Data[0].Records != nil || got.Rest.HasMore || got.Rest.Data[0].ID != d.ID {
		t.Errorf("lists %+v, %+v", got.List, got.Rest)
	}
	if got.Updated.ID != d.ID || got.Changed.OpenTracking || !got.Changed.ClickTracking || got.Verify.Object != "domain" || got.Verify.ID != d.ID {
		t.Errorf("updated %+v, changed %+v, verify %+v", got.Updated, got.Changed, got.Verify)
	}
	if got.Pending.Status != "pending" || got.Pending.Records[0].Status != "pending" || !strings.Contains(got.Pending.Records[0].Detail, "does not exist in the DNS") {
		t.Errorf("pending %+v", got.Pending)
	}
	for _, r := range got.Verified.Records {
		if r.Status != "verified" || r.Live != "found" {
			t.Errorf("record %+v", r)
		}
	}
	if got.Removed.Object != "domain" || got.Removed.ID != d.ID || !got.Removed.Deleted {
		t.Errorf("removed %+v", got.Removed)
	}
	for name, want := range map[string]apiError{
		"same": {409, "conflict", "plain.test is registered already"}, "region": {422, "validation_error", "`region` must be one of us-east-1"},
		"suffix": {422, "validation_error", "public suffix"}, "tls": {422, "validation_error", "`tls`"}, "tlsUpdate": {422, "validation_error", "`tls`"},
		"receiving": {422, "validation_error", "`capabilities.receiving`"}, "unverified": {422, "validation_error", "mailer domains verify"},
		"gone": {404, "not_found", ""}, "goneAgain": {404, "not_found", ""}, "nobody": {422, "validation_error", "mailer domains add"},
	} {
		if e := got.Errors[name]; e.StatusCode != want.StatusCode || e.Name != want.Name || !strings.Contains(e.Message, want.Message) {
			t.Errorf("%s: got %+v, want %+v", name, e, want)
		}
	}
	signedBy(t, &w.sink.messages()[0], got.Verified.Records, "mailer", name)
}

func TestGoV3ClientDomains(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientDomains)
}

func goV3ClientDomains(t *testing.T, mode compat) {
	ns := newNameServer(t)
	w := newDomainFixture(t, ns, mode.flags()...)
	c, seen := v3Client(t, w.in.url, w.key)
	yes := true
	made, err := c.Domains.Create(&resendv3.CreateDomainRequest{
		Name: "acme.test", Region: "us-east-1", CustomReturnPath: "bounce", TrackingSubdomain: "links", OpenTracking: &yes,
		Capabilities: &resendv3.DomainCapabilities{Sending: "enabled"},
	})
	must(t, err)
	if made.Id == "" || made.Name != "acme.test" || made.Status != resendv3.DomainStatusNotStarted || len(made.Records) != 4 || !made.OpenTracking || made.TrackingSubdomain != "links" {
		t.Errorf("created %+v", made)
	}
	if _, err := c.Domains.Create(&resendv3.CreateDomainRequest{Name: "acme.test"}); err == nil || seen.last.StatusCode != 409 {
		t.Errorf("the same domain twice: %v, %+v", err, seen.last)
	}
	update := &resendv3.UpdateDomainRequest{ClickTracking: true}
	update.SetOpenTracking(false)
	if changed, err := c.Domains.Update(made.Id, update); err != nil || changed.Id != made.Id {
		t.Errorf("update: %+v, %v", changed, err)
	}
	if _, err := c.Domains.Update(made.Id, &resendv3.UpdateDomainRequest{Tls: resendv3.Enforced}); err == nil || seen.last.StatusCode != 422 || !strings.Contains(seen.last.Message, "`tls`") {
		t.Errorf("tls on update: %v, %+v", err, seen.last)
	}
	for _, r := range made.Records {
		ns.publish(t, dnsRecord{Name: r.Name, Type: r.Type, Value: r.Value})
	}
	if started, err := c.Domains.Verify(made.Id); err != nil || !started {
		t.Errorf("verify: %v, %v", started, err)
	}
	eventually(t, time.Minute, "the domain is verified", func() (bool, string) {
		got, err := c.Domains.Get(made.Id)
		must(t, err)
		return got.Status == resendv3.DomainStatusVerified && got.ClickTracking && !got.OpenTracking && len(got.Records) == 4, got.Status
	})
	list, err := c.Domains.List()
	must(t, err)
	if len(list.Data) != 1 || list.Data[0].Id != made.Id || list.Data[0].CreatedAt == "" {
		t.Errorf("list %+v", list)
	}
	if removed, err := c.Domains.Remove(made.Id); err != nil || !removed {
		t.Errorf("remove: %v, %v", removed, err)
	}
	if _, err := c.Domains.Get(made.Id); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("after the end: %v, %+v", err, seen.last)
	}
}

func TestResendCommandLineDomains(t *testing.T) {
	part(t, "clients")
	inBothModes(t, resendCommandLineDomains)
}

func resendCommandLineDomains(t *testing.T, mode compat) {
	needNode(t)
	ns := newNameServer(t)
	w := newDomainFixture(t, ns, mode.flags()...)
	call := func(args ...string) (got domainThing) {
		t.Helper()
		out, err := runCLI(t, w, w.key, append([]string{"domains"}, args...)...)
		must(t, err)
		out.into(t, &got)
		return got
	}
	made := call("create", "--name", "acme.test", "--custom-return-path", "bounce", "--sending")
	if made.Name != "acme.test" || len(made.Records) != 3 {
		t.Errorf("create: %+v", made)
	}
	if _, err := runCLI(t, w, w.key, "domains", "update", made.ID, "--tls", "enforced"); err == nil {
		t.Error("tls can be set")
	}
	if _, err := runCLI(t, w, w.key, "domains", "create", "--name", "acme.test"); err == nil {
		t.Error("the same domain twice")
	}
	call("update", made.ID, "--click-tracking", "--tracking-subdomain", "links")
	got := call("get", made.ID)
	if !got.ClickTracking || got.TrackingSubdomain != "links" || len(got.Records) != 4 {
		t.Errorf("get: %+v", got)
	}
	ns.publish(t, got.Records...)
	if v := call("verify", made.ID); v.ID != made.ID {
		t.Errorf("verify: %+v", v)
	}
	eventually(t, time.Minute, "the domain is verified", func() (bool, string) {
		got := call("get", made.ID)
		return got.Status == "verified", got.Status
	})
	if list := call("list"); len(list.Data) != 1 || list.Data[0].ID != made.ID {
		t.Errorf("list: %+v", list)
	}
	if got := call("delete", made.ID, "--yes"); !got.Deleted {
		t.Errorf("delete: %+v", got)
	}
}

// TestMailPassesDKIMBeforeAndAfterARotation: two domains sign with keys of their
// own; mail that was signed before a rotation and is sent again after it, mail
// that waited for it, and new mail pass all three.
func TestMailPassesDKIMBeforeAndAfterARotation(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	needPythonDKIM(t)
	ns := newNameServer(t)
	w := newDomainFixture(t, ns, "--doubt-delay", "4s")
	api := client{w.in.url, w.key}
	records := map[string][]dnsRecord{}
	for _, name := range []string{"a.test", "b.test"} {
		records[name] = w.domain(t, "add", name).Records
		ns.publish(t, records[name]...)
		if got := w.domain(t, "verify", name, "--resolver", ns.addr); got.Status != "verified" {
			t.Fatalf("%+v", got)
		}
	}
	send := func(domain, subject, at string) string {
		body := map[string]any{"from": "x@" + domain, "to": "y@example.com", "subject": subject, "text": "hello"}
		if at != "" {
			body["scheduled_at"] = at
		}
		return api.send(t, body)
	}
	arrived := func(subject string, n int) []message {
		return w.sink.wait(t, n, recovery, subjectIs(subject))
	}
	send("a.test", "own key a", "")
	send("b.test", "own key b", "")
	signedBy(t, &arrived("own key a", 1)[0], records["a.test"], "mailer", "a.test")
	signedBy(t, &arrived("own key b", 1)[0], records["b.test"], "mailer", "b.test")

	w.sink.set(behaviour{afterDot: func(c *smtp.Conn) error { return c.Conn().Close() }})
	doubtful := send("a.test", "in doubt", "")
	api.waitEvent(t, doubtful, time.Minute, "in_doubt")
	waiting := send("a.test", "waiting", time.Now().Add(6*time.Second).UTC().Format(time.RFC3339))
	w.sink.set(behaviour{})
	rotated := w.domain(t, "rotate-dkim", "a.test")
	ns.publish(t, rotated.Records[1])
	if got := w.domain(t, "verify", "a.test", "--resolver", ns.addr); got.Records[0].Name != "mailer2._domainkey.a.test" || got.Records[1].Name != "mailer._domainkey.a.test" {
		t.Fatalf("after the rotation: %+v", got.Records)
	}
	api.waitLast(t, doubtful, recovery, "sent")
	api.waitLast(t, waiting, recovery, "sent")
	for _, m := range arrived("in doubt", 2) {
		signedBy(t, &m, rotated.Records, "mailer", "a.test")
	}
	// The server sees the other process's rotation within ten seconds; until then it signs with the
	// old key, whose record stays.
	var last message
	eventually(t, time.Minute, "new mail is signed with the new key", func() (bool, string) {
		id := send("a.test", "new", "")
		api.waitLast(t, id, recovery, "sent")
		last = w.sink.matching(func(m *message) bool { return m.header("X-Mailer-Email-ID") == id })[0]
		return strings.Contains(string(last.Raw), "s=mailer2;"), last.header("DKIM-Signature")
	})
	signedBy(t, &last, rotated.Records, "mailer2", "a.test")
	m := arrived("waiting", 1)[0]
	selector := "mailer"
	if strings.Contains(string(m.Raw), "s=mailer2;") {
		selector = "mailer2"
	}
	signedBy(t, &m, rotated.Records, selector, "a.test")
}

var hrefs = regexp.MustCompile(`href="([^"]+)"|src="([^"]+/t/o/[^"]+)"`)

// TestTrackedMail: links lead through the domain's tracking host once it is in
// the DNS, and from there to where they led before, byte for byte.
func TestTrackedMail(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	ns := newNameServer(t)
	w := newDomainFixture(t, ns)
	api := client{w.in.url, w.key}
	var d domainThing
	status, b := api.do(t, "POST", "/domains", map[string]any{"name": "acme.test", "open_tracking": true, "click_tracking": true, "tracking_subdomain": "links"})
	if err := json.Unmarshal(b, &d); status != 201 || err != nil {
		t.Fatalf("%d %s", status, b)
	}
	ns.publish(t, d.Records...)
	w.domain(t, "verify", "acme.test", "--resolver", ns.addr)
	targets := []string{
		"https://shop.example/a?x=1&y=%20%C3%BC+z#top", "HTTP://Shop.Example:8080//double//slash/?q=a%2fb&amp=1", "https://shop.example/%7euser/;p=1?{curly}|pipe",
	}
	text := `<html><body>`
	for _, target := range targets {
		text += `<a href="` + html.EscapeString(target) + `">x</a>`
	}
	id := api.send(t, map[string]any{"from": "x@acme.test", "to": "y@example.com", "subject": "tracked", "html": text + `<a href="mailto:a@b.test">m</a></body></html>`})
	m := w.sink.wait(t, 1, time.Minute, subjectIs("tracked"))[0]
	port := w.in.url[strings.LastIndexByte(w.in.url, ':'):]
	var found []string
	for _, match := range hrefs.FindAllStringSubmatch(content(m.leaves(t), "text/html"), -1) {
		if link := html.UnescapeString(match[1] + match[2]); link != "mailto:a@b.test" {
			found = append(found, link)
		}
	}
	if len(found) != len(targets)+1 {
		t.Fatalf("links %q", found)
	}
	visit := func(method, link, agent string) *http.Response {
		t.Helper()
		path, ours := strings.CutPrefix(link, "http://links.acme.test"+port)
		if !ours {
			t.Fatalf("%s leads elsewhere", link)
		}
		r, err := http.NewRequest(method, w.in.url+path, nil)
		must(t, err)
		r.Host = "links.acme.test" + port
		r.Header.Set("User-Agent", agent)
		res, err := http.DefaultTransport.RoundTrip(r)
		must(t, err)
		res.Body.Close()
		return res
	}
	const reader = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36"
	for i, target := range targets {
		if res := visit("HEAD", found[i], reader); res.StatusCode != 302 || res.Header.Get("Location") != target {
			t.Errorf("%d %q, want %q", res.StatusCode, res.Header.Get("Location"), target)
		}
	}
	pixel := found[len(targets)]
	if res := visit("GET", pixel, "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"); res.StatusCode != 200 || res.Header.Get("Content-Type") != "image/gif" {
		t.Errorf("pixel: %d %v", res.StatusCode, res.Header)
	}
	if res := visit("HEAD", pixel, "Mozilla/5.0 (via ggpht.com GoogleImageProxy)"); res.StatusCode != 200 {
		t.Errorf("HEAD of the pixel: %d", res.StatusCode)
	}
	if res := visit("GET", found[0]+"x", reader); res.StatusCode != 404 {
		t.Errorf("a forged link: %d %q", res.StatusCode, res.Header.Get("Location"))
	}
	api.waitEvent(t, id, time.Minute, "prefetched")
	if got := api.email(t, id).LastEvent; got != "sent" {
		t.Errorf("last_event %s after a mail proxy and HEAD", got)
	}
	// Clicks within ten seconds of the delivery are not counted as a person's.
	eventually(t, 60*time.Second, "the reader's click counts", func() (bool, string) {
		if res := visit("GET", found[1], reader); res.Header.Get("Location") != targets[1] {
			t.Fatalf("it leads to %q", res.Header.Get("Location"))
		}
		got := api.email(t, id).LastEvent
		return got == "clicked", got
	})
	path := strings.TrimPrefix(found[0], "http://links.acme.test"+port)
	r, err := http.NewRequest("GET", w.in.url+path, nil)
	must(t, err)
	r.Host = "links.team-b.test"
	res, err := http.DefaultTransport.RoundTrip(r)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != 404 {
		t.Errorf("on another host it leads to %d %q", res.StatusCode, res.Header.Get("Location"))
	}
	if status, b := api.do(t, "DELETE", "/emails/"+id, nil); status != 200 {
		t.Fatalf("%d %s", status, b)
	}
	eventually(t, time.Minute, "no redirect without its email", func() (bool, string) {
		res := visit("GET", found[0], reader)
		return res.StatusCode == 200 && res.Header.Get("Location") == "", res.Status
	})
}
