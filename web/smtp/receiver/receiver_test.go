package receiver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"go.uber.org/goleak"

	"mailer/app"
	"mailer/app/kit/metrics"
	"mailer/app/kit/seal"
	"mailer/app/rules/feedback"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const emailID = "0199c2f0-7a3e-7d11-9a2b-0c1d2e3f4a5b"

// takenReport is one call of TakeBounce.
type takenReport struct {
	path    app.ReturnPath
	reports []feedback.Claim
}

// fakeProviderEvents signs and decodes return paths, and keeps what it gets.
type fakeProviderEvents struct {
	sealer  *app.Sealer
	mu      sync.Mutex
	taken   []takenReport
	fail    error
	block   chan struct{} // when set, TakeBounce waits for it or its context
	entered chan struct{} // signaled when a call waits
	notes   []string      // per source
}

func (f *fakeProviderEvents) ReadReturnPath(mailbox string) (app.ReturnPath, bool) {
	return f.sealer.ReadReturnPath(mailbox)
}

func (f *fakeProviderEvents) TakeBounce(ctx context.Context, path app.ReturnPath, reports []feedback.Claim) error {
	if f.block != nil {
		f.entered <- struct{}{}
		select {
		case <-f.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail == nil {
		f.taken = append(f.taken, takenReport{path, reports})
	}
	return f.fail
}

func (f *fakeProviderEvents) NoteSeen(source string) { f.note(source, "seen") }

func (f *fakeProviderEvents) NoteRefused(source, reason string) { f.note(source, reason) }

func (f *fakeProviderEvents) note(source, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.notes = append(f.notes, source+": "+what)
}

func (f *fakeProviderEvents) calls() []takenReport {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]takenReport(nil), f.taken...)
}

// path is a good return path of a recipient.
func (f *fakeProviderEvents) path(n int) string {
	return f.sealer.ReturnPath("send.acme.test", app.ReturnPath{EmailID: emailID, Recipient: n})
}

type testServer struct {
	*fakeProviderEvents
	mail   *fakeMail
	server *Server
	addr   string
}

// newTestServer runs a listener until the test ends.
func newTestServer(t *testing.T, change func(*limits)) *testServer {
	t.Helper()
	sealer, err := app.NewSealer(seal.MasterKey{Key: bytes.Repeat([]byte{7}, seal.MasterKeySize)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limits := defaultLimits()
	if change != nil {
		change(&limits)
	}
	w := &testServer{fakeProviderEvents: &fakeProviderEvents{sealer: sealer}, mail: &fakeMail{}, addr: l.Addr().String()}
	w.server = newServer(Config{ProviderEvents: w.fakeProviderEvents, Mail: w.mail, Host: "mail.acme.test", TLS: certificate(), Dir: t.TempDir(), Metrics: metrics.New(), Log: slog.New(slog.DiscardHandler)}, limits)
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.server.Shutdown(ctx); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Errorf("shut down: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if u := w.server.spool.Disk.Usage(""); u.Used != 0 {
			t.Errorf("still held on disk: %+v", u)
		}
	})
	return w
}

// smtpClient is an SMTP dialogue.
type smtpClient struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func (w *testServer) dial(t *testing.T) *smtpClient {
	t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return &smtpClient{t, conn, bufio.NewReader(conn)}
}

// answer reads one reply with all its lines.
func (c *smtpClient) answer() (string, error) {
	var all strings.Builder
	for {
		line, err := c.r.ReadString('\n')
		all.WriteString(line)
		if err != nil || len(line) < 4 || line[3] != '-' {
			return strings.TrimSpace(all.String()), err
		}
	}
}

// cmd sends a line, empty: none, and wants a reply that begins so.
func (c *smtpClient) cmd(line, want string) string {
	c.t.Helper()
	if line != "" {
		if _, err := io.WriteString(c.conn, line+"\r\n"); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
	}
	got, err := c.answer()
	if err != nil && got == "" || !strings.HasPrefix(got, want) {
		c.t.Fatalf("%.80s: %q, %v; want %s", line, got, err, want)
	}
	return got
}

// wantClosed wants the connection to be closed by the server.
func (c *smtpClient) wantClosed() {
	c.t.Helper()
	if _, err := io.Copy(io.Discard, c.r); errors.Is(err, context.DeadlineExceeded) {
		c.t.Fatal("the connection stays open")
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Fatal("the connection stays open")
	}
}

// greet sends everything up to MAIL.
func (c *smtpClient) greet(from string) {
	c.t.Helper()
	c.cmd("", "220 mail.acme.test ")
	c.cmd("EHLO peer.test", "250-mail.acme.test Hello peer.test")
	c.cmd("MAIL FROM:<"+from+">", "250 ")
}

const dsn = "From: MAILER-DAEMON@mx.test\r\nSubject: Undelivered\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n" +
	"--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.test\r\n\r\n" +
	"Final-Recipient: rfc822; bob@example.com\r\nAction: failed\r\nStatus: 5.1.1\r\nDiagnostic-Code: smtp; 550 5.1.1 no such user\r\n\r\n--b--\r\n"

