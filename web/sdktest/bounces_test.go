package sdktest

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// bounceFixture is a server with a listener for bounces.
type bounceFixture struct {
	*instance
	client
	bounces string
}

// newBounceFixture starts a service whose relay is at relay.
func newBounceFixture(t *testing.T, relay, bounces string, args ...string) *bounceFixture {
	t.Helper()
	w := &bounceFixture{instance: start(t, append(args, "--relay", "smtp://"+relay+"?tls=off", "--bounce-listen", bounces)...), bounces: bounces}
	w.addDomain(t, "example.test")
	w.client = client{url: w.instance.url, key: w.newKey(t)}
	return w
}

func (w *bounceFixture) mail(t *testing.T, to ...string) (id string) {
	t.Helper()
	return w.send(t, map[string]any{"from": "a@example.test", "to": to, "subject": "bounces", "text": "x"})
}

// wantSuppressed looks an address up; origin empty: it must not be there.
func (w *bounceFixture) wantSuppressed(t *testing.T, address, origin string) {
	t.Helper()
	status, b := w.do(t, "GET", "/suppressions/"+address, nil)
	if origin == "" && status != http.StatusNotFound || origin != "" && !strings.Contains(string(b), `"origin":"`+origin+`"`) {
		t.Errorf("suppression of %s: %d %s, want %q", address, status, b, origin)
	}
}

// abuse is a feedback report as a provider sends it.
func abuse(id string) string {
	return strings.ReplaceAll(`From: <abuse@provider.test>
Subject: FW: bounces
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report; boundary="r"

--r
Content-Type: text/plain

This is an email abuse report.
--r
Content-Type: message/feedback-report

Feedback-Type: abuse
User-Agent: SomeProvider/1.0
Version: 1

--r
Content-Type: message/rfc822

From: a@example.test
X-Mailer-Email-ID: `+id+`
Subject: bounces

x
--r--
`, "\n", "\r\n")
}

func TestPostfixBounces(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	bounces := freeAddr(t)
	p := startPostfixBefore(t, bounces, nil, map[string]string{"mydestination": "dest.test", "mailbox_size_limit": "0"})
	w := newBounceFixture(t, p.addr, bounces)
	alone := w.mail(t, "nobody-here@dest.test")
	// The second recipient is passed on to the listener, which relays nothing.
	both := w.mail(t, "nobody-there@dest.test", "somebody@elsewhere.test")
	w.waitLast(t, alone, time.Minute, "bounced")
	w.wantSuppressed(t, "nobody-here@dest.test", "bounce")
	seen := map[string]string{}
	eventually(t, time.Minute, "both recipients bounced", func() (bool, string) {
		for _, e := range w.events(t, both) {
			if e.Type == "bounced" {
				seen[e.Recipient] = e.Detail.Message
			}
		}
		return len(seen) == 2, fmt.Sprint(seen)
	})
	// All recipients of a message know its return path: a report proves nothing.
	w.wantSuppressed(t, "nobody-there@dest.test", "")
	w.wantSuppressed(t, "somebody@elsewhere.test", "")
	p.waitEmpty(t)
}

// returnPath returns the envelope sender of an email that reached a sink.
func (w *bounceFixture) returnPath(t *testing.T, s *sink, to string) (id, path string) {
	t.Helper()
	id = w.mail(t, to)
	m := s.wait(t, 1, time.Minute, func(m *message) bool { return m.header("X-Mailer-Email-ID") == id })[0]
	if !strings.HasPrefix(m.From, "bounce+") || !strings.HasSuffix(m.From, "@send.example.test") {
		t.Fatalf("sent from %s", m.From)
	}
	return id, m.From
}

func TestFeedbackReportThroughPostfixAndByHand(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	bounces := freeAddr(t)
	p := startPostfixBefore(t, bounces, nil, nil)
	s := newSink(t, sinkOptions{})
	w := newBounceFixture(t, s.addr, bounces)
	for i, server := range []string{p.addr, bounces} {
		to := fmt.Sprintf("reader%d@example.com", i)
		id, path := w.returnPath(t, s, to)
		must(t, handOver(server, "", path, abuse(id)))
		w.waitLast(t, id, time.Minute, "complained")
		w.wantSuppressed(t, to, "complaint")
	}
}

