package engine

import (
	"context"
	"net"
	"sync"
)

// conns are the open connections of a process to its database.
type conns struct {
	mu   sync.Mutex
	open map[*trackedConn]bool
}

// trackedConn is one of them.
type trackedConn struct {
	net.Conn
	set    *conns
	filter *beginFilter
	ending bool // the answer to the end of a read is still to come
}

// Close implements net.Conn.
func (k *trackedConn) Close() error {
	k.set.mu.Lock()
	delete(k.set.open, k)
	k.set.mu.Unlock()
	return k.Conn.Close()
}

// dial returns how to make connections that cut knows.
func (c *conns) dial(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		k := &trackedConn{Conn: conn, set: c}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open == nil {
			c.open = map[*trackedConn]bool{}
		}
		c.open[k] = true
		return k, nil
	}
}

// cut breaks all of them: who waits for an answer hears at once that none comes. A database
// that hangs, or whatever stands before it, may acknowledge what it is sent for ever.
func (c *conns) closeAll() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for k := range open {
		_ = k.Conn.Close() // nobody reads what it says
	}
}