func TestReportIsStoredBeforeReply(t *testing.T) {
	w := newTestServer(t, nil)
	for _, from := range []string{"", "anybody@else.test"} {
		c := w.dial(t)
		c.greet(from)
		c.cmd("RCPT TO:<"+strings.ToUpper(w.path(3))+">", "250 ")
		c.cmd("DATA", "354 ")
		before := len(w.calls())
		c.cmd(dsn+".", "250 ")
		got := w.calls()
		if len(got) != before+1 {
			t.Fatalf("%d calls", len(got))
		}
		if last := got[before]; last.path != (app.ReturnPath{EmailID: emailID, Recipient: 3}) || len(last.reports) != 1 || last.reports[0].Enhanced != "5.1.1" {
			t.Errorf("%+v", last)
		}
		c.cmd("QUIT", "221 ")
	}
}

func TestReportByBDAT(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.greet("")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ")
	c.cmd(fmt.Sprintf("BDAT %d\r\n%s", 100, dsn[:98]), "250 ") // say adds CRLF, which belongs to the chunk
	c.cmd(fmt.Sprintf("BDAT %d LAST\r\n%s", len(dsn)-98, strings.TrimSuffix(dsn[98:], "\r\n")), "250 ")
	if got := w.calls(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestStorageFailureIsTemporary(t *testing.T) {
	w := newTestServer(t, nil)
	w.fail = errors.New("disk full")
	c := w.dial(t)
	c.greet("")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ")
	c.cmd("DATA", "354 ")
	if got := c.cmd(dsn+".", "451 4.3.0"); strings.Contains(got, "disk") {
		t.Errorf("tells strangers: %s", got)
	}
}

func TestMailWithoutReportIsDropped(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.greet("bob@example.com")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ")
	c.cmd("DATA", "354 ")
	c.cmd("Subject: Out of office\r\nAuto-Submitted: auto-replied\r\n\r\n5.1.1\r\n.", "250 ")
	if got := w.calls(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	w.wantNotes(t, "bounces: mail to a return path that reports nothing")
}

func (f *fakeProviderEvents) wantNotes(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.notes, want) {
		t.Errorf("noted %q, want %q", f.notes, want)
	}
}

func TestOnlyOwnReturnPathsAreAccepted(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.refusals = 1000 })
	c := w.dial(t)
	c.greet("a@acme.test")
	good := w.path(0)
	local, _, _ := strings.Cut(good, "@")
	for _, to := range []string{
		local + "@other.test", "bounce+aaaa@send.acme.test", "bounce+@send.acme.test", "Bounce+" + strings.Repeat("a", 55) + "@send.acme.test",
		good[:len("bounce+")+3] + "7" + good[len("bounce+")+4:],
	} {
		if to != good {
			c.cmd("RCPT TO:<"+to+">", "550 5.1.1 ")
		}
	}
	for _, to := range []string{
		"bob@example.com", "a@none.test", "postmaster@send.acme.test", "bob%example.com@send.acme.test", "example.com!bob@send.acme.test",
		"bob@[127.0.0.1]", `"bob@example.com"@send.acme.test`, "@send.acme.test:bob@example.com", "bounce@send.acme.test", good + "@example.com",
	} {
		if got := c.cmd("RCPT TO:<"+to+">", "5"); !strings.HasPrefix(got, "550 5.7.1 ") && !strings.HasPrefix(got, "501 ") && !strings.HasPrefix(got, "550 5.1.1") {
			t.Errorf("%s: %s", to, got)
		}
	}
	c.cmd("RCPT TO:<postmaster>", "5")
	c.cmd("RCPT TO:<>", "5")
	c.cmd("DATA", "502 ")
	if len(w.calls()) != 0 {
		t.Error("something was taken")
	}
}

func TestExtensions(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.cmd("", "220 ")
	got := strings.Split(strings.ReplaceAll(c.cmd("EHLO peer.test", "250-"), "\r", ""), "\n")
	want := []string{"250-mail.acme.test Hello peer.test", "250-PIPELINING", "250-STARTTLS", "250-8BITMIME", "250-ENHANCEDSTATUSCODES", "250-CHUNKING", "250-SMTPUTF8", "250-SIZE 41943040", "250 LIMITS RCPTMAX=100"}
	if !slices.Equal(got, want) {
		t.Errorf("offered: %q", got)
	}
	c.cmd("AUTH PLAIN AGEAYg==", "5")
	c.cmd("VRFY bob", "252 ")
	c.cmd("EXPN all", "502 ")
}

func TestRecipientLimit(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.greet("")
	for n := range 100 {
		c.cmd("RCPT TO:<"+w.path(n)+">", "250 ")
	}
	c.cmd("RCPT TO:<"+w.path(100)+">", "452 ")
}

func TestUnknownPathsEndSession(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t)
	c.greet("")
	for range 10 {
		c.cmd("RCPT TO:<bounce+guess@send.acme.test>", "550 5.1.1")
	}
	c.cmd("RCPT TO:<bounce+guess@send.acme.test>", "421 ")
	c.wantClosed()
}

func TestCommandsBetweenMessagesAreBounded(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.commands = 8 })
	c := w.dial(t)
	c.cmd("", "220 ")
	c.cmd("EHLO peer.test", "250-")
	for range 3 { // each message allows as many again
		c.begin()
		c.cmd("Subject: a\r\n\r\n.", "250 ")
	}
	for range 8 {
		c.cmd("RSET", "250 ")
	}
	c.cmd("RSET", "421 4.7.0")
	c.wantClosed()
}
