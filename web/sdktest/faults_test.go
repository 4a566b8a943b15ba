package sdktest

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

const (
	relayUser     = "relay-user"
	relayPassword = "relay-password"
	// recovery bounds the time from a healed relay to a sent email: the retry delay is at most a
	// minute, plus 20 %.
	recovery = 90 * time.Second
)

// fault is one temporary fault of a relay.
type fault struct {
	name     string
	secure   bool      // TLS from the first byte, and AUTH
	starttls bool      // the relay URL asks for STARTTLS
	broken   behaviour // while it is wrong
	badCert  bool      // during the fault: an untrusted certificate
	event    string    // type of the event that reports it
	reply    int       // reply code that the event holds; 0: none
	words    []string  // the event's message holds one of these, in any case
	message  bool      // about the message, not the relay: next try in a minute, so left out under -short
}

var faults = []fault{
	{name: "421 greeting", broken: scripted("", "421 4.3.2 closed for now"), event: "relay_trouble", reply: 421},
	{name: "454 STARTTLS", starttls: true, broken: scripted("STARTTLS", "454 4.7.0 TLS not available", "STARTTLS"), event: "relay_trouble", reply: 454},
	{name: "454 AUTH", secure: true, broken: scripted("AUTH", "454 4.7.0 temporary", "AUTH PLAIN LOGIN"), event: "relay_trouble", reply: 454},
	{name: "535 AUTH", secure: true, broken: scripted("AUTH", "535 5.7.8 bad credentials", "AUTH PLAIN LOGIN"), event: "relay_trouble", reply: 535},
	{name: "self-signed certificate", secure: true, badCert: true, event: "relay_trouble", words: []string{"certificate", "x509"}},
	{name: "silent greeting", broken: scripted("", silence), event: "relay_trouble", words: []string{"time", "answer"}},
	{name: "silent RCPT", broken: scripted("RCPT", silence), event: "deferred", words: []string{"time", "answer"}},
	{name: "hang-up at MAIL", broken: scripted("MAIL", hangUp), event: "deferred"},
	{name: "421 at RCPT", broken: scripted("RCPT", "421 4.3.2 shutting down"), event: "deferred", reply: 421},
	{name: "451 RCPT", broken: scripted("RCPT", "451 4.3.0 try later"), event: "deferred", reply: 451, message: true},
	{name: "451 DATA", broken: scripted("DATA", "451 4.3.0 try later"), event: "deferred", reply: 451, message: true},
	{name: "452 final dot", broken: scripted(dotVerb, "452 4.3.1 disk full"), event: "deferred", reply: 452, message: true},
}

// scripted is a relay that answers one verb otherwise.
func scripted(verb, reply string, extensions ...string) behaviour {
	return behaviour{conn: script{replies: map[string]string{verb: reply}, extensions: extensions}.serve}
}

func TestRelayFaultsHealByThemselves(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			testFault(t, f)
		})
	}
}

func testFault(t *testing.T, f fault) {
	ca := newAuthority(t)
	relay, address := f.relay(t, ca)
	in := start(t, "--relay", address)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": f.name, "text": "hello"})
	e := api.waitEvent(t, id, time.Minute, f.event)
	checkFaultEvent(t, f, e)
	if !f.message { // it keeps trying, and the email's state is unchanged
		eventually(t, time.Minute, "a second try", func() (bool, string) {
			n := len(relay.dialled())
			return n >= 2, fmt.Sprintf("%d connections", n)
		})
	}
	if got := api.email(t, id).LastEvent; got != "queued" {
		t.Errorf("last_event is %s while the relay is wrong", got)
	}
	f.heal(t, relay, ca)
	api.waitLast(t, id, recovery, "sent")
	events := api.events(t, id)
	checkNothingFailed(t, events)
	checkPunctual(t, e, events)
	if found := relay.matching(subjectIs(f.name)); len(found) != 1 {
		t.Errorf("%d copies arrived, want one", len(found))
	}
}

