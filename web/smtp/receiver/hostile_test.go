package receiver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"mailer/app/rules/feedback"
)

// wantAlive checks that the server still accepts a report.
func (w *testServer) wantAlive(t *testing.T) {
	t.Helper()
	before := len(w.calls())
	c := w.dial(t)
	c.greet("")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ")
	c.cmd("DATA", "354 ")
	c.cmd(dsn+".", "250 ")
	if len(w.calls()) != before+1 {
		t.Fatal("the report was not taken")
	}
	c.conn.Close()
}

// open sends everything up to the text of a message.
func (w *testServer) open(t *testing.T) *smtpClient {
	t.Helper()
	c := w.dial(t)
	c.greet("")
	c.cmd("RCPT TO:<"+w.path(0)+">", "250 ")
	c.cmd("DATA", "354 ")
	return c
}

func TestLargeReportIsReadFromItsStart(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.open(t)
	line := strings.Repeat("x", 998) + "\r\n"
	body := dsn + strings.Repeat(line, 9<<10)
	c.cmd(body+".", "250 ")
	if len(w.calls()) != 1 {
		t.Error("not taken")
	}
}

func TestMessageSizeLimit(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.message = 10 << 20 })
	c := w.open(t)
	c.cmd(dsn+strings.Repeat(strings.Repeat("x", 998)+"\r\n", 11<<10)+".", "552 ")
	c.cmd("NOOP", "250 ")
	if len(w.calls()) != 0 {
		t.Error("taken")
	}
	d := w.dial(t)
	d.cmd("", "220 ")
	d.cmd("EHLO p.test", "250-")
	d.cmd("MAIL FROM:<> SIZE=11000000", "552 ")
	w.wantAlive(t)
}

func TestEndlessBodyIsCut(t *testing.T) {
	w := newTestServer(t, nil)
	c := w.open(t)
	line := []byte(strings.Repeat("x", 998) + "\r\n")
	sent, err := 0, error(nil)
	for sent = 0; err == nil && sent < 200<<20; sent += len(line) {
		_, err = c.conn.Write(line)
	}
	if err == nil {
		t.Fatalf("%d bytes were read", sent)
	}
	if len(w.calls()) != 0 {
		t.Error("taken")
	}
	w.wantAlive(t)
}

func TestHostileBytes(t *testing.T) {
	t.Parallel()
	w := newTestServer(t, func(l *limits) { l.conn.Idle, l.conn.SessionBytes = time.Second, 2<<20 })
	for name, text := range map[string]string{
		"endless header": strings.Repeat("X-A: "+strings.Repeat("a", 900)+"\r\n", 1500),
		"folds":          "Subject: a\r\n" + strings.Repeat(" b\r\n", 200000),
		"deep":           strings.Repeat("Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n", 5000),
		"NULs":           strings.Repeat(strings.Repeat("\x00", 900)+"\r\n", 500),
		"one line":       strings.Repeat("x", 1<<20),
		"bare LFs":       strings.Repeat("a\n.\n", 10000),
		"smuggled":       "a\n.\nMAIL FROM:<x@y.test>\r\nRCPT TO:<bob@example.com>\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := w.open(t)
			go func() { _, _ = io.WriteString(c.conn, text+"\r\n.\r\n") }()
			got, _ := c.answer()
			if got != "" && !strings.HasPrefix(got, "250 ") && !strings.HasPrefix(got, "5") && !strings.HasPrefix(got, "4") {
				t.Errorf("%q", got)
			}
			c.conn.Close()
		})
	}
	for name, command := range map[string]string{
		"long command": "MAIL FROM:<" + strings.Repeat("a", 1<<20), "binary": strings.Repeat("\x00\xff\r\n", 5000), "TLS": "\x16\x03\x01\x02\x00\x01\r\n",
		"BDAT for nobody": "EHLO a.test\r\nBDAT 4000000000\r\n" + strings.Repeat("x", 1<<20), "HTTP": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := w.dial(t)
			go func() { _, _ = io.WriteString(c.conn, command+"\r\n") }()
			c.wantClosed()
		})
	}
	w.wantAlive(t)
}

