package smtpout

import (
	"bufio"
	"errors"
	"net"
	"time"

	"github.com/emersion/go-smtp"
)

// maxReply bounds a reply, and what a relay may send between two writes of go-smtp, in bytes:
// net/textproto joins lines without a limit.
const maxReply = 64 << 10

// quitTimeout is how long the reply to QUIT is waited for.
const quitTimeout = 2 * time.Second

var errReplyTooLong = errors.New("the relay's reply has no end")

// wire is the socket under TLS and SMTP. It gives each write its own deadline, so that a relay that
// stops reading can't block a writer forever, and a slow one has the full timeout for each chunk of
// a message.
type wire struct {
	net.Conn
	timeout     time.Duration
	readBudget  int
	readTimeout time.Duration // for the next read; 0: the deadline is already set
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

// expectReply sets the timeout of the next reply, counted from the first read, and resets its size
// limit.
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

// greetedConn is a connection after STARTTLS. The relay does not greet again (RFC 3207 4.2), but a
// new smtp.Client waits for a greeting, so it reads one from here.
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
	client        *smtp.Client // for EHLO, STARTTLS and AUTH; nil afterwards
	in            *bufio.Reader
	offer         offer
	commandBuf    []byte         // reused buffer for commands
	transcriptBuf []commandReply // reused buffer for a transcript
	last          commandReply   // latest reply
	tls           string         // like "TLS 1.3"; empty: none
	used          int            // transactions begun
	since         time.Time      // idle since
	slot          *slot          // held in the pool while in use
	probe         *probe         // nil: opened for mail
}

// cut closes the socket. It is safe at any time and writes nothing, while closing the SMTP client
// could send a pending final dot.
func (c *conn) cut() { _ = c.wire.Conn.Close() }

// quit sends QUIT and closes the connection, within quitTimeout.
func (c *conn) quit() {
	c.wire.timeout = min(c.wire.timeout, quitTimeout)
	if c.send([]byte("QUIT\r\n")) == nil {
		if _, err := c.readReply(221, c.wire.timeout); err == nil {
			_ = c.stream.Close() // sends the close_notify of TLS
		}
	}
	c.cut() // in any case
}
