package submission

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/emersion/go-smtp"

	"mailer/app"
	"mailer/web/smtp/conn"
	"mailer/web/smtp/spool"
)

// lines is a text of n lines of 100 bytes.
func lines(n int) string { return strings.Repeat(strings.Repeat("x", 98)+"\r\n", n) }

func TestMalformedMessagesAreRefused(t *testing.T) {
	w := newTestServer(t, nil)
	long := strings.Repeat("x", 998)
	for name, test := range map[string]struct{ text, want string }{
		"no header":                {"\r\nHello\r\n", "250 "},
		"nothing":                  {"", "250 "},
		"998 bytes":                {message + long + "\r\n", "250 "},
		"998 bytes and a dot":      {message + ".." + long[1:] + "\r\n", "250 "},
		"999 bytes":                {message + long + "x\r\n", "554 5.6.0 "},
		"a line of a megabyte":     {message + strings.Repeat("x", 1<<20) + "\r\n", "554 5.6.0 "},
		"bare LF":                  {"Subject: a\n\nb\r\n", "554 5.6.0 "},
		"bare CR":                  {"Subject: a\rb\r\n\r\n", "554 5.6.0 "},
		"two CR":                   {"Subject: a\r\r\n\r\n", "554 5.6.0 "},
		"NUL":                      {message + "a\x00b\r\n", "554 5.6.0 "},
		"smuggled LF dot LF":       {message + "\n.\nMAIL FROM:<x@y.test>\r\nRCPT TO:<bob@example.com>\r\nDATA\r\n", "554 5.6.0 "},
		"smuggled LF dot CRLF":     {message + "x\n.\r\nMAIL FROM:<x@y.test>\r\nRCPT TO:<bob@example.com>\r\nDATA\r\n", "554 5.6.0 "},
		"smuggled CRLF dot LF":     {message + ".\nMAIL FROM:<x@y.test>\r\nRCPT TO:<bob@example.com>\r\nDATA\r\n", "554 5.6.0 "},
		"smuggled CR dot CR":       {message + "x\r.\rMAIL FROM:<x@y.test>\r\nRCPT TO:<bob@example.com>\r\n", "554 5.6.0 "},
		"smuggled CRLF NUL dot":    {message + "\x00.\r\nMAIL FROM:<x@y.test>\r\n", "554 5.6.0 "},
		"an endless header":        {strings.Repeat("X-A: "+strings.Repeat("a", 900)+"\r\n", 1000), "250 "},
		"folds":                    {"Subject: a\r\n" + strings.Repeat(" b\r\n", 200_000), "250 "},
		"commands in the text":     {message + "RSET\r\nSTARTTLS\r\nBDAT 5 LAST\r\nQUIT\r\n", "250 "},
		"nothing but dots":         {strings.Repeat("..\r\n", 1000), "250 "},
		"8-bit":                    {message + "\xff\xfe\r\n", "250 "},
		"a CR behind a dot":        {message + ".\rx\r\n", "554 5.6.0 The message has a carriage return"},
		"two CR behind a dot":      {message + ".\r\r\n", "554 5.6.0 "},
		"two CR before the end":    {message + "x\r\r\n", "554 5.6.0 "},
		"a CR at the buffer's end": {message + strings.Repeat("x", 2047-len("\r\n")) + "\r\n", "554 5.6.0 "},
		"a carriage return behind": {message + "..\r.\r\n", "554 5.6.0 "},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(w.calls())
			c := w.dial(t, w.plain).signIn(w.key).begin()
			c.cmd(test.text+".", test.want)
			got := w.calls()
			if taken := len(got) > before; taken != (test.want == "250 ") {
				t.Errorf("taken: %t", taken)
			} else if taken {
				wellFormed(t, got[before].Message)
			}
			c.begin().cmd(message+".", "250 ") // the dialogue continues normally
			c.conn.Close()
		})
	}
}

