package conn

import (
	"io"
	"net"
	"net/netip"
	"os"
	"time"
)

// maxWrite is how long a peer may take to read an answer.
const maxWrite = time.Minute

// Conn is a connection whose time and bytes are bounded, whatever the server on
// top of it asks for. One goroutine reads at a time, and that one sets its bounds.
type Conn struct {
	net.Conn
	door    *Door
	limits  Limits
	from    netip.Prefix
	expires time.Time // of the connection; zero: never
	due     time.Time // of what is being read; zero: each read has its own time
	left    int64     // bytes that may still be read
	ended   bool
	// Under the door's mutex:
	closed  bool      // it leaves when its message is done
	trusted bool      // somebody has signed in
	since   time.Time // when it began to wait for what comes next
}

// Read fails when the peer sent nothing for too long, when the session is too
// old, when too much came, and between messages when the server stops.
func (c *Conn) Read(b []byte) (int, error) {
	if c.ended || c.left <= 0 {
		return 0, io.EOF
	}
	if err := c.arm(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b[:min(int64(len(b)), c.left)])
	c.left -= int64(n)
	return n, err
}

// arm sets the deadline of a read, so that a drain can't come in between.
func (c *Conn) arm() error {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if c.door.draining && !c.door.conns[c] {
		return os.ErrDeadlineExceeded // it is told 421 and closed
	}
	c.since = time.Now()
	at := c.since.Add(c.limits.Idle)
	if !c.due.IsZero() && c.due.Before(at) {
		at = c.due
	}
	return c.Conn.SetReadDeadline(c.within(at, 0))
}

// within is a time, or the end of the connection where that comes before.
func (c *Conn) within(at time.Time, grace time.Duration) time.Time {
	if end := c.expires.Add(grace); !c.expires.IsZero() && end.Before(at) {
		return end
	}
	return at
}

// Write leaves a second after the end of the session to say so.
func (c *Conn) Write(b []byte) (int, error) {
	at := time.Now().Add(min(c.limits.Idle, maxWrite))
	if err := c.Conn.SetWriteDeadline(c.within(at, time.Second)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close frees the connection's place, once its message is done: one that comes in chunks
// is taken beside the connection.
func (c *Conn) Close() error {
	c.door.leave(c)
	return c.Conn.Close()
}

// SetDeadline and its kin do nothing: Read and Write set their own.
func (c *Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// Due bounds the time of all that is read from now on; zero: each read has its own.
func (c *Conn) Due(at time.Time) { c.due = at }

// Expire has the connection end after a time from now, unless somebody signs in; 0: never.
func (c *Conn) Expire(after time.Duration) {
	c.expires = time.Time{}
	if after > 0 {
		c.expires = time.Now().Add(after)
	}
}

// Trust lets the connection stay as long as it is not idle, and keeps a place for later
// ones of its address: somebody has signed in.
func (c *Conn) Trust() {
	c.expires = time.Time{}
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	c.trusted = true
	c.door.note(c.from)
}

// Remember keeps a place for later connections of this one's address: it brought what this
// server waits for.
func (c *Conn) Remember() {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	c.door.note(c.from)
}

// Refill allows the bytes of another message.
func (c *Conn) Refill() { c.left = c.limits.Session }

// End has the connection closed once what is being answered is written.
func (c *Conn) End() { c.ended = true }

// Ended reports whether it is to be closed.
func (c *Conn) Ended() bool { return c.ended }

// Stopping reports whether the door lets nobody in any more.
func (c *Conn) Stopping() bool { return c.door.Closing() }

// Begin says that a message is being taken, which a drain waits for; false: the
// connection is closed already.
func (c *Conn) Begin() bool {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	_, ok := c.door.conns[c]
	if ok = ok && !c.closed; ok {
		c.door.conns[c] = true
	}
	return ok
}

// Done says that it was taken, or refused.
func (c *Conn) Done() {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if _, ok := c.door.conns[c]; ok {
		c.door.conns[c] = false
	}
	if c.closed {
		c.door.forget(c)
	}
	c.door.done.Broadcast()
}