func TestSlowPeersAreCut(t *testing.T) {
	t.Parallel()
	w := newTestServer(t, func(l *limits) {
		l.conn.Idle, l.greet, l.session, l.conn.PerAddress = time.Second, time.Second, 2*time.Second, 50
	})
	silent := w.dial(t)
	silent.cmd("", "220 ")
	c := w.open(t) // sends a byte from time to time, forever
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if _, err := io.WriteString(c.conn, "x"); err != nil {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	silent.cmd("", "421 ")
	silent.wantClosed()
	c.wantClosed()
	close(stop)
	<-done
}

func TestConnectionLimits(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.conn.Conns, l.conn.PerAddress, l.conn.Reserve = 100, 10, 20 })
	var wg sync.WaitGroup
	var mu sync.Mutex
	greeted, refused := 0, 0
	held := make(chan struct{})
	const addresses, each = 50, 20 // 1,000 connections
	var answered sync.WaitGroup
	answered.Add(addresses * each)
	for i := range addresses {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i+1))}, Timeout: time.Minute}
		for range each {
			wg.Go(func() {
				conn, err := d.Dial("tcp", w.addr)
				if err != nil {
					answered.Done()
					t.Errorf("dial: %v", err)
					return
				}
				defer conn.Close()
				_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
				buf := make([]byte, 100)
				n, _ := io.ReadAtLeast(conn, buf, 4)
				mu.Lock()
				switch {
				case bytes.HasPrefix(buf[:n], []byte("220 ")):
					greeted++
				case bytes.HasPrefix(buf[:n], []byte("421 ")):
					refused++
				}
				mu.Unlock()
				answered.Done()
				<-held
			})
		}
	}
	answered.Wait()
	// Each address is admitted, at the cost of addresses with many connections.
	if conns, from := w.server.limiter.Counts(); conns > 100 || from != addresses || greeted+refused > addresses*each || refused < 500 {
		t.Errorf("%d greeted, %d refused, %d of %d addresses stay", greeted, refused, conns, from)
	}
	close(held)
	wg.Wait()
	w.waitEmpty(t)
	w.wantAlive(t)
}

// waitEmpty waits until there are no connections.
func (w *testServer) waitEmpty(t *testing.T) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conns, from := w.server.limiter.Counts()
		if conns == 0 && from == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d connections of %d addresses stay counted", conns, from)
		}
	}
}

func TestConnectionsPerAddress(t *testing.T) {
	w := newTestServer(t, nil)
	for range 20 {
		w.dial(t).cmd("", "220 ")
	}
	c := w.dial(t)
	c.cmd("", "421 ")
	c.wantClosed()
}

// TestSlowMessagesKeepNobodyOut: peers that know an address hold all connections in the middle of messages.
func TestSlowMessagesKeepNobodyOut(t *testing.T) {
	w := newTestServer(t, func(l *limits) { l.conn.Conns, l.conn.PerAddress, l.conn.Reserve = 10, 10, 2 })
	var slow []*smtpClient
	for range 8 {
		c := w.dial(t)
		c.greet("bob@example.com")
		c.cmd("RCPT TO:<ann@acme.test>", "250 ")
		c.cmd("DATA", "354 ")
		slow = append(slow, c)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}
	for range 2 {
		conn, err := d.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		c := &smtpClient{t: t, conn: conn, r: bufio.NewReader(conn)}
		c.greet("bob@example.com")
		c.cmd("RCPT TO:<ann@acme.test>", "250 ")
		c.cmd("DATA", "354 ")
		c.cmd(mailText+".", "250 ")
		defer conn.Close()
	}
	if len(w.mail.calls()) != 2 {
		t.Error("not taken")
	}
	closed := 0
	for _, c := range slow {
		_, err := io.WriteString(c.conn, mailText+".\r\n")
		got := ""
		if err == nil {
			got, _ = c.answer()
		}
		if !strings.HasPrefix(got, "250 ") {
			closed++
		}
	}
	if closed != 1 { // package conn tests which one
		t.Errorf("%d of the slow ones were closed", closed)
	}
}

func TestShutdownWaitsForMessage(t *testing.T) {
	w := newTestServer(t, nil)
	w.block, w.entered = make(chan struct{}), make(chan struct{}, 1)
	idle := w.dial(t)
	idle.cmd("", "220 ")
	c := w.open(t)
	if _, err := io.WriteString(c.conn, dsn+".\r\n"); err != nil {
		t.Fatal(err)
	}
	<-w.entered
	over := make(chan error, 1)
	go func() { over <- w.server.Shutdown(context.Background()) }()
	idle.cmd("", "421 ")
	idle.wantClosed()
	select {
	case err := <-over:
		t.Fatalf("over before the message was: %v", err)
	default:
	}
	close(w.block)
	c.cmd("", "250 ")
	c.wantClosed()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", w.addr); err == nil {
		t.Error("still listens")
	}
}

func TestShutdownTimeout(t *testing.T) {
	w := newTestServer(t, nil)
	w.block, w.entered = make(chan struct{}), make(chan struct{}, 1)
	half := w.open(t)
	stored := w.open(t)
	if _, err := io.WriteString(stored.conn, dsn+".\r\n"); err != nil {
		t.Fatal(err)
	}
	<-w.entered
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
		t.Error(err)
	}
	half.wantClosed()
	if got, _ := stored.answer(); strings.HasPrefix(got, "250") {
		t.Errorf("said %q of what is not stored", got)
	}
}

func TestPanicIsTemporaryFailure(t *testing.T) {
	w := newTestServer(t, nil)
	w.server.parse = func([]byte, bool) []feedback.Claim { panic("a fault") }
	c := w.open(t)
	c.cmd(dsn+".", "250 ")
	if len(w.calls()) != 0 {
		t.Error("something was taken")
	}
}

func TestServeAfterShutdown(t *testing.T) {
	w := newTestServer(t, nil)
	if err := w.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.Serve(l); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("still listens: %v", err)
	}
}
