package submission

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"go.uber.org/goleak"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/web/smtp/conn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// takenMessage is one call of Accept.
type takenMessage struct {
	team, via string
	actor     app.Actor
	mail.Submission
}

// fakeService authenticates keys and accepts messages.
type fakeService struct {
	mu      sync.Mutex
	keys    map[string]app.Key // by token
	wrong   int
	taken   []takenMessage
	answer  error // of Accept
	check   error
	rate    error
	memory  error
	panics  bool
	block   chan struct{} // when set, Accept waits for it or its context
	entered chan struct{} // signaled when a call waits
	charged int64         // by ReserveMemory, and not released
}

func (f *fakeService) SignIn(ctx context.Context, token string, from netip.Addr) (*app.Key, error) {
	key, err := f.Recheck(ctx, token, from)
	f.mu.Lock()
	defer f.mu.Unlock()
	if app.CodeOf(err) == app.CodeInvalidAPIKey {
		if f.wrong++; f.wrong > 20 {
			return nil, app.Errorf(app.CodeRateLimitExceeded, "Too many")
		}
	}
	return key, err
}

func (f *fakeService) Recheck(_ context.Context, token string, from netip.Addr) (*app.Key, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, ok := f.keys[token]
	switch {
	case !ok:
		return nil, app.InvalidKey()
	case len(key.AllowedIPs) > 0 && !key.AllowedIPs[0].Contains(from):
		return nil, app.Errorf(app.CodeForbidden, "This API key may not be used from there")
	}
	return &key, nil
}

func (f *fakeService) Rate(*app.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rate
}

func (f *fakeService) ReserveMemory(_ context.Context, _ string, size int64) (func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.memory != nil {
		return nil, f.memory
	}
	f.charged += size
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.charged -= size
	}, nil
}

func (f *fakeService) Check(context.Context, *app.Key) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.check
}

func (f *fakeService) Accept(ctx context.Context, key *app.Key, m *mail.Submission) (string, error) {
	if f.block != nil {
		f.entered <- struct{}{}
		select {
		case <-f.block:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.panics {
		panic("a fault")
	}
	if f.answer != nil {
		return "", f.answer
	}
	f.taken = append(f.taken, takenMessage{key.TeamID, key.Via, app.ActorOf(ctx), *m})
	return "id-" + string(rune('0'+len(f.taken))), nil
}

func (f *fakeService) set(change func(f *fakeService)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeService) calls() []takenMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]takenMessage(nil), f.taken...)
}

// testServer is a server with connections from dial.
type testServer struct {
	*fakeService
	server *Server
	key    string // of the team "one"
	other  string // of the team "two"
	plain  *listener
	tls    *listener
	both   *listener // bounces too
}

// listener is one of connections that tests make.
type listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

// fakeAddrConn is a connection from an address.
type fakeAddrConn struct {
	net.Conn
	from net.Addr
}

func (c fakeAddrConn) RemoteAddr() net.Addr { return c.from }

// newTestServer runs a server until the test ends.
func newTestServer(t testing.TB, change func(*Config, *limits)) *testServer {
	t.Helper()
	f := &fakeService{keys: map[string]app.Key{}}
	w := &testServer{fakeService: f}
	for team, token := range map[string]*string{"one": &w.key, "two": &w.other} {
		*token, _, _ = app.NewKey()
		f.keys[*token] = app.Key{ID: "key-" + team, TeamID: team}
	}
	cfg, l := Config{Messages: f, API: f, Host: "mail.acme.test", TLS: certificate(t), Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, defaultLimits()
	if change != nil {
		change(&cfg, &l)
	}
	w.server = newServer(cfg, l)
	served := make(chan error, 3)
	for _, p := range []struct {
		l    **listener
		port conn.Port
	}{{&w.plain, conn.Port{}}, {&w.tls, conn.Port{TLS: true}}, {&w.both, conn.Port{Bounces: true}}} {
		*p.l = &listener{conns: make(chan net.Conn), done: make(chan struct{})}
		go func() { served <- w.server.Serve(*p.l, p.port) }()
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := w.server.Shutdown(ctx); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Errorf("shut down: %v", err)
		}
		for range 3 {
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
		}
		if u := w.server.disk.Usage(""); u.Used != 0 || u.Owners != 0 || f.charged != 0 {
			t.Errorf("still held: %+v of the disk, %d bytes of the memory", u, f.charged)
		}
	})
	return w
}