// wellFormed wants lines that end with CRLF and have at most 998 bytes.
func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for i, line := range bytes.SplitAfter(text, []byte("\r\n")) {
		words, ended := bytes.CutSuffix(line, []byte("\r\n"))
		if len(line) > 0 && (!ended || bytes.ContainsAny(words, "\r\n\x00") || len(words) > 998) {
			t.Errorf("line %d: %.80q", i, line)
		}
	}
}

func TestBDAT(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).signIn(w.key)
	envelope := func() *smtpClient {
		c.cmd("MAIL FROM:<a@acme.test>", "250 ")
		c.cmd("RCPT TO:<bob@example.com>", "250 ")
		return c
	}
	envelope().send("BDAT 10\r\n" + message[:10])
	c.cmd("", "250 ")
	c.send(fmt.Sprintf("BDAT 0\r\nBDAT %d LAST\r\n%s", len(message)-10, message[10:]))
	c.cmd("", "250 ")
	c.cmd("", "250 2.0.0 Ok: queued as id-1")
	whole := strings.TrimSuffix(message, "\r\n")
	envelope().send(fmt.Sprintf("BDAT %d LAST\r\n%s", len(whole), whole))
	c.cmd("", "250 2.0.0 Ok: queued as id-2")
	text := "Subject: a\r\n\r\n.\r\nSTARTTLS\r\n" + strings.Repeat("x", 5000) + "\r\n"
	envelope().send(fmt.Sprintf("BDAT %d LAST\r\n%s", len(text), text))
	c.cmd("", "554 5.6.0 ")
	envelope().send("BDAT 3 LAST\r\na\r\n")
	c.cmd("", "250 2.0.0 Ok: queued as id-3")
	c.send("BDAT 6 LAST\r\nQUIT\r\n")
	c.cmd("", "502 ") // no recipients
	c.cmd("MAIL FROM:<a@acme.test>", "250 ")
	for i, want := range []string{message, message, "a\r\n"} {
		if got := w.calls()[i].Message; string(got) != want {
			t.Errorf("%d: %q", i, got)
		}
	}
}

func TestOnlyBDATBetweenChunks(t *testing.T) {
	w := newTestServer(t, nil)
	for _, command := range []string{"RSET", "MAIL FROM:<a@acme.test>", "STARTTLS", "NOOP", "QUIT", "EHLO a.test", "BDAT", "BDAT x", "BDAT 5 FIRST", "BDAT -1", "BDAT 41943040"} {
		c := w.dial(t, w.plain).signIn(w.key)
		c.cmd("MAIL FROM:<a@acme.test>", "250 ")
		c.cmd("RCPT TO:<bob@example.com>", "250 ")
		c.send("BDAT 10\r\n0123456789")
		c.cmd("", "250 ")
		c.cmd(command, "5")
		c.wantClosed()
	}
	if len(w.calls()) != 0 {
		t.Error("something was taken")
	}
	w.wantAlive(t)
}

func TestMessageSizeLimit(t *testing.T) {
	w := newTestServer(t, func(_ *Config, l *limits) { l.message, l.conn.SessionBytes = 1<<20, 2<<20 })
	c := w.dial(t, w.plain).signIn(w.key)
	c.cmd("MAIL FROM:<a@acme.test> SIZE=1048577", "552 5.3.4 ")
	c.begin().cmd(message+lines(11_000)+".", "552 5.3.4 ")
	c.cmd("MAIL FROM:<a@acme.test>", "250 ")
	c.cmd("RCPT TO:<bob@example.com>", "250 ")
	c.send("BDAT 1048577 LAST\r\n" + strings.Repeat("x", 1048577))
	c.cmd("", "552 5.3.4 ")
	c.begin().cmd(message+lines(10_000)+".", "250 ")
	c = c.begin()
	go func() { _, _ = io.WriteString(c.conn, lines(30_000)) }()
	c.wantClosed()
	if len(w.calls()) != 1 {
		t.Error("taken")
	}
	w.wantAlive(t)
}

