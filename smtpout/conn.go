package smtpout

import (
	"bufio"
	"errors"
	"net"
	"time"

	"github.com/emersion/go-smtp"
)

// maxReply bounds a reply, and what a relay may send between two writes of
// go-smtp's, in bytes: net/textproto joins lines without any limit of its own.
const maxReply = 64 << 10

// quitTimeout is how long the answer to QUIT is worth waiting for.
const quitTimeout = 2 * time.Second

var errReplyTooLong = errors.New("the relay's reply has no end")

// wire is the bare socket under TLS and SMTP. It gives each write a deadline of its
// own, so that a relay that stops reading can't hold us for ever, and a slow one
// has as long for each piece of a message.
type wire struct {
	net.Conn
	timeout  time.Duration
	left     int
	patience time.Duration // for what is read next; 0: the deadline is set
}

func newWire(c net.Conn, timeout time.Duration) *wire {
	return &wire{Conn: c, timeout: timeout, left: maxReply}
}

func (w *wire) Write(b []byte) (int, error) {
	w.left = maxReply
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(b)
}

// expect sets the next reply its time, counted from when it is first waited for,
// and its bound on size.
func (w *wire) expect(patience time.Duration) { w.patience, w.left = patience, maxReply+replyBuffer }

func (w *wire) Read(b []byte) (int, error) {
	if w.left <= 0 {
		return 0, errReplyTooLong
	}
	if w.patience > 0 {
		if err := w.SetReadDeadline(time.Now().Add(w.patience)); err != nil {
			return 0, err
		}
		w.patience = 0
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
	stream net.Conn     // wire, or TLS on it
	client *smtp.Client // greets and authenticates; nil afterwards
	in     *bufio.Reader
	offer  offer
	lines  []byte    // room for commands
	talk   []spoken  // room for a transcript
	last   spoken    // reply
	tls    string    // like "TLS 1.3"; empty: none
	used   int       // transactions begun
	since  time.Time // idle since
	place  *place    // that it holds in its pool while it is in use
	probe  *probe    // that it is opened for; nil: for mail
}

// cut closes the socket under whatever stands on it. It is safe at any time and
// never writes: closing the SMTP client instead could send a pending final dot.
func (c *conn) cut() { _ = c.wire.Conn.Close() }

// quit takes leave in good form, within quitTimeout.
func (c *conn) quit() {
	c.wire.timeout = min(c.wire.timeout, quitTimeout)
	if c.say([]byte("QUIT\r\n")) == nil {
		if _, err := c.hear(221, c.wire.timeout); err == nil {
			_ = c.stream.Close() // TLS says goodbye too
		}
	}
	c.cut() // the connection ends either way
}
