package submission

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"mailer/web/smtp/conn"
)

// lineListener turns the connections of a listener into lineConns.
type lineListener struct {
	net.Listener
	server *Server
	port   Port
}

// Accept returns the next connection.
func (l *lineListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := c.(*conn.Conn) // of a Limiter
	if l.port.Bounces {
		conn.Expire(l.server.limits.bouncePortAge) // mail servers never sign in
	}
	w := &lineConn{Conn: conn, stream: conn, server: l.server, port: l.port, greeting: "220 " + l.server.cfg.Host + " ESMTP Mailer\r\n"}
	if l.port.TLS {
		w.stream, w.secure = tls.Server(conn, l.server.cfg.TLS), true // the handshake happens at the greeting
		w.SetCommonDeadline(time.Now().Add(l.server.limits.handshake))
	}
	w.r = bufio.NewReaderSize(w.stream, l.server.limits.command)
	return w, nil
}

// upgradedListener accepts connections after STARTTLS. The SMTP server above sees each as a new
// connection, so that nothing said before TLS counts (RFC 3207 4.2).
type upgradedListener struct {
	conns chan *lineConn
	ended chan struct{}
	once  sync.Once
}

func newUpgradedListener() *upgradedListener {
	return &upgradedListener{conns: make(chan *lineConn), ended: make(chan struct{})}
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
func (w *lineConn) upgrade() {
	if w.r.Buffered() > 0 {
		w.closeWith("501 5.5.1 Nothing may follow STARTTLS before its answer")
		return
	}
	if err := w.writeReply("220 2.0.0 Ready to start TLS"); err != nil {
		w.CloseAfterReply()
		return
	}
	w.SetCommonDeadline(time.Now().Add(w.server.limits.handshake))
	secure := tls.Server(w.Conn, w.server.cfg.TLS)
	if err := secure.Handshake(); err != nil {
		w.server.cfg.Log.Debug("a TLS handshake failed", "err", err)
		w.CloseAfterReply()
		return
	}
	next := &lineConn{Conn: w.Conn, stream: secure, r: bufio.NewReaderSize(secure, w.server.limits.command), server: w.server, port: w.port, secure: true}
	select {
	case w.server.upgraded.conns <- next:
		w.upgraded = true
	case <-w.server.upgraded.ended:
		w.CloseAfterReply()
	}
}