// leftFiles returns the files in the directory of messages.
func leftFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestLargeMessageIsUnlinkedFile(t *testing.T) {
	w := newTestServer(t, nil)
	dir := w.server.cfg.Dir
	c := w.dial(t, w.plain).signIn(w.key).begin()
	piece := lines(1000)
	c.send(piece)
	for range 50 { // 5 MB
		c.send(piece)
		c.conn.(*bufferedConn).drained()
	}
	if got := leftFiles(t, dir); len(got) != 0 {
		t.Errorf("while it arrives there is %q", got)
	}
	c.cmd(".", "250 ")
	if got := w.calls()[0].Message; string(got) != strings.Repeat(piece, 51) {
		t.Errorf("%d bytes, and not those that were sent", len(got))
	}
	for _, size := range []int{654, 655, 656, 657} { // about 64 KiB
		c.begin().cmd(lines(size)+".", "250 ")
		got := w.calls()
		if string(got[len(got)-1].Message) != lines(size) {
			t.Errorf("%d lines came as something else", size)
		}
	}
}

// drained waits until all that was written is read.
func (c *bufferedConn) drained() {
	for {
		c.mu.Lock()
		done := len(c.out) == 0 && !c.busy
		c.mu.Unlock()
		if done {
			return
		}
		runtime.Gosched()
	}
}

func TestFilesOfKilledServerAreSwept(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"mailer-smtp-12345.tmp", "mailer.db"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spool.Sweep(dir)
	if got := leftFiles(t, dir); len(got) != 1 || filepath.Base(got[0]) != "mailer.db" {
		t.Errorf("left: %q", got)
	}
}

func TestDiskShareOfTeam(t *testing.T) {
	w := newTestServer(t, func(_ *Config, l *limits) { l.disk, l.share = 3<<20, 1<<20 })
	first := w.dial(t, w.plain).signIn(w.key).begin()
	first.send(lines(9_000))
	first.conn.(*bufferedConn).drained()
	second := w.dial(t, w.plain).signIn(w.key).begin()
	second.cmd(lines(9_000)+".", "452 4.3.1 ")
	neighbour := w.dial(t, w.plain).signIn(w.other).begin()
	neighbour.cmd(lines(9_000)+".", "250 ")
	first.cmd(".", "250 ")
	second.begin().cmd(lines(9_000)+".", "250 ")
}

func TestMissingFolderIsInternalError(t *testing.T) {
	w := newTestServer(t, func(c *Config, _ *limits) { c.Dir = filepath.Join(c.Dir, "none") })
	c := w.dial(t, w.plain).signIn(w.key).begin()
	c.cmd(lines(1000)+".", "451 4.3.0 ")
	c.begin().cmd(message+".", "250 ")
}

func TestTenThousandRecipients(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).signIn(w.key)
	c.cmd("MAIL FROM:<a@acme.test>", "250 ")
	c.send(strings.Repeat("RCPT TO:<bob@example.com>\r\n", 10_000))
	for n := range 10_000 {
		want := "250 "
		if n >= 50 {
			want = "452 4.5.3 "
		}
		c.cmd("", want)
	}
	c.cmd("DATA", "354 ")
	c.cmd(message+".", "250 ")
	if got := w.calls(); len(got) != 1 || len(got[0].Recipients) != 50 {
		t.Errorf("%+v", got)
	}
}

func TestHostileCommands(t *testing.T) {
	w := newTestServer(t, func(_ *Config, l *limits) { l.commands, l.conn.SessionBytes = 2000, 4<<20 })
	for name, command := range map[string]string{
		"long":              "MAIL FROM:<" + strings.Repeat("a", 1<<20),
		"endless":           strings.Repeat("a", 1<<20),
		"binary":            strings.Repeat("\x00\xff\r\n", 5000),
		"TLS":               "\x16\x03\x01\x02\x00\x01\r\n\x00",
		"a carriage return": "EHLO a\rb\r\n",
		"BDAT for nobody":   "EHLO a.test\r\nBDAT 4000000000\r\n" + strings.Repeat("x", 5<<20),
		"HTTP":              "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\nC: d\r\n\r\n",
		"without an end":    strings.Repeat("NOOP\r\n", 3000),
		"nothing at all":    strings.Repeat("\r\n", 3000),
		"many wrong words":  strings.Repeat("XXXX\r\n", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			c := w.dial(t, w.plain)
			go func() { _, _ = io.WriteString(c.conn, command+"\r\n") }()
			c.wantClosed()
		})
	}
	w.wantAlive(t)
}

