package submission

import (
	"bufio"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"mailer/web/smtp/conn"
)

// wired makes the connections of a listener wires.
type wired struct {
	net.Listener
	server *Server
	port   Port
}

// Accept returns the next connection.
func (l *wired) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := c.(*conn.Conn) // of a Door
	if l.port.Bounces {
		conn.Expire(l.server.limits.other) // other servers never sign in
	}
	w := &wire{Conn: conn, stream: conn, server: l.server, port: l.port, hail: "220 " + l.server.cfg.Host + " ESMTP Mailer\r\n"}
	if l.port.TLS {
		w.stream, w.secure = tls.Server(conn, l.server.cfg.TLS), true // it shakes hands at the greeting
		w.Due(time.Now().Add(l.server.limits.handshake))
	}
	w.r = bufio.NewReaderSize(w.stream, l.server.limits.command)
	return w, nil
}

// handover is the listener by which connections that went over to TLS begin anew: to
// the server on top each is a connection that it knows nothing of, so that nothing that
// was said before counts (RFC 3207 4.2).
type handover struct {
	conns chan *wire
	ended chan struct{}
	once  sync.Once
}

func newUpgradedListener() *handover {
	return &handover{conns: make(chan *wire), ended: make(chan struct{})}
}

// Accept returns the next connection that went over to TLS.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case w := <-h.conns:
		return w, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

// Close has no more connections begin anew.
func (h *handover) Close() error {
	h.once.Do(func() { close(h.ended) })
	return nil
}

// Addr is none.
func (h *handover) Addr() net.Addr { return &net.TCPAddr{} }

// upgrade goes over to TLS and has the connection begin anew. What came before the
// answer to STARTTLS is no part of what follows: a peer that sent more is refused.
func (w *wire) upgrade() {
	if w.r.Buffered() > 0 {
		w.dismiss("501 5.5.1 Nothing may follow STARTTLS before its answer")
		return
	}
	if err := w.say("220 2.0.0 Ready to start TLS"); err != nil {
		w.End()
		return
	}
	w.Due(time.Now().Add(w.server.limits.handshake))
	secure := tls.Server(w.Conn, w.server.cfg.TLS)
	if err := secure.Handshake(); err != nil {
		w.server.cfg.Log.Debug("a TLS handshake failed", "err", err)
		w.End()
		return
	}
	next := &wire{Conn: w.Conn, stream: secure, r: bufio.NewReaderSize(secure, w.server.limits.command), server: w.server, port: w.port, secure: true}
	select {
	case w.server.upgraded.conns <- next:
		w.moved = true
	case <-w.server.upgraded.ended:
		w.End()
	}
}
