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

// message is one transaction up to its final dot: its envelope, its bytes and the reply.
type message struct {
	From string
	To   []string
	Raw  []byte
	At   time.Time // when the sink had read it
}

// behaviour determines what a sink does with new connections. The zero value accepts everything.
type behaviour struct {
	conn     func(net.Conn)          // handles the whole connection
	mail     func(from string) error // answer to MAIL
	rcpt     func(to string) error   // answer to RCPT
	afterDot func(*smtp.Conn) error  // answer to the final dot; the message is kept before
	dotDelay time.Duration           // before the answer to the final dot
	// pass replaces a message that arrived; nil keeps it. Controls use it to lose, repeat and alter
	// mail.
	pass func(message) []message
	// judge answers the final dot of a message, and tells whether it is kept; nil: it is.
	judge func(*smtp.Conn, *message) (keep bool, answer error)
	// most bounds open connections; further ones get 421; 0: no limit.
	most int64
	// patience is how many recipients may be refused on a connection before it is ended
	// with 421; 0: any number.
	patience int
}

// sink is an SMTP server that keeps what it receives. Its behaviour can be changed while it runs.
type sink struct {
	addr     string
	password atomic.Pointer[string] // when not empty, AUTH is asked for and must match
	startTLS *tls.Config
	utf8     bool
	behave   atomic.Pointer[behaviour]
	cert     atomic.Pointer[tls.Certificate]
	open     atomic.Int64 // connections, where their number is bounded
	closed   chan struct{}

	mu      sync.Mutex
	dials   []time.Time // when connections were made
	conns   []net.Conn  // that were made, open or not
	msgs    []message
	changed chan struct{} // closed and replaced with each message
}

// sinkOptions say how a sink is reached; the zero value is plain SMTP.
type sinkOptions struct {
	implicit *tls.Certificate // TLS from the first byte
	startTLS *tls.Certificate // offered
	password string
	addr     string // empty: a free port
	utf8     bool   // SMTPUTF8 is offered
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
		addr: l.Addr().String(), utf8: opts.utf8,
		closed: make(chan struct{}), changed: make(chan struct{}),
	}
	s.behave.Store(&behaviour{})
	s.password.Store(&opts.password)
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
	server.AllowInsecureAuth, server.EnableSMTPUTF8 = true, s.utf8
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

// accept passes each connection to the current behaviour.
func (s *sink) accept(l net.Listener, feed *feed, wg *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.dials, s.conns = append(s.dials, time.Now()), append(s.conns, c)
		s.mu.Unlock()
		b := s.behave.Load()
		if b.conn != nil {
			wg.Go(func() { s.takeOver(c, b.conn) })
			continue
		}
		if b.most > 0 {
			c = &counted{Conn: c, open: &s.open}
			if s.open.Add(1) > b.most {
				_, _ = io.WriteString(c, "421 4.7.0 too many connections\r\n")
				c.Close()
				continue
			}
		}
		select {
		case feed.conns <- c:
		case <-feed.done:
			c.Close()
		}
	}
}

// counted is an open connection.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// takeOver passes c to take and closes it afterwards, at the latest when the sink ends.
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

// drop closes all connections, as a relay that dies.
func (s *sink) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.Close()
	}
	s.conns = nil
}

func (s *sink) keep(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.msgs = append(s.msgs, m)
	close(s.changed)
	s.changed = make(chan struct{})
}

// dialled returns the times of all connections.
func (s *sink) dialled() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials)
}

// messages returns all messages so far.
func (s *sink) messages() []message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.msgs)
}

// matching returns the messages so far that match.
func (s *sink) matching(match func(*message) bool) []message {
	return slices.DeleteFunc(s.messages(), func(m message) bool { return !match(&m) })
}

// wait returns the matching messages once there are n. Each new one restarts the timeout.
func (s *sink) wait(t *testing.T, n int, timeout time.Duration, match func(*message) bool) (found []message) {
	t.Helper()
	guard := time.NewTimer(timeout)
	defer guard.Stop()
	for seen, before := 0, 0; ; before = len(found) {
		s.mu.Lock()
		changed, fresh := s.changed, s.msgs[seen:]
		s.mu.Unlock()
		for i := range fresh {
			if match(&fresh[i]) {
				found = append(found, fresh[i])
			}
		}
		seen += len(fresh)
		if len(found) >= n {
			return found
		}
		if len(found) > before {
			guard.Reset(timeout)
		}
		select {
		case <-changed:
		case <-guard.C:
			t.Fatalf("%d of %d messages came, the last %s ago (%d in all)", len(found), n, timeout, seen)
		}
	}
}

type sinkSession struct {
	sink *sink
	conn *smtp.Conn
	ok   bool // authenticated
	from string
	to   []string
	bad  int // recipients that were refused
}

func (s *sinkSession) Reset()        { s.from, s.to = "", nil }
func (s *sinkSession) Logout() error { return nil }

func (s *sinkSession) AuthMechanisms() []string {
	if *s.sink.password.Load() == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *sinkSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, _, password string) error {
		if password != *s.sink.password.Load() {
			return errors.New("wrong password")
		}
		s.ok = true
		return nil
	}), nil
}

func (s *sinkSession) Mail(from string, _ *smtp.MailOptions) error {
	if *s.sink.password.Load() != "" && !s.ok {
		return smtp.ErrAuthRequired
	}
	if mail := s.sink.behave.Load().mail; mail != nil {
		if err := mail(from); err != nil {
			return err
		}
	}
	s.from = from
	return nil
}

func (s *sinkSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if b := s.sink.behave.Load(); b.rcpt != nil {
		if err := b.rcpt(to); err != nil {
			return s.refuse(b.patience, err)
		}
	}
	s.to = append(s.to, to)
	return nil
}

// refuse answers a recipient, or ends the connection where it has met too many.
func (s *sinkSession) refuse(patience int, err error) error {
	if s.bad++; patience > 0 && s.bad > patience {
		_, _ = io.WriteString(s.conn.Conn(), "421 4.7.0 too many errors\r\n")
		return s.conn.Conn().Close()
	}
	return err
}

// Data keeps the message as soon as its final dot was read: the sender can't retract it then,
// whatever the reply.
func (s *sinkSession) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	b := s.sink.behave.Load()
	kept := []message{{From: s.from, To: slices.Clone(s.to), Raw: raw, At: time.Now()}}
	var answer error
	if b.judge != nil {
		keep := false
		if keep, answer = b.judge(s.conn, &kept[0]); !keep {
			return answer
		}
	}
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
	return answer
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