func TestManyMessagesPerConnection(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.dial(t, w.plain).signIn(w.key)
	for range 10_000 {
		c.cmd("MAIL FROM:<a@acme.test>\r\nRCPT TO:<bob@example.com>\r\nDATA", "250 ")
		c.cmd("", "250 ")
		c.cmd("", "354 ")
		c.cmd(message+".", "250 ")
	}
	if n := len(w.calls()); n != 10_000 {
		t.Errorf("%d messages were taken", n)
	}
}

func TestRateLimitedMessageWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestServer(t, nil)
		tooFast := func(f *fakeService) { f.rate = app.Errorf(app.CodeRateLimitExceeded, "Too many requests") }
		c := w.dial(t, w.plain).signIn(w.key)
		w.set(tooFast)
		go func() {
			time.Sleep(10 * time.Second)
			w.set(func(f *fakeService) { f.rate = nil })
		}()
		begun := time.Now()
		c.begin().cmd(message+".", "250 ")
		if waited := time.Since(begun); waited < 10*time.Second || waited > 11*time.Second {
			t.Errorf("it waited %s", waited)
		}
		w.set(tooFast)
		begun = time.Now()
		c.cmd("MAIL FROM:<a@acme.test>", "450 4.7.1 ")
		if waited := time.Since(begun); waited < 30*time.Second || waited > 31*time.Second {
			t.Errorf("it was refused after %s", waited)
		}
		go func() { _ = w.server.Shutdown(t.Context()) }()
		c.conn.Close()
		w.set(func(f *fakeService) { f.rate = nil })
	})
}

func TestConnectionsPerAddress(t *testing.T) {
	w := newTestServer(t, nil)
	for range 20 {
		w.dial(t, w.plain).cmd("", "220 ")
	}
	for _, l := range []*listener{w.plain, w.both} {
		c := w.dial(t, l)
		c.cmd("", "421 4.7.0 ")
		c.wantClosed()
	}
}

// TestIdleConnectionsAreEvicted: new connections are admitted, and signed-in ones are kept.
func TestIdleConnectionsAreEvicted(t *testing.T) {
	w := newTestServer(t, nil)
	mine := w.dial(t, w.plain, "127.0.0.2").signIn(w.key)
	for address := range 10 {
		for range 20 {
			w.dial(t, w.plain, fmt.Sprintf("192.0.2.%d", address)).cmd("", "") // 220, or 421
		}
	}
	w.dial(t, w.plain, "127.0.0.3").signIn(w.other).begin().cmd(message+".", "250 ")
	w.dial(t, w.plain, "127.0.0.2").signIn(w.key).begin().cmd(message+".", "250 ")
	mine.begin().cmd(message+".", "250 ")
	if conns, _ := w.server.limiter.Counts(); conns > 200 {
		t.Errorf("%d connections", conns)
	}
}

