package sdktest

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// balancer is a load balancer in front of two servers: connections go to the one that is ready, or
// in turn to all that are.
type balancer struct {
	l     net.Listener
	nodes []*instance
	all   bool
	group sync.WaitGroup

	mu     sync.Mutex
	addrs  []string
	turn   int
	conns  map[net.Conn]string       // and where they lead
	visits map[net.Conn]*proxiedConn // connections of clients
}

// proxiedConn is a connection of a client.
type proxiedConn struct {
	began           time.Time
	asked, answered atomic.Int64 // when a byte last arrived, since began
}

// The balancer ends connections of this age, or that have been idle this long between requests: a
// server that comes back must get its part.
const (
	visitLife = time.Second
	visitIdle = 20 * time.Millisecond
)

// over reports whether the front ends it.
func (v *proxiedConn) over() bool {
	now, answered := time.Since(v.began), time.Duration(v.answered.Load())
	return now > visitLife && answered > time.Duration(v.asked.Load()) && now-answered > visitIdle
}

// hear wraps r and records in at when it was last read.
func (v *proxiedConn) hear(r io.Reader, at *atomic.Int64) io.Reader { return &countingConn{r, v, at} }

type countingConn struct {
	io.Reader
	visit *proxiedConn
	at    *atomic.Int64
}

func (r *countingConn) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.at.Store(int64(time.Since(r.visit.began)))
	return n, err
}

func newBalancer(t *testing.T, nodes []*instance, all bool) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f := &balancer{l: l, nodes: nodes, all: all, addrs: []string{nodes[0].addr}, conns: map[net.Conn]string{}, visits: map[net.Conn]*proxiedConn{}}
	ctx, cancel := context.WithCancel(context.Background())
	f.group.Go(f.accept)
	f.group.Go(func() { f.follow(ctx) })
	t.Cleanup(func() {
		cancel()
		l.Close()
		f.point()
		f.group.Wait()
	})
	return f
}

func (f *balancer) url() string { return "http://" + f.l.Addr().String() }

// follow leads to a server that is ready, and stays with it as long as it is: where two say so,
// requests must not be cut off for that. Or it leads to all of them.
func (f *balancer) follow(ctx context.Context) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	now := f.nodes[0]
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if status, _ := now.readyz(); status == http.StatusOK && !f.all {
			continue
		}
		var ready []string
		for _, in := range f.nodes {
			if status, _ := in.readyz(); status == http.StatusOK && (f.all || len(ready) == 0) {
				now, ready = in, append(ready, in.addr)
			}
		}
		if len(ready) > 0 {
			f.point(ready...)
		}
		f.mu.Lock()
		for c, v := range f.visits {
			if v.over() {
				c.Close()
			}
		}
		f.mu.Unlock()
	}
}

// point sets the targets, and closes connections to others.
func (f *balancer) point(addrs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(addrs) > 0 {
		f.addrs = addrs
	}
	for c, addr := range f.conns {
		if !slices.Contains(addrs, addr) {
			c.Close()
			delete(f.conns, c)
		}
	}
}

func (f *balancer) accept() {
	for {
		c, err := f.l.Accept()
		if err != nil {
			return
		}
		f.group.Go(func() { f.carry(c) })
	}
}

func (f *balancer) carry(c net.Conn) {
	defer c.Close()
	f.mu.Lock()
	f.turn++
	addr := f.addrs[f.turn%len(f.addrs)]
	f.mu.Unlock()
	up, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return
	}
	defer up.Close()
	v := &proxiedConn{began: time.Now()}
	f.mu.Lock()
	stale := !slices.Contains(f.addrs, addr)
	f.conns[c], f.conns[up], f.visits[c] = addr, addr, v
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.conns, c)
		delete(f.conns, up)
		delete(f.visits, c)
	}()
	if stale {
		return
	}
	f.group.Go(func() { _, _ = io.Copy(up, v.hear(c, &v.asked)); up.Close() })
	_, _ = io.Copy(c, v.hear(up, &v.answered))
}
