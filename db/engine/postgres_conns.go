package engine

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// conns are the open connections of a process to its database.
type conns struct {
	mu   sync.Mutex
	open map[*trackedConn]bool
}

// trackedConn is a connection of conns.
type trackedConn struct {
	net.Conn
	set *conns
}

// Close implements net.Conn.
func (k *trackedConn) Close() error {
	k.set.mu.Lock()
	delete(k.set.open, k)
	k.set.mu.Unlock()
	return k.Conn.Close()
}

// rawConn returns the connection below TLS and the tracking.
func rawConn(c net.Conn) net.Conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	if tracked, ok := c.(*trackedConn); ok {
		c = tracked.Conn
	}
	return c
}

// dial returns a function that connects and adds the connection to conns.
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

// closeAll closes all connections, so that everything that waits for a result fails immediately.
// A hanging database, or a proxy before it, may acknowledge what is sent without ever answering.
func (c *conns) closeAll() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for k := range open {
		_ = k.Conn.Close() // the error is of no use
	}
}
