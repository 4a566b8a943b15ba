package receiver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bufio"

	"mailer/app/sending/receiving"
)

// takenMail is one call of Take.
type takenMail struct {
	receiving.Delivery
	text string
}

// fakeMail receives for acme.test (team one), bücher.test (team two) and any sub.acme.test; soon.test is not set up,
// full.test is full, and broken.test can't be looked up.
type fakeMail struct {
	mu    sync.Mutex
	taken []takenMail
	asked []string
	fail  error
	crash bool
}

func (f *fakeMail) Recipient(_ context.Context, address string) (receiving.Target, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, address)
	_, domain, _ := strings.Cut(address, "@")
	switch domain {
	case "acme.test":
		return receiving.Target{Address: address, TeamID: "one", DomainID: "d1"}, nil
	case "xn--bcher-kva.test":
		return receiving.Target{Address: address, TeamID: "two", DomainID: "d2"}, nil
	case "soon.test":
		return receiving.Target{}, receiving.ErrNotNow
	case "full.test":
		return receiving.Target{}, receiving.ErrFull
	case "broken.test":
		return receiving.Target{}, errors.New("disk on fire")
	}
	return receiving.Target{}, receiving.ErrNotHere
}

func (f *fakeMail) Take(_ context.Context, in receiving.Delivery) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.crash {
		panic("a fault")
	}
	if f.fail != nil {
		return f.fail
	}
	text, err := io.ReadAll(io.NewSectionReader(in.Raw, 0, in.Size))
	f.taken = append(f.taken, takenMail{in, string(text)})
	return err
}

func (f *fakeMail) calls() []takenMail {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.taken)
}

var certificate = sync.OnceValue(func() *tls.Config {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"mail.acme.test"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
})

const mailText = "From: Bob <bob@example.com>\r\nTo: ann@acme.test\r\nSubject: hello\r\n\r\nHello\r\n"

// begin sends everything from MAIL up to the text of a message.
func (c *smtpClient) begin() {
	c.t.Helper()
	c.cmd("MAIL FROM:<bob@example.com>", "250 ")
	c.cmd("RCPT TO:<ann@acme.test>", "250 ")
	c.cmd("DATA", "354 ")
}

func TestMailOfSeveralTeamsIsTakenBeforeReply(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.greet("Bob@example.com")
	c.cmd("RCPT TO:<Ann@ACME.test>", "250 ")
	c.cmd("RCPT TO:<jörg@BÜCHER.test>", "250 ")
	c.cmd("RCPT TO:<x@xn--bcher-kva.test>", "250 ")
	c.cmd("RCPT TO:<Ann@acme.test>", "250 ") // again
	c.cmd("DATA", "354 ")
	c.cmd(mailText+"..dot\r\n"+strings.Repeat("x", 5000)+"\r\n.", "250 2.0.0 ")
	got := w.mail.calls()
	if len(got) != 1 {
		t.Fatalf("%d messages", len(got))
	}
	var to []string
	for _, target := range got[0].To {
		to = append(to, target.TeamID+" "+target.Address)
	}
	if want := []string{"one Ann@acme.test", "two jörg@xn--bcher-kva.test", "two x@xn--bcher-kva.test"}; !slices.Equal(to, want) {
		t.Errorf("to %q", to)
	}
	if m := got[0]; m.text != mailText+".dot\r\n"+strings.Repeat("x", 5000)+"\r\n" || m.Size != int64(len(m.text)) || m.MailFrom != "Bob@example.com" || m.Helo != "peer.test" || m.RemoteIP.String() != "127.0.0.1" {
		t.Errorf("%+v", m)
	}
	c.begin() // the session continues
	c.cmd(mailText+".", "250 ")
}