func TestTimeLimits(t *testing.T) {
	// trickle writes a byte each minute until the connection is closed, and says when.
	trickle := func(c *smtpClient) time.Duration {
		begun := time.Now()
		go func() {
			for {
				time.Sleep(time.Minute)
				if _, err := io.WriteString(c.conn, "x"); err != nil {
					return
				}
			}
		}()
		c.wantClosed()
		return time.Since(begun)
	}
	for name, test := range map[string]struct {
		begin func(w *testServer, t *testing.T) *smtpClient
		most  time.Duration
		quiet bool
	}{
		"nobody signs in":                    {func(w *testServer, t *testing.T) *smtpClient { return w.dial(t, w.plain).greet() }, 30 * time.Second, true},
		"nobody signs in where bounces come": {func(w *testServer, t *testing.T) *smtpClient { return w.dial(t, w.both).greet() }, 5 * time.Minute, true},
		"a command trickles":                 {func(w *testServer, t *testing.T) *smtpClient { return w.dial(t, w.plain).signIn(w.key) }, 5 * time.Minute, false},
		"nothing comes":                      {func(w *testServer, t *testing.T) *smtpClient { return w.dial(t, w.plain).signIn(w.key) }, 5 * time.Minute, true},
		"a message stops":                    {func(w *testServer, t *testing.T) *smtpClient { return w.dial(t, w.plain).signIn(w.key).begin() }, time.Minute, true},
		"a message trickles":                 {func(w *testServer, t *testing.T) *smtpClient { return w.dial(t, w.plain).signIn(w.key).begin() }, time.Minute + time.Second, false},
		"no handshake":                       {func(w *testServer, t *testing.T) *smtpClient { return w.dial(t, w.tls) }, 30 * time.Second, true},
		"no handshake on STARTTLS": {func(w *testServer, t *testing.T) *smtpClient {
			c := w.dial(t, w.plain).greet()
			c.cmd("STARTTLS", "220")
			return c
		}, 30 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestServer(t, nil)
				c := test.begin(w, t)
				begun, took := time.Now(), time.Duration(0)
				if test.quiet {
					c.wantClosed()
					took = time.Since(begun)
				} else {
					took = trickle(c)
				}
				if took < test.most-time.Minute || took > test.most+2*time.Second {
					t.Errorf("it ended after %s, not %s", took, test.most)
				}
				if len(w.calls()) != 0 {
					t.Error("something was taken")
				}
				c.conn.Close()
				time.Sleep(2 * time.Minute) // trickling connections are closed
			})
		})
	}
}

func TestSteadySlowMessageIsAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestServer(t, nil)
		c := w.dial(t, w.plain).signIn(w.key).begin()
		for range 600 { // 10 minutes, 10 KB a second
			c.send(lines(100))
			time.Sleep(time.Second)
		}
		c.cmd(".", "250 ")
		time.Sleep(4 * time.Minute)
		c.begin().cmd(message+".", "250 ")
		c.conn.Close()
	})
}

// fakeBounces accepts bounce+1@send.acme.test.
type fakeBounces struct {
	*conn.Conn
	from, text string
	rcpts      int
}

func (f *fakeBounces) Reset()        {}
func (f *fakeBounces) Logout() error { return nil }
func (f *fakeBounces) Mail(from string, _ *smtp.MailOptions) error {
	f.from = from
	return nil
}

func (f *fakeBounces) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to != "bounce+1@send.acme.test" {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "Relays nothing"}
	}
	f.rcpts++
	return nil
}

func (f *fakeBounces) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	f.text = string(b)
	return err
}

func TestBouncesAndMailOnOnePort(t *testing.T) {
	var last *fakeBounces
	w := newTestServer(t, func(c *Config, _ *limits) {
		c.Bounces = func(c *conn.LineConn, _ func() string) smtp.Session { last = &fakeBounces{Conn: c.Conn}; return last }
	})
	c := w.dial(t, w.both, "192.0.2.7").greet()
	c.cmd("MAIL FROM:<>", "250 ")
	c.cmd("RCPT TO:<bob@example.com>", "550 5.7.1 ")
	c.cmd("RCPT TO:<bounce+1@send.acme.test>", "250 ")
	c.cmd("RCPT TO:<bob@example.com>", "550 5.7.1 ")
	c.cmd("DATA", "354 ")
	c.cmd("Subject: bounce\r\n"+strings.Repeat("x", 3000)+"\r\n.", "250 ")
	if !strings.HasPrefix(last.text, "Subject: bounce\r\n") || last.rcpts != 1 {
		t.Errorf("%+v", last)
	}
	c.startTLS()
	c.signedIn(w.key)
	c.cmd("MAIL FROM:<a@acme.test>", "250 ")
	c.cmd("RCPT TO:<bounce+1@send.acme.test>", "250 ") // mail like any other
	c.cmd("DATA", "354 ")
	c.cmd(message+".", "250 2.0.0 Ok: queued as id-1")
	if last.rcpts != 0 || len(w.calls()) != 1 {
		t.Errorf("%+v, %d taken", last, len(w.calls()))
	}
	c = w.dial(t, w.plain).greet()
	c.cmd("MAIL FROM:<>", "530 5.7.0 ")
}

