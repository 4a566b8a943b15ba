package conn

import (
	"bufio"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// LineConfig configures Lines.
type LineConfig struct {
	Host         string      // in the greeting and the reply to EHLO
	TLS          *tls.Config // nil: no certificate
	BadRecipient string      // reply to RCPT whose argument the server above can't parse, with CR LF
	Log          *slog.Logger

	CommandLine int           // bytes of a command line
	Commands    int           // commands between two messages
	Timeout     time.Duration // for a command, unless SetCommandTimeout says otherwise
	Handshake   time.Duration // of TLS
	Message     int64         // bytes of a message in chunks
	// Deadline returns the time until which more of a message must have arrived, given that got bytes
	// arrived since start.
	Deadline func(start, now time.Time, got int64) time.Time
}

// Port configures how a listener is served.
type Port struct {
	TLS     bool          // implicit TLS; otherwise STARTTLS if there is a certificate
	Bounces bool          // receives mail from other servers too
	MaxAge  time.Duration // of a connection that has not signed in; 0: that of the Limits
}

// Lines makes LineConns.
type Lines struct {
	LineConfig
	upgraded *upgradedListener
	serve    sync.Once
}

// NewLines makes Lines.
func NewLines(cfg LineConfig) *Lines { return &Lines{LineConfig: cfg, upgraded: newUpgradedListener()} }

// Serve serves the connections of a listener of a Limiter, and those among them that start TLS later, until Close.
func (s *Lines) Serve(server *smtp.Server, l net.Listener, p Port) error {
	s.serve.Do(func() { go func() { _ = server.Serve(s.upgraded) }() }) // ends with the other listeners
	return server.Serve(&lineListener{l, s, p})
}

// Close ends serving connections that start TLS.
func (s *Lines) Close() { _ = s.upgraded.Close() }

// lineListener turns the connections of a listener into LineConns.
type lineListener struct {
	net.Listener
	lines *Lines
	port  Port
}

// Accept returns the next connection.
func (l *lineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := c.(*Conn) // of a Limiter
	if l.port.MaxAge > 0 {
		conn.Expire(l.port.MaxAge)
	}
	w := &LineConn{Conn: conn, stream: conn, lines: l.lines, port: l.port, timeout: l.lines.Timeout, greeting: "220 " + l.lines.Host + " ESMTP Mailer\r\n"}
	if l.port.TLS {
		w.stream, w.secure = tls.Server(conn, l.lines.TLS), true // the handshake happens at the greeting
		w.SetCommonDeadline(time.Now().Add(l.lines.Handshake))
	}
	w.r = bufio.NewReaderSize(w.stream, l.lines.CommandLine)
	return w, nil
}

// upgradedListener accepts connections after STARTTLS. The SMTP server above sees each as a new
// connection, so that nothing said before TLS counts (RFC 3207 4.2).
type upgradedListener struct {
	conns chan *LineConn
	ended chan struct{}
	once  sync.Once
}

func newUpgradedListener() *upgradedListener {
	return &upgradedListener{conns: make(chan *LineConn), ended: make(chan struct{})}
}

// Accept returns the next connection after STARTTLS.
func (h *upgradedListener) Accept() (net.Conn, error) {
	select {
	case w := <-h.conns:
		return w, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (h *upgradedListener) Close() error {
	h.once.Do(func() { close(h.ended) })
	return nil
}

// Addr returns an empty address.
func (h *upgradedListener) Addr() net.Addr { return &net.TCPAddr{} }

// upgrade starts TLS and hands the connection to the upgradedListener. A peer that sent more before
// the reply to STARTTLS is refused.
func (w *LineConn) upgrade() {
	if w.r.Buffered() > 0 {
		w.closeWith("501 5.5.1 Nothing may follow STARTTLS before its answer")
		return
	}
	if err := w.writeReply("220 2.0.0 Ready to start TLS"); err != nil {
		w.CloseAfterReply()
		return
	}
	w.SetCommonDeadline(time.Now().Add(w.lines.Handshake))
	secure := tls.Server(w.Conn, w.lines.TLS)
	if err := secure.Handshake(); err != nil {
		w.lines.Log.Debug("a TLS handshake failed", "err", err)
		w.CloseAfterReply()
		return
	}
	next := &LineConn{Conn: w.Conn, stream: secure, r: bufio.NewReaderSize(secure, w.lines.CommandLine), lines: w.lines, port: w.port, timeout: w.lines.Timeout, secure: true}
	select {
	case w.lines.upgraded.conns <- next:
		w.upgraded = true
	case <-w.lines.upgraded.ended:
		w.CloseAfterReply()
	}
}