// relay starts the wrong relay and returns the URL for it.
func (f fault) relay(t *testing.T, ca *authority) (*sink, string) {
	t.Helper()
	query := url.Values{"timeout": {"1s"}}
	var opts sinkOptions
	scheme := "smtp://"
	switch {
	case f.secure:
		opts = sinkOptions{implicit: ca.issue(t), password: relayPassword}
		scheme = "smtps://" + relayUser + ":" + relayPassword + "@"
		query.Set("ca", ca.file)
	case f.starttls:
		query.Set("ca", ca.file)
	default:
		query.Set("tls", "off")
	}
	if f.starttls {
		opts.startTLS = ca.issue(t)
	}
	relay := newSink(t, opts)
	relay.set(f.broken)
	if f.badCert {
		relay.cert.Store(selfSigned(t))
	}
	return relay, scheme + relay.addr + "?" + query.Encode()
}

func (f fault) heal(t *testing.T, relay *sink, ca *authority) {
	t.Helper()
	if f.badCert {
		relay.cert.Store(ca.issue(t))
	}
	relay.set(behaviour{})
}

// checkFaultEvent fails the test unless the event says what happened and when
// the next try is.
func checkFaultEvent(t *testing.T, f fault, e event) {
	t.Helper()
	if e.Detail.Message == "" {
		t.Errorf("the event has no words: %+v", e)
	}
	if e.Detail.ReplyCode != f.reply {
		t.Errorf("the event's reply code is %d, want %d: %+v", e.Detail.ReplyCode, f.reply, e)
	}
	text := strings.ToLower(e.Detail.Message + " " + e.Detail.Reply)
	said := func(word string) bool { return strings.Contains(text, word) }
	if len(f.words) > 0 && !slices.ContainsFunc(f.words, said) {
		t.Errorf("the event's words have none of %v: %q", f.words, text)
	}
	if next, err := time.Parse(time.RFC3339, e.Detail.NextAttemptAt); err != nil || time.Until(next).Abs() > 2*time.Minute {
		t.Errorf("the event's next try %q: %v", e.Detail.NextAttemptAt, err)
	}
}

// checkPunctual checks that the email was sent at the time promised in the event of the fault, and
// not much later: other mail may go first.
func checkPunctual(t *testing.T, fault event, events []event) {
	t.Helper()
	next, err := time.Parse(time.RFC3339, fault.Detail.NextAttemptAt)
	sent := slices.IndexFunc(events, func(e event) bool { return e.Type == "sent" })
	if err != nil || sent < 0 {
		t.Errorf("no second try to compare: %v, %+v", err, events)
		return
	}
	if late := events[sent].CreatedAt.Sub(next); late < -time.Second || late > time.Minute {
		t.Errorf("the event promised the next try for %s, it came %s later", next, late)
	}
}

// checkNothingFailed checks that no temporary error was treated as permanent.
func checkNothingFailed(t *testing.T, events []event) {
	t.Helper()
	for _, e := range events {
		if e.Type == "bounced" || e.Type == "failed" || e.Type == "suppressed" {
			t.Errorf("a temporary trouble ended as %s", describe(events))
		}
	}
}

// TestRelayComesUpLater sends while nothing listens where the relay should be.
func TestRelayComesUpLater(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	addr := freeAddr(t)
	in := start(t, "--relay", "smtp://"+addr+"?tls=off&timeout=1s")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "no relay", "text": "hello"})
	e := api.waitEvent(t, id, time.Minute, "relay_trouble")
	checkFaultEvent(t, fault{words: []string{"refused"}}, e)
	relay := newSink(t, sinkOptions{addr: addr})
	relay.wait(t, 1, recovery, subjectIs("no relay"))
	api.waitLast(t, id, time.Minute, "sent")
	checkNothingFailed(t, api.events(t, id))
}

