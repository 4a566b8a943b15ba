package smtpout

import (
	"errors"
	"net"
	"time"

	"github.com/emersion/go-smtp"
)

// maxAnswer bounds what a relay may send between two writes of ours, in bytes:
// net/textproto joins the lines of a reply without any limit of its own.
const maxAnswer = 64 << 10

// quitTimeout is how long the answer to QUIT is worth waiting for.
const quitTimeout = 2 * time.Second

var errTooMuch = errors.New("the relay's reply has no end")

// wire is the bare socket under TLS and SMTP. go-smtp sets no deadline while a
// body is written; wire gives each write one, so that a relay that stops reading
// can't hold us for ever.
type wire struct {
	net.Conn
	timeout time.Duration
	left    int
}

func newWire(c net.Conn, timeout time.Duration) *wire {
	return &wire{Conn: c, timeout: timeout, left: maxAnswer}
}

func (w *wire) Write(b []byte) (int, error) {
	w.left = maxAnswer
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(b)
}

func (w *wire) Read(b []byte) (int, error) {
	if w.left <= 0 {
		return 0, errTooMuch
	}
	n, err := w.Conn.Read(b)
	w.left -= n
	return n, err
}

// greeted is a connection after STARTTLS. The relay does not greet again
// (RFC 3207 4.2), but a new smtp.Client waits for a greeting, so it reads one
// from here.
type greeted struct {
	net.Conn
	greeting string
}

func (g *greeted) Read(b []byte) (int, error) {
	if g.greeting == "" {
		return g.Conn.Read(b)
	}
	n := copy(b, g.greeting)
	g.greeting = g.greeting[n:]
	return n, nil
}

// conn is one SMTP session.
type conn struct {
	wire   *wire
	client *smtp.Client
	hello  string
	used   int       // transactions begun
	since  time.Time // idle since
}

// cut closes the socket under whatever stands on it. It is safe at any time and
// never writes: closing the SMTP client instead could send a pending final dot.
func (c *conn) cut() { _ = c.wire.Conn.Close() }

// quit takes leave in good form, within quitTimeout.
func (c *conn) quit() {
	c.client.CommandTimeout = min(c.client.CommandTimeout, quitTimeout)
	c.wire.timeout = c.client.CommandTimeout
	_ = c.client.Quit() // the connection ends either way
	c.cut()
}

// reset drops the transaction at hand and keeps the session. go-smtp forgets
// after RSET that it said EHLO; saying it here keeps a failure of it from being
// taken for an answer to the next MAIL.
func (c *conn) reset() error {
	if err := c.client.Reset(); err != nil {
		return err
	}
	return c.client.Hello(c.hello)
}

// limit is the largest message that the relay takes, in bytes; 0: not said.
func (c *conn) limit() int64 {
	n, _ := c.client.MaxMessageSize()
	return int64(n)
}
