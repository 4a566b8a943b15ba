package sdktest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestSMTPFollowsAPIRules: suppressions, topics, idempotency, schedules, tags and
// control headers, each with the reply that the table of the manual has.
func TestSMTPFollowsAPIRules(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off")
	const from = "ann@example.test"
	c := h.signedIn(t, h.api.key)
	must(t, h.post("/suppressions", map[string]any{"email": "gone@example.org"}))
	c.want(t, "550 5.7.1 All recipients are suppressed", note(from, "suppressed"), "gone@example.org")
	a := c.want(t, "250 2.0.0 Ok: queued as", note(from, "half"), "gone@example.org", "here@example.org")
	if m := h.relay.wait(t, 1, time.Minute, subjectIs("half"))[0]; len(m.To) != 1 || m.To[0] != "here@example.org" {
		t.Errorf("it went to %s", m.To)
	}
	_ = h.api.waitEvent(t, a.id(), time.Minute, "suppressed")
	c.want(t, "550 5.7.1", note("x@other.test", "foreign"), "a@example.org")
	c.want(t, "550 5.6.0", note(from, "twice", "X-Mailer-Topic: 1", "X-Mailer-Topic: 2"), "a@example.org")
	c.want(t, "550 5.6.0", note(from, "topic", "X-Mailer-Topic: nonsense"), "a@example.org")
	c.want(t, "550 5.6.0", note(from, "late", "X-Mailer-Scheduled-At: some day"), "a@example.org")
	c.want(t, "550 5.6.0", note(from, "tag", "X-Mailer-Tag: no value"), "a@example.org")
	c.want(t, "554 5.6.0", note(from, "long")+strings.Repeat("x", 999)+"\r\n", "a@example.org")
	h.checkIdempotency(t, c, from)
	h.checkControls(t, c, from)
	h.checkTopic(t, c, from)
	if got := len(h.relay.matching(func(m *message) bool { return m.header("Subject") == "late" || m.header("Subject") == "foreign" })); got != 0 {
		t.Errorf("%d refused messages arrived", got)
	}
}

func (h *submissionFixture) post(path string, body any) error {
	status, b, err := h.api.try("POST", path, body)
	if err != nil || status > 299 {
		return fmt.Errorf("POST %s: %d %s, %w", path, status, b, err)
	}
	return nil
}

func (h *submissionFixture) checkIdempotency(t *testing.T, c *smtpConn, from string) {
	t.Helper()
	const key = "Resend-Idempotency-Key: once"
	first := c.want(t, "250 2.0.0", note(from, "once", key, "Message-ID: <1@tool.example>"), "a@example.org")
	again := c.want(t, "250 2.0.0", note(from, "once", key, "Message-ID: <2@tool.example>"), "a@example.org")
	if first.id() == "" || first.id() != again.id() {
		t.Errorf("the ids are %q and %q", first, again)
	}
	c.want(t, "550 5.5.0", note(from, "other", key), "a@example.org")
	c.want(t, "550 5.5.0", note(from, "once", key), "other@example.org")
	after(t, 200*time.Millisecond)
	if n := h.relay.wait(t, 1, time.Minute, subjectIs("once")); len(n) != 1 {
		t.Errorf("it arrived %d times", len(n))
	}
}