func TestRefusedRecipients(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.refusals, l.conn.Refusals = 1000, 0 })
	c := w.dial(t)
	c.greet("bob@example.com")
	for to, want := range map[string]string{
		"<ann@other.test>": "550 5.7.1 ", "<ann@soon.test>": "450 4.7.1 ", "<ann@full.test>": "452 4.3.1 ", "<ann@broken.test>": "451 4.3.0 ",
		"<@acme.test:bob@example.com>": "550 5.7.1 ", "<@evil.test:ann@acme.test>": "550 5.7.1 ", "<@a.test,@b.test:ann@acme.test>": "550 5.7.1 ", "@acme.test:ann@acme.test": "550 5.7.1 ",
		"<bob%example.com@acme.test>": "550 5.7.1 ", "<example.com!bob@acme.test>": "550 5.7.1 ", `<"bob@example.com"@acme.test>`: "550 5.7.1 ", `<"ann"@acme.test>`: "550 5.7.1 ",
		`<ann\@acme.test>`: "550 5.", "<bob@example.com@acme.test>": "550 5.7.1 ", "<ann@[127.0.0.1]>": "550 5.7.1 ", "<ann@[IPv6:::1]>": "550 5.7.1 ", "<ann@127.0.0.1>": "550 5.7.1 ",
		"<ann@acme.test.>": "550 5.7.1 ", "<ann@.acme.test>": "550 5.7.1 ", "<ann@acme.test(x)>": "550 5.7.1 ", "<ann@localhost>": "550 5.7.1 ", "<postmaster>": "550 5.1.3 ", "<>": "550 5.1.3 ",
		"<ann@sub.acme.test>": "550 5.7.1 ", "<" + strings.Repeat("a", 70) + "@acme.test>": "550 5.7.1 ",
	} {
		got := c.cmd("RCPT TO:"+to, "")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", to, got, want)
		}
		if strings.Contains(got, "fire") || strings.Contains(got, "ann@") {
			t.Errorf("%s: the reply repeats what it should not: %s", to, got)
		}
	}
	c.cmd("DATA", "502 ")
	if len(w.mail.calls()) != 0 {
		t.Error("something was taken")
	}
}

func TestBounceAndMailNeedOwnTransactions(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.greet("")
	c.cmd("RCPT TO:<ann@acme.test>", "250 ")
	c.cmd("RCPT TO:<"+w.path(0)+">", "452 4.5.3 ")
	c.cmd("RSET", "250 ")
	c.cmd("MAIL FROM:<>", "250 ")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ")
	c.cmd("RCPT TO:<ann@acme.test>", "452 4.5.3 ")
	c.cmd("DATA", "354 ")
	c.cmd(dsn+".", "250 ")
	if len(w.calls()) != 1 || len(w.mail.calls()) != 0 {
		t.Errorf("%d reports, %d messages", len(w.calls()), len(w.mail.calls()))
	}
}

func TestFailureToTakeMailIsTemporary(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	for _, tt := range []struct {
		fail  error
		crash bool
		want  string
	}{{errors.New("disk on fire"), false, "451 4.3.0 "}, {receiving.ErrFull, false, "452 4.3.1 "}, {nil, true, "451 4.3.0 "}, {nil, false, "250 "}} {
		w.mail.fail, w.mail.crash = tt.fail, tt.crash
		c.begin()
		if got := c.cmd(mailText+".", tt.want); strings.Contains(got, "fire") {
			t.Errorf("the reply says %q", got)
		}
	}
}

func TestMalformedMailIsRefused(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	for name, text := range map[string]string{
		"bare LF": "Subject: a\n\r\nb\r\n", "bare CR": "Subject: a\rb\r\n\r\n", "NUL": "Subject: a\x00\r\n\r\n",
		"LF dot LF": "Subject: a\r\n\r\nx\n.\nMAIL FROM:<x@y.test>\r\n", "LF dot CRLF": "Subject: a\r\n\r\nx\n.\r\nMAIL FROM:<x@y.test>\r\n",
		"CR dot CR": "Subject: a\r\n\r\nx\r.\rMAIL FROM:<x@y.test>\r\n", "CRLF dot CR": "Subject: a\r\n\r\nx\r\n.\rMAIL FROM:<x@y.test>\r\n", "CRLF dot LF": "a\r\n\r\nx\r\n.\nRCPT TO:<x@y.test>\r\n", "CR CR LF dot": "a\r\r\n.\r\r\nb\r\n",
	} {
		c.begin()
		if got := c.cmd(text+".", "554 5.6.0"); got == "" {
			t.Error(name)
		}
		c.cmd("NOOP", "250 2.0.0 I have") // nothing of the text was a command
	}
	if n := len(w.mail.calls()); n != 0 {
		t.Errorf("%d messages taken", n)
	}
	c.begin()
	c.cmd(mailText+".", "250 ")
}

func TestLargeMailIsSpooled(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	c.begin()
	large := mailText + strings.Repeat(strings.Repeat("x", 98)+"\r\n", 20_000)
	c.cmd(large+".", "250 ")
	got := w.mail.calls()
	if len(got) != 1 || got[0].text != large {
		t.Errorf("%d messages, the text differs", len(got))
	}
	if files, err := os.ReadDir(w.server.cfg.Dir); err != nil || len(files) != 0 {
		t.Errorf("left: %v, %v", files, err)
	}
	c.cmd("MAIL FROM:<bob@example.com> SIZE=41943041", "552 5.3.4 ")
}