// handOver sends one message over SMTP.
func handOver(addr, from, to, text string) error {
	c, err := smtp.Dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SendMail(from, []string{to}, strings.NewReader(text)); err != nil {
		return err
	}
	return c.Quit()
}

// otherMessage changes a letter of a local part.
func otherMessage(local string) string {
	b := []byte(local)
	if at := len(b) / 2; b[at] == 'a' {
		b[at] = 'b'
	} else {
		b[at] = 'a'
	}
	return string(b)
}

func TestForgedReturnPathChangesNothing(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	s := newSink(t, sinkOptions{})
	w := newBounceFixture(t, s.addr, freeAddr(t))
	id, path := w.returnPath(t, s, "reader@example.com")
	local, host, _ := strings.Cut(path, "@")
	_, other := w.returnPath(t, s, "other@example.com")
	for _, forged := range []string{
		otherMessage(local) + "@" + host, local + "@example.test", "bounce@" + host, "bounce+" + strings.ReplaceAll(id, "-", "") + "@" + host,
		local[:len(local)-30] + other[len(local)-30:len(local)] + "@" + host,
	} {
		if err := handOver(w.bounces, "", forged, abuse(id)); err == nil || !strings.Contains(err.Error(), "550") {
			t.Errorf("%s: %v", forged, err)
		}
	}
	must(t, handOver(w.bounces, "", other, abuse(id))) // accepted, and about another email than its address
	if e := w.email(t, id); e.LastEvent != "sent" {
		t.Errorf("last_event %s", e.LastEvent)
	}
	w.wantSuppressed(t, "reader@example.com", "")
	w.wantSuppressed(t, "other@example.com", "")
}

func TestSwaksFindsNoOpenRelay(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	swaks, err := exec.LookPath("swaks")
	need(t, err == nil, "Debian package swaks")
	s := newSink(t, sinkOptions{})
	w := newBounceFixture(t, s.addr, freeAddr(t))
	id, path := w.returnPath(t, s, "reader@example.com")
	try := func(args ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), swaks, append([]string{"--server", w.bounces, "--timeout", "10"}, args...)...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, from := range []string{"<>", "a@example.test", "stranger@elsewhere.test", "postmaster@send.example.test"} {
		for _, to := range []string{"victim@example.com", "a@example.test", "victim%example.com@send.example.test", "example.com!victim@send.example.test",
			"\"victim@example.com\"@send.example.test", "@send.example.test:victim@example.com", "victim@[127.0.0.1]", "postmaster"} {
			if out, code := try("--from", from, "--to", to); code != 24 { // no recipient was accepted
				t.Errorf("%s -> %s: exit code %d\n%s", from, to, code, out)
			}
		}
	}
	if out, code := try("--from", "<>", "--to", path+",victim@example.com", "--data", abuse(id)); code != 0 || !strings.Contains(out, "550 5.7.1") {
		t.Errorf("a good path beside a bad one: exit code %d\n%s", code, out)
	}
	w.waitLast(t, id, time.Minute, "complained")
	if n := len(s.messages()); n != 1 {
		t.Errorf("%d messages left this server, want the one that was sent", n)
	}
	if out, code := try("--from", "<>", "--to", path, "--auth", "--auth-user", "u", "--auth-password", "p"); code != 28 && code != 35 {
		t.Errorf("signing in: exit code %d\n%s", code, out)
	}
}

func TestStopDuringBounce(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	s := newSink(t, sinkOptions{})
	w := newBounceFixture(t, s.addr, freeAddr(t), "--drain-timeout", "3s")
	_, path := w.returnPath(t, s, "reader@example.com")
	c, err := smtp.Dial(w.bounces)
	must(t, err)
	defer c.Close()
	must(t, c.Mail("", nil))
	must(t, c.Rcpt(path, nil))
	data, err := c.Data()
	must(t, err)
	_, err = io.WriteString(data, "Subject: half\r\n")
	must(t, err)
	w.stop(t)
}