var certificate = func() func(t testing.TB) *tls.Config {
	made := sync.OnceValue(func() *tls.Config {
		key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"mail.acme.test"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	})
	return func(testing.TB) *tls.Config { return made() }
}()

// smtpClient is an SMTP dialogue.
type smtpClient struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
}

// dial connects from this machine, or from an address.
func (w *testServer) dial(t testing.TB, l *listener, from ...string) *smtpClient {
	t.Helper()
	at := net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000})
	if len(from) > 0 {
		at = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from[0] + ":4000"))
	}
	local, remote := pipe(t)
	select {
	case l.conns <- fakeAddrConn{remote, at}:
	case <-l.done:
		remote.Close()
	}
	_ = local.SetDeadline(time.Now().Add(time.Hour))
	return &smtpClient{t, local, bufio.NewReader(local)}
}

// pipe is a buffered connection, like a socket.
func pipe(t testing.TB) (local, remote net.Conn) {
	a, b := net.Pipe()
	c := &bufferedConn{Conn: a, more: make(chan struct{}, 1)}
	go c.pump()
	t.Cleanup(func() { c.Close() })
	return c, b
}

// bufferedConn is the side of a pipe that can write without anybody reading.
type bufferedConn struct {
	net.Conn
	mu     sync.Mutex
	out    []byte
	busy   bool // the pump holds some of it
	closed bool
	broken error
	more   chan struct{}
}

func (c *bufferedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if c.broken != nil {
		return 0, c.broken
	}
	c.out = append(c.out, b...)
	select {
	case c.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (c *bufferedConn) pump() {
	for range c.more {
		for {
			c.mu.Lock()
			out := c.out
			c.out, c.busy = nil, len(c.out) > 0
			c.mu.Unlock()
			if len(out) == 0 {
				break
			}
			if _, err := c.Conn.Write(out); err != nil {
				c.mu.Lock()
				c.broken = err
				c.mu.Unlock()
			}
		}
	}
}

func (c *bufferedConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.more)
	}
	return c.Conn.Close()
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

// send writes without waiting for an answer.
func (c *smtpClient) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatalf("%.80s: %v", text, err)
	}
}

// cmd sends a line, empty: none, and wants a reply that begins so.
func (c *smtpClient) cmd(line, want string) string {
	c.t.Helper()
	if line != "" {
		c.send(line + "\r\n")
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
	if _, err := io.Copy(io.Discard, c.r); err != nil {
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			c.t.Fatal("the connection stays open")
		}
	}
}

// greet sends everything up to AUTH.
func (c *smtpClient) greet() *smtpClient {
	c.t.Helper()
	c.cmd("", "220 mail.acme.test ESMTP Mailer")
	c.cmd("EHLO peer.test", "250-mail.acme.test Hello peer.test")
	return c
}

func plainResponse(key string) string {
	return "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00resend\x00"+key))
}

// signIn sends everything up to MAIL.
func (c *smtpClient) signIn(key string) *smtpClient {
	c.t.Helper()
	c.greet()
	c.cmd(plainResponse(key), "235 2.7.0 ")
	return c
}

// begin sends everything up to the text of a message.
func (c *smtpClient) begin() *smtpClient {
	c.t.Helper()
	c.cmd("MAIL FROM:<a@acme.test>", "250 ")
	c.cmd("RCPT TO:<bob@example.com>", "250 ")
	c.cmd("DATA", "354 ")
	return c
}

const message = "From: a@acme.test\r\nTo: bob@example.com\r\nSubject: hello\r\n\r\nHello\r\n"

// wantAlive checks that the server still accepts a message.
func (w *testServer) wantAlive(t *testing.T) {
	t.Helper()
	before := len(w.calls())
	c := w.dial(t, w.plain).signIn(w.key).begin()
	c.cmd(message+".", "250 2.0.0 Ok: queued as ")
	if len(w.calls()) != before+1 {
		t.Fatal("the message was not taken")
	}
	c.conn.Close()
}
