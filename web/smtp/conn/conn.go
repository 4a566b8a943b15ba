package conn

import (
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"mailer/app/kit/fair"
)

// maxWrite is how long a peer may take to read a reply.
const maxWrite = time.Minute

// Conn is a connection whose time and bytes are bounded, whatever the server above asks for. One
// goroutine at a time reads, and sets the bounds.
type Conn struct {
	net.Conn
	limiter *Limiter
	limits  Limits
	from    netip.Prefix
	expires time.Time // end of the connection; zero: never
	due     time.Time // deadline of several reads; zero: none
	left    int64     // bytes that may still be read
	closing bool
	// Guarded by the limiter's mutex:
	busy     bool      // a message is being received
	closed   bool      // unregister after the message
	signedIn bool      // the peer has signed in
	accepted bool      // the peer named a recipient that the server receives mail for
	waiting  bool      // a read waits for the peer
	since    time.Time // since when it has been idle
}

// Read fails if the peer is idle for too long, if the session is too old, if it sent too much, and
// between messages when the server stops.
func (c *Conn) Read(b []byte) (int, error) {
	if c.closing || c.left <= 0 {
		return 0, io.EOF
	}
	if err := c.arm(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	c.waiting = false
	return n, err
}

// arm sets the deadline of a read, atomically with a drain.
func (c *Conn) arm() error {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	if c.limiter.draining && !c.busy {
		return os.ErrDeadlineExceeded // the server replies 421 and closes
	}
	c.since, c.waiting = time.Now(), true
	at := c.since.Add(c.limits.Idle)
	if !c.due.IsZero() && c.due.Before(at) {
		at = c.due
	}
	return c.Conn.SetReadDeadline(c.capped(at, 0))
}

// idle describes the connection for fair.Connections: it may be closed for another one while the peer has not signed in
// and lets the server wait.
func (c *Conn) idle(time.Time) (fair.Idle, bool) {
	idle := fair.Idle{First: !c.accepted, Since: c.since}
	if c.signedIn || c.closed || c.accepted && !c.limiter.closeKnown && c.limiter.isKnown(c.from) {
		return idle, false
	}
	return idle, c.waiting || !c.busy && !c.accepted
}

// capped returns the earlier one of a time and the end of the connection.
func (c *Conn) capped(at time.Time, grace time.Duration) time.Time {
	if end := c.expires.Add(grace); !c.expires.IsZero() && end.Before(at) {
		return end
	}
	return at
}

// Write has one second more than the session, for the last reply.
func (c *Conn) Write(b []byte) (int, error) {
	at := time.Now().Add(min(c.limits.Idle, maxWrite))
	if err := c.Conn.SetWriteDeadline(c.capped(at, time.Second)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close closes the connection. It stays counted until its message ends: with BDAT the server reads
// a message in another goroutine.
func (c *Conn) Close() error {
	c.limiter.onClose(c)
	return c.Conn.Close()
}

// SetDeadline, SetReadDeadline and SetWriteDeadline do nothing: Read and Write set their own
// deadlines.
func (c *Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// SetCommonDeadline sets a common deadline for all following reads; zero: none.
func (c *Conn) SetCommonDeadline(at time.Time) { c.due = at }

// Expire ends the connection after a time, unless the peer signs in; 0: never.
func (c *Conn) Expire(after time.Duration) {
	c.expires = time.Time{}
	if after > 0 {
		c.expires = time.Now().Add(after)
	}
}

// SetSignedIn records a sign-in: the connection does not expire any more, and its address may use
// the reserve.
func (c *Conn) SetSignedIn() {
	c.expires = time.Time{}
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	c.signedIn = true
	c.limiter.markKnown(c.from)
}

// AcceptRecipient records that the server receives mail for a recipient that the peer named: other connections are
// closed before this one.
func (c *Conn) AcceptRecipient() {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	c.accepted = true
}

// MarkKnown lets the connection's address use the reserve: the peer delivered what the server is
// for.
func (c *Conn) MarkKnown() {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	c.limiter.markKnown(c.from)
}

// CountRefusal counts a refused recipient against the connection's address.
func (c *Conn) CountRefusal() {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	c.limiter.countRefusal(c.from)
}

// Network returns the network that the connection is counted for.
func (c *Conn) Network() netip.Prefix { return c.from }

// Refill allows the bytes of another message.
func (c *Conn) Refill() { c.left = c.limits.SessionBytes }

// CloseAfterReply closes the connection after the current reply.
func (c *Conn) CloseAfterReply() { c.closing = true }

// Closing reports whether CloseAfterReply was called.
func (c *Conn) Closing() bool { return c.closing }

// Stopping reports whether the limiter is draining.
func (c *Conn) Stopping() bool { return c.limiter.Draining() }

// BeginMessage marks the beginning of a message, which a drain waits for; false if the connection
// is closed already.
func (c *Conn) BeginMessage() bool {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	if c.closed || !c.limiter.open.Has(c, c.from) {
		return false
	}
	c.busy = true
	return true
}

// EndMessage marks the end of the message.
func (c *Conn) EndMessage() {
	c.limiter.mu.Lock()
	defer c.limiter.mu.Unlock()
	c.busy = false
	if c.closed {
		c.limiter.open.Remove(c, c.from)
	}
	c.limiter.done.Broadcast()
}