func TestMailByBDATUnderTLS(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	c.cmd("STARTTLS", "220 ")
	secure := tls.Client(c.conn, &tls.Config{InsecureSkipVerify: true})
	c.conn, c.r = secure, bufio.NewReader(secure)
	if got := c.cmd("EHLO other.test", "250-"); strings.Contains(got, "STARTTLS") {
		t.Errorf("offered again: %s", got)
	}
	c.cmd("MAIL FROM:<bob@example.com> BODY=8BITMIME SMTPUTF8", "250 ")
	c.cmd("RCPT TO:<ann@acme.test>", "250 ")
	c.cmd(fmt.Sprintf("BDAT %d LAST\r\n%s", len(mailText), strings.TrimSuffix(mailText, "\r\n")), "250 ")
	if got := w.mail.calls(); len(got) != 1 || got[0].text != mailText || got[0].Helo != "other.test" {
		t.Errorf("%+v", got)
	}
}

func TestSTARTTLSInjection(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	c.cmd("STARTTLS\r\nMAIL FROM:<x@y.test>", "501 5.5.1")
	c.wantClosed()
}

func TestRateOfAllMailIsBounded(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.rate = 1 }) // bytes a second
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	c.begin()
	c.cmd(mailText+".", "452 4.3.1")
	c.cmd("MAIL FROM:<bob@example.com>", "250 ")
	c.cmd("RCPT TO:<ann@acme.test>", "452 4.3.1")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ") // bounces pass
	c.cmd("DATA", "354 ")
	c.cmd(dsn+".", "250 ")
	if len(w.mail.calls()) != 0 || len(w.calls()) != 1 {
		t.Error("mail above the rate was taken, or a bounce was not")
	}
}

func TestAddressWithManyRefusedRecipientsIsRefused(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.conn.Refusals = 22 })
	for _, bad := range []struct{ command, reply string }{{"RCPT TO:<x@other.test>", "550 5.7.1"}, {"rcpt TO:<x", "550 5.1.3"}} {
		c := w.dial(t)
		c.greet("")
		for range 7 {
			c.cmd(bad.command, bad.reply)
		}
		c.cmd("RCPT x@other.test", "550 ")
		c.cmd("RCPT TO:<ann@acme.test> NOTIFY=NEVER", "504 ")
		c.cmd("RCPT TO:<ann@acme.test> =", "500 ")
		c.cmd(bad.command, "421 4.7.0 Too many recipients")
		c.wantClosed()
	}
	c := w.dial(t)
	c.cmd("", "421 4.7.0")
	c.wantClosed()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	other, err := d.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if line, err := bufio.NewReader(other).ReadString('\n'); !strings.HasPrefix(line, "220 ") {
		t.Errorf("another address: %q, %v", line, err)
	}
}

func TestTimeForCommandsAndBody(t *testing.T) {
	l := defaultLimits()
	start := time.Unix(0, 0)
	for after, want := range map[time.Duration]time.Duration{0: time.Minute, 2 * time.Minute: 3 * time.Minute, 4*time.Minute + 30*time.Second: 5 * time.Minute, 5 * time.Minute: 5 * time.Minute} {
		if got := l.deadline(start, start.Add(after), 0).Sub(start); got != want {
			t.Errorf("after %s: %s, want %s", after, got, want)
		}
	}
	w := newTestServer(t, func(l *limits) { l.greet = 100 * time.Millisecond })
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("", "421 4.4.2")
	c.wantClosed()
}

func TestMessageAboveMemoryIsPermanentFailure(t *testing.T) {
	w := newTestServer(t, nil)
	w.mail.fail = receiving.ErrTooLarge
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	c.begin()
	c.cmd(mailText+".", "552 5.3.4 ")
}

// TestSenderAndNameAreText: what the peer says of itself can be stored and shown.
func TestSenderAndNameAreText(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO a\xff\x1bb", "250-")
	c.cmd("MAIL FROM:<a\xff@b.test>", "553 5.1.7 ")
	c.cmd("MAIL FROM:<a\x1b@b.test>", "553 5.1.7 ")
	c.begin()
	c.cmd(mailText+".", "250 ")
	if got := w.mail.calls(); len(got) != 1 || got[0].Helo != "a??b" {
		t.Errorf("%+v", got)
	}
}