// signedIn signs in after TLS.
func (c *smtpClient) signedIn(key string) {
	c.t.Helper()
	c.cmd("EHLO peer.test", "250")
	c.cmd(plainResponse(key), "235 ")
}

func TestServeAfterShutdown(t *testing.T) {
	w := newTestServer(t, nil)
	if err := w.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := &listener{conns: make(chan net.Conn), done: make(chan struct{})}
	if err := w.server.Serve(l, conn.Port{}); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("still listens: %v", err)
	}
}

func TestLogHasNoAddresses(t *testing.T) {
	var log bytes.Buffer
	w := newTestServer(t, func(c *Config, _ *limits) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	w.set(func(f *fakeService) { f.answer = app.Invalid("subject", "is bad") })
	c := w.dial(t, w.plain).signIn(w.key).begin()
	c.cmd(message+".", "550 ")
	c.cmd("QUIT", "221 ")
	c.wantClosed()
	if err := w.server.Shutdown(t.Context()); err != nil { // nothing writes any more
		t.Fatal(err)
	}
	if got := log.String(); strings.Contains(got, "bob@") || strings.Contains(got, "acme.test") || strings.Contains(got, w.key) || !strings.Contains(got, `answer="550 5.6.0"`) {
		t.Errorf("%s", got)
	}
}

// FuzzDialogue: the server answers everything in lines, and accepts only well-formed messages.
func FuzzDialogue(f *testing.F) {
	for _, seed := range []string{
		"EHLO a\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\nSubject: x\r\n\r\nx\r\n.\r\nQUIT\r\n",
		"EHLO a\r\nMAIL FROM:<a@b.test> SIZE=1 BODY=8BITMIME AUTH=<>\r\nRCPT TO:<c@d.test>\r\nBDAT 3\r\nabcBDAT 2 LAST\r\n\r\n",
		"EHLO a\r\nAUTH LOGIN\r\n=\r\n=\r\nAUTH PLAIN AAA\r\n*\r\n", "HELO a\nSTARTTLS\r\n", "BDAT 0 LAST\r\nRSET\r\n",
		"EHLO a\r\nMAIL FROM:<>\r\nRCPT TO:<\"a b\"@d.test>\r\nRCPT TO:<c@d.test>\r\nDATA\r\na\n.\nb\r\n.\n\r\n.\r\n",
	} {
		f.Add([]byte(seed))
	}
	w := newTestServer(f, func(c *Config, l *limits) {
		c.DefaultToken, _, _ = app.NewKey()
		l.message, l.conn.SessionBytes, l.memory = 4096, 64<<10, 256
	})
	w.keys[w.server.cfg.DefaultToken] = app.Key{TeamID: "fuzz"}
	f.Fuzz(func(t *testing.T, said []byte) {
		before := len(w.calls())
		c := w.dial(t, w.plain)
		c.t = t
		go func() {
			_, _ = c.conn.Write(said)
			c.conn.(*bufferedConn).drained()
			_ = c.conn.Close()
		}()
		for s := bufio.NewScanner(c.r); s.Scan(); {
			if line := s.Bytes(); len(line) < 4 || line[3] != ' ' && line[3] != '-' || len(line) > 2200 {
				t.Errorf("answered %q", line)
			}
		}
		for _, m := range w.calls()[before:] {
			wellFormed(t, m.Message)
		}
	})
}
