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
	timeout     time.Duration
	readBudget  int
	readTimeout time.Duration // for what is read next; 0: the deadline is set
}

func newWire(c net.Conn, timeout time.Duration) *wire {
	return &wire{Conn: c, timeout: timeout, readBudget: maxReply}
}

func (w *wire) Write(b []byte) (int, error) {
	w.readBudget = maxReply
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(b)
}

// expectReply sets the next reply its time, counted from when it is first waited for,
// and its bound on size.
func (w *wire) expectReply(timeout time.Duration) {
	w.readTimeout, w.readBudget = timeout, maxReply+replyBuffer
}

func (w *wire) Read(b []byte) (int, error) {
	if w.readBudget <= 0 {
		return 0, errReplyTooLong
	}
	if w.readTimeout > 0 {
		if err := w.SetReadDeadline(time.Now().Add(w.readTimeout)); err != nil {
			return 0, err
		}
		w.readTimeout = 0
	}
	n, err := w.Conn.Read(b)
	w.readBudget -= n
	return n, err
}

// greetedConn is a connection after STARTTLS. The relay does not greet again
// (RFC 3207 4.2), but a new smtp.Client waits for a greeting, so it reads one
// from here.
type greetedConn struct {
	net.Conn
	greeting string
}

func (g *greetedConn) Read(b []byte) (int, error) {
	if g.greeting == "" {
		return g.Conn.Read(b)
	}
	n := copy(b, g.greeting)
	g.greeting = g.greeting[n:]
	return n, nil
}

// conn is one SMTP session.
type conn struct {
	wire          *wire
	stream        net.Conn     // wire, or TLS on it
	client        *smtp.Client // greets and authenticates; nil afterwards
	in            *bufio.Reader
	offer         offer
	commandBuf    []byte         // room for commands
	transcriptBuf []commandReply // room for a transcript
	last          commandReply   // reply
	tls           string         // like "TLS 1.3"; empty: none
	used          int            // transactions begun
	since         time.Time      // idle since
	slot          *slot          // that it holds in its pool while it is in use
	probe         *probe         // that it is opened for; nil: for mail
}

// cut closes the socket under whatever stands on it. It is safe at any time and
// never writes: closing the SMTP client instead could send a pending final dot.
func (c *conn) cut() { _ = c.wire.Conn.Close() }

// quit takes leave in good form, within quitTimeout.
func (c *conn) quit() {
	c.wire.timeout = min(c.wire.timeout, quitTimeout)
	if c.send([]byte("QUIT\r\n")) == nil {
		if _, err := c.readReply(221, c.wire.timeout); err == nil {
			_ = c.stream.Close() // TLS says goodbye too
		}
	}
	c.cut() // the connection ends either way
}