func (h *submissionFixture) checkControls(t *testing.T, c *smtpConn, from string) {
	t.Helper()
	a := c.want(t, "250 2.0.0", note(from, "controls", "X-Mailer-Tag: kind=letter", "X-PM-Tag: welcome", "X-Mailer-Expires-In: 1h", "X-Mailer-Foo: bar", "x-mailer-email-id: forged",
		"X-SES-CONFIGURATION-SET: mine", "X-Mailgun-Variables: {}", "Bcc: secret@example.org", "Return-Path: <r@example.org>", "X-Mailer: tool 1", "List-Id: <l.example.test>"), "a@example.org", "secret@example.org")
	m := h.relay.wait(t, 1, time.Minute, subjectIs("controls"))[0]
	header := m.parsed().Header
	for _, gone := range []string{"X-Mailer-Tag", "X-Pm-Tag", "X-Mailer-Expires-In", "X-Mailer-Foo", "X-Ses-Configuration-Set", "X-Mailgun-Variables", "Bcc", "Return-Path"} {
		if len(header[gone]) > 0 {
			t.Errorf("%s left: %q", gone, header[gone])
		}
	}
	if id := header["X-Mailer-Email-Id"]; len(id) != 1 || id[0] != a.id() || header.Get("X-Mailer") != "tool 1" || header.Get("List-Id") == "" {
		t.Errorf("headers %v", header)
	}
	shown := h.api.email(t, a.id())
	if len(shown.Tags) != 2 || shown.Tags[0].Name != "kind" || shown.Tags[1].Value != "welcome" || len(shown.Bcc) != 2 {
		t.Errorf("the API shows %+v", shown)
	}
	if text := describe(h.api.events(t, a.id())); !strings.Contains(text, "X-SES-CONFIGURATION-SET") {
		t.Errorf("the timeline does not tell what was taken out: %s", text)
	}
	at := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	a = c.want(t, "250 2.0.0", note(from, "later", "X-Mailer-Scheduled-At: "+at), "a@example.org")
	if shown := h.api.email(t, a.id()); shown.LastEvent != "scheduled" || shown.ScheduledAt == "" {
		t.Errorf("scheduled: %+v", shown)
	}
	if status, b := h.api.do(t, "POST", "/emails/"+a.id()+"/cancel", nil); status != http.StatusOK {
		t.Errorf("cancel: %d %s", status, b)
	}
}

func (h *submissionFixture) checkTopic(t *testing.T, c *smtpConn, from string) {
	t.Helper()
	status, b := h.api.do(t, "POST", "/topics", map[string]any{"name": "News", "default_subscription": "opt_in", "visibility": "public"})
	_, rest, _ := strings.Cut(string(b), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if status > 299 || id == "" {
		t.Fatalf("POST /topics: %d %s", status, b)
	}
	c.want(t, "250 2.0.0", note(from, "topical", "X-Mailer-Topic: "+id), "reader@example.org")
	m := h.relay.wait(t, 1, time.Minute, subjectIs("topical"))[0]
	link := strings.Trim(m.header("List-Unsubscribe"), "<>")
	if m.header("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" || link == "" || m.header("X-Mailer-Topic") != "" {
		t.Fatalf("headers %v", m.parsed().Header)
	}
	h.verifies(t, &m)
	res, err := plainHTTP.Post(link, "application/x-www-form-urlencoded", strings.NewReader("List-Unsubscribe=One-Click"))
	must(t, err)
	res.Body.Close()
	// Who has opted out of the topic gets none of its mail, but other mail.
	c.want(t, "550 5.7.1", note(from, "topical 2", "X-Mailer-Topic: "+id), "reader@example.org")
	c.want(t, "250 2.0.0", note(from, "no topic"), "reader@example.org")
}

// TestSMTPRefusedKeys: a key's domain, a suspended team, and rates.
func TestSMTPRefusedKeys(t *testing.T) {
	part(t, "submission")
	t.Parallel()
	h := newSubmissionFixture(t, "off", "--rate-limit", "3")
	h.addDomain(t, "second.test")
	bound := h.signedIn(t, h.newKey(t, "--permission", "sending_access", "--domain", "second.test"))
	bound.want(t, "550 5.7.1", note("ann@example.test", "other domain"), "a@example.org")
	limited := h.signedIn(t, h.api.key)
	for range 10 { // above the rate, a message waits
		if a, err := limited.cmd("MAIL FROM:<a@example.test>"); err != nil || !a.is("250") {
			t.Fatalf("MAIL: %s, %v", a, err)
		}
		if a, err := limited.cmd("RSET"); err != nil || !a.is("250") {
			t.Fatalf("RSET: %s, %v", a, err)
		}
	}
	h.run(t, "teams", "create", "Bad")
	h.run(t, "domains", "add", otherTeamsDomain, "--trust", "--team", "Bad")
	bad := h.signedIn(t, h.newKey(t, "--team", "Bad"))
	h.run(t, "teams", "suspend", "Bad", "--reason", "abuse")
	after(t, 1100*time.Millisecond)
	a, err := bad.handIn(note("x@"+otherTeamsDomain, "suspended"), "", "a@example.org")
	if err != nil || !a.is("550 5.7.1") {
		t.Errorf("a suspended team: %s, %v", a, err)
	}
}
