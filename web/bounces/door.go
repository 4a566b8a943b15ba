package bounces

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// door lets connections in as long as there is room for them, in all and for
// their address; the others hear 421.
type door struct {
	net.Listener
	limits limits

	mu       sync.Mutex
	conns    map[*conn]bool // whether a message is being taken
	from     map[netip.Prefix]int
	draining bool
}

func newDoor(l limits) *door {
	return &door{limits: l, conns: map[*conn]bool{}, from: map[netip.Prefix]int{}}
}

// Accept returns the next connection that there is room for.
func (d *door) Accept() (net.Conn, error) {
	for {
		raw, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := d.admit(raw); c != nil {
			return c, nil
		}
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second)) // the first bytes of a connection never wait
		_, _ = io.WriteString(raw, "421 4.7.0 Too many connections, try again later\r\n")
		_ = raw.Close()
	}
}

// open takes the listener; false: the door is closing already.
func (d *door) open(l net.Listener) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Listener = l
	return !d.draining
}

func (d *door) closing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.draining
}

// admit counts a connection in; nil: there is no room.
func (d *door) admit(raw net.Conn) *conn {
	c := &conn{Conn: raw, door: d, from: network(raw.RemoteAddr()), expires: time.Now().Add(d.limits.age), left: d.limits.session}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining || len(d.conns) >= d.limits.conns || d.from[c.from] >= d.limits.perAddress {
		return nil
	}
	d.conns[c] = false
	d.from[c.from]++
	return c
}

// network is who connections are counted for: an address of IPv4, or the network
// of 64 bits that one customer has in IPv6.
func network(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	bits, addr := 64, at.Addr().Unmap().WithZone("")
	if addr.Is4() {
		bits = 32
	}
	p, _ := addr.Prefix(bits)
	return p
}

// leave counts a connection out, once.
func (d *door) leave(c *conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.conns[c]; !ok {
		return
	}
	delete(d.conns, c)
	if d.from[c.from]--; d.from[c.from] == 0 {
		delete(d.from, c.from)
	}
}

// drain lets nobody in any more and wakes those who wait for a command.
func (d *door) drain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.draining = true
	if d.Listener != nil {
		_ = d.Listener.Close() // also where the server on top has not taken it yet
	}
	for c, busy := range d.conns {
		if !busy {
			_ = c.Conn.SetReadDeadline(time.Now())
		}
	}
}

// closeAll drops every connection.
func (d *door) closeAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		_ = c.Conn.Close()
	}
}

// conn is a connection whose time and bytes are bounded, whatever the server on
// top of it asks for.
type conn struct {
	net.Conn
	door    *door
	from    netip.Prefix
	expires time.Time // of the session
	left    int64     // bytes that may still be read; one goroutine reads at a time
	ended   bool
}

// Read fails when the peer sent nothing for too long, when the session is too
// old, when too much came, and between messages when the server stops.
func (c *conn) Read(b []byte) (int, error) {
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
func (c *conn) arm() error {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if c.door.draining && !c.door.conns[c] {
		return os.ErrDeadlineExceeded // it is told 421 and closed
	}
	return c.Conn.SetReadDeadline(c.until(0))
}

// until is when the next read or write must be over.
func (c *conn) until(grace time.Duration) time.Time {
	end, idle := c.expires.Add(grace), time.Now().Add(c.door.limits.idle)
	if idle.Before(end) {
		return idle
	}
	return end
}

// Write leaves a second after the end of the session to say so.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(c.until(time.Second)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close frees the connection's place.
func (c *conn) Close() error {
	c.door.leave(c)
	return c.Conn.Close()
}

// SetDeadline and its kin do nothing: Read and Write set their own.
func (c *conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// refill allows the bytes of another message.
func (c *conn) refill() { c.left = c.door.limits.session }

// end has the connection closed once what is being answered is written.
func (c *conn) end() { c.ended = true }

// begin says that a message is being taken, which a drain waits for; false: the
// connection is closed already.
func (c *conn) begin() bool {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	_, ok := c.door.conns[c]
	if ok {
		c.door.conns[c] = true
	}
	return ok
}

func (c *conn) done() {
	c.door.mu.Lock()
	defer c.door.mu.Unlock()
	if _, ok := c.door.conns[c]; ok {
		c.door.conns[c] = false
	}
}