// TestReplyLostAfterFinalDot drops the connection after the final dot: the
// email is in doubt, is sent again with the same bytes, and is listed.
func TestReplyLostAfterFinalDot(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{afterDot: func(c *smtp.Conn) error { return c.Conn().Close() }})
	in := start(t, "--relay", "smtp://"+relay.addr+"?tls=off", "--doubt-delay", "2s")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "dropped", "text": "hello"})
	if e := api.waitEvent(t, id, time.Minute, "in_doubt"); e.Detail.Message == "" {
		t.Errorf("the event has no words: %+v", e)
	}
	if got := api.email(t, id).LastEvent; got != "queued" {
		t.Errorf("last_event is %s while the outcome is unknown", got)
	}
	relay.set(behaviour{})
	api.waitLast(t, id, recovery, "sent")
	found := relay.matching(subjectIs("dropped"))
	if len(found) < 2 {
		t.Fatalf("%d copies arrived: the test lost no reply", len(found))
	}
	for _, m := range found[1:] {
		if !bytes.Equal(m.Raw, found[0].Raw) {
			t.Errorf("the repeated message has other bytes:\n%s\n---\n%s", found[0].Raw, m.Raw)
		}
	}
	if doubted := doubtCounts(t, in); doubted[id] == 0 {
		t.Errorf("doubts do not list %s: %v", id, doubted)
	}
	checkNothingFailed(t, api.events(t, id))
}

// TestOneRefusedRecipientAmongThree: the other two get the mail, the refused
// one is named.
func TestOneRefusedRecipientAmongThree(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	relay := newSink(t, sinkOptions{})
	relay.set(behaviour{rcpt: func(to string) error {
		if to != "nobody@example.com" {
			return nil
		}
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	}})
	in := start(t, "--relay", "smtp://"+relay.addr+"?tls=off")
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	id := api.send(t, map[string]any{
		"from": "a@example.test", "to": []string{"ann@example.com", "nobody@example.com"}, "bcc": "bob@example.com",
		"subject": "one of three", "text": "hello",
	})
	api.waitLast(t, id, time.Minute, "bounced")
	var arrived []string
	for _, m := range relay.matching(subjectIs("one of three")) {
		arrived = append(arrived, m.To...)
	}
	if got := sorted(arrived); !slices.Equal(got, []string{"ann@example.com", "bob@example.com"}) {
		t.Errorf("arrived for %v", got)
	}
	events := api.events(t, id)
	for _, e := range events {
		if e.Type != "bounced" {
			continue
		}
		if e.Recipient != "nobody@example.com" || e.Detail.ReplyCode != 550 {
			t.Errorf("bounced: %+v", e)
		}
	}
	if !slices.ContainsFunc(events, func(e event) bool { return e.Type == "bounced" }) ||
		!slices.ContainsFunc(events, func(e event) bool { return e.Type == "sent" }) {
		t.Errorf("events: %s", describe(events))
	}
}

// TestUntrustedCertificateGetsNoCredentials: a relay with a wrong certificate
// learns neither password nor message.
func TestUntrustedCertificateGetsNoCredentials(t *testing.T) {
	part(t, "relays")
	t.Parallel()
	ca := newAuthority(t)
	relay := newSink(t, sinkOptions{implicit: selfSigned(t), password: relayPassword})
	spoken := make(chan string, 100)
	relay.set(behaviour{conn: func(c net.Conn) {
		if err := c.(*tls.Conn).HandshakeContext(t.Context()); err == nil {
			buf := make([]byte, 100)
			_ = c.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = c.Write([]byte("220 hello\r\n"))
			if n, _ := c.Read(buf); n > 0 {
				spoken <- string(buf[:n])
			}
		}
	}})
	in := start(t, "--relay", "smtps://"+relayUser+":"+relayPassword+"@"+relay.addr+"?timeout=1s&ca="+ca.file)
	in.addDomain(t, "example.test")
	api := client{in.url, in.newKey(t)}
	id := api.send(t, map[string]any{"from": "a@example.test", "to": "b@example.com", "subject": "secret", "text": "hello"})
	api.waitEvent(t, id, time.Minute, "relay_trouble")
	select {
	case line := <-spoken:
		t.Errorf("the client spoke to a relay with a wrong certificate: %q", line)
	default:
	}
}
