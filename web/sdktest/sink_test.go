package sdktest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// message is one transaction whose final dot was read: its envelope, its bytes
// and what the sink answered.
type message struct {
	From string
	To   []string
	Raw  []byte
	At   time.Time // when the sink had read it
}

// behaviour is what a sink does with connections from now on. The zero value
// takes everything.
type behaviour struct {
	conn     func(net.Conn)         // takes the whole connection over
	rcpt     func(to string) error  // answer to RCPT
	afterDot func(*smtp.Conn) error // answer to the final dot; the message is kept before
	dotDelay time.Duration          // before the answer to the final dot
	// pass is what is kept of a message that came: nil keeps it as it is. Controls
	// use it to lose, repeat and alter mail.
	pass func(message) []message
}

// sink is an SMTP server that keeps what it gets. What it does can be changed
// while it runs.
type sink struct {
	addr     string
	password string // when set, AUTH is asked for and must match
	startTLS *tls.Config
	behave   atomic.Pointer[behaviour]
	cert     atomic.Pointer[tls.Certificate]
	closed   chan struct{}

	mu      sync.Mutex
	dials   []time.Time // when connections came
	msgs    []message
	changed chan struct{} // closed and replaced with each message
}

// sinkOptions say how a sink is reached; the zero value is plain SMTP.
type sinkOptions struct {
	implicit *tls.Certificate // TLS from the first byte
	startTLS *tls.Certificate // offered
	password string
	addr     string // empty: a free port
}

func newSink(t *testing.T, opts sinkOptions) *sink {
	t.Helper()
	if opts.addr == "" {
		opts.addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", opts.addr)
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{
		addr: l.Addr().String(), password: opts.password,
		closed: make(chan struct{}), changed: make(chan struct{}),
	}
	s.behave.Store(&behaviour{})
	s.cert.Store(opts.implicit)
	if opts.startTLS != nil {
		s.startTLS = &tls.Config{Certificates: []tls.Certificate{*opts.startTLS}}
	}
	if opts.implicit != nil {
		l = tls.NewListener(l, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return s.cert.Load(), nil
		}})
	}
	s.run(t, l)
	return s
}

// run serves l until the test ends.
func (s *sink) run(t *testing.T, l net.Listener) {
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &sinkSession{sink: s, conn: c}, nil
	}))
	server.Domain = "sink.test"
	server.TLSConfig = s.startTLS
	server.AllowInsecureAuth = true
	server.ReadTimeout, server.WriteTimeout = time.Minute, time.Minute
	server.ErrorLog = quiet{}
	feed := &feed{addr: l.Addr(), conns: make(chan net.Conn), done: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(feed) })
	wg.Go(func() { s.accept(l, feed, &wg) })
	t.Cleanup(func() {
		close(s.closed)
		l.Close()
		server.Close()
		feed.Close()
		wg.Wait()
	})
}

// accept hands each connection to the behaviour of the moment.
func (s *sink) accept(l net.Listener, feed *feed, wg *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.dials = append(s.dials, time.Now())
		s.mu.Unlock()
		if take := s.behave.Load().conn; take != nil {
			wg.Go(func() { s.takeOver(c, take) })
			continue
		}
		select {
		case feed.conns <- c:
		case <-feed.done:
			c.Close()
		}
	}
}

// takeOver hands c to take and closes it afterwards, at the latest when the
// sink ends.
func (s *sink) takeOver(c net.Conn, take func(net.Conn)) {
	over := make(chan struct{})
	go func() {
		select {
		case <-s.closed:
		case <-over:
		}
		c.Close()
	}()
	take(c)
	close(over)
}

// set changes what the sink does.
func (s *sink) set(b behaviour) { s.behave.Store(&b) }

func (s *sink) keep(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.msgs = append(s.msgs, m)
	close(s.changed)
	s.changed = make(chan struct{})
}

// dialled is when connections came so far.
func (s *sink) dialled() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials)
}

// messages is what came so far.
func (s *sink) messages() []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.msgs)
}

// matching is what came so far and satisfies match.
func (s *sink) matching(match func(*message) bool) []message {
	return slices.DeleteFunc(s.messages(), func(m message) bool { return !match(&m) })
}

// wait returns the messages that satisfy match once there are n of them.
func (s *sink) wait(t *testing.T, n int, timeout time.Duration, match func(*message) bool) []message {
	t.Helper()
	deadline := time.After(timeout)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		found := s.matching(match)
		if len(found) >= n {
			return found
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d of %d messages came within %s (%d in all)", len(found), n, timeout, len(s.messages()))
		}
	}
}

type sinkSession struct {
	sink *sink
	conn *smtp.Conn
	ok   bool // authenticated
	from string
	to   []string
}

func (s *sinkSession) Reset()        { s.from, s.to = "", nil }
func (s *sinkSession) Logout() error { return nil }

func (s *sinkSession) AuthMechanisms() []string {
	if s.sink.password == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *sinkSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, password string) error {
		if password != s.sink.password {
			return errors.New("wrong password")
		}
		s.ok = true
		return nil
	}), nil
}

func (s *sinkSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.sink.password != "" && !s.ok {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

func (s *sinkSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if rcpt := s.sink.behave.Load().rcpt; rcpt != nil {
		if err := rcpt(to); err != nil {
			return err
		}
	}
	s.to = append(s.to, to)
	return nil
}

// Data keeps the message as soon as its final dot was read: from then on the
// sender can't take it back, whatever is answered.
func (s *sinkSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	b := s.sink.behave.Load()
	kept := []message{{From: s.from, To: slices.Clone(s.to), Raw: raw, At: time.Now()}}
	if b.pass != nil {
		kept = b.pass(kept[0])
	}
	for _, m := range kept {
		s.sink.keep(m)
	}
	if b.dotDelay > 0 {
		select {
		case <-time.After(b.dotDelay):
		case <-s.sink.closed:
		}
	}
	if b.afterDot != nil {
		return b.afterDot(s.conn)
	}
	return nil
}

// feed is a listener whose connections come from a channel.
type feed struct {
	addr  net.Addr
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (f *feed) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *feed) Addr() net.Addr { return f.addr }

func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

// quiet drops the server's complaints: broken connections are what these tests
// are about.
type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// subjectIs matches messages by a literal line of their header.
func subjectIs(subject string) func(*message) bool {
	return func(m *message) bool { return m.header("Subject") == subject }
}

// header is the decoded value of a header field, empty where there is none.
func (m *message) header(name string) string {
	v, err := wordDecoder.DecodeHeader(m.parsed().Header.Get(name))
	if err != nil {
		return "undecodable: " + err.Error()
	}
	return strings.TrimSpace(v)
}
