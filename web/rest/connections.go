package rest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"mailer/app/kit/fair"
)

// phase is the state of a connection.
type phase = int32

const (
	phaseReading phase = iota // reads a header, or the rest of a body after its answer
	phaseBody                 // reads a body: evicted only while it waits for bytes
	phaseIdle                 // waits for the next request
	phaseWorking              // an answer is being made: never evicted
)

// logEvery is the shortest interval between two log lines on evicted or refused connections.
const logEvery = 10 * time.Second

// conn is a connection that tracks its state and when it last received bytes.
type conn struct {
	net.Conn
	all     *connections
	peer    netip.Prefix
	phase   atomic.Int32
	waiting atomic.Bool  // for bytes
	working atomic.Int32 // HTTP/2 requests that are being answered
	last    atomic.Int64 // when bytes last arrived, in Unix nanoseconds
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.waiting.Store(true)
	n, err := c.Conn.Read(p)
	c.waiting.Store(false)
	if n > 0 {
		c.last.Store(time.Now().UnixNano())
	}
	return n, err
}

// Close implements net.Conn. A hijacked connection is counted until then.
func (c *conn) Close() error {
	if c.all != nil { // nil in tests
		c.all.unregister(c)
	}
	return c.Conn.Close()
}

// setPhase sets the state. A nil conn is allowed: tests and internal calls have none.
func (c *conn) setPhase(p phase) {
	if c != nil {
		c.phase.Store(p)
	}
}

// reset makes Close send a TCP reset, which even an HTTP/1.0 client does not take for the end of an
// answer.
func (c *conn) reset() {
	if c == nil {
		return
	}
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // without it HTTP/1.1 clients still see that the end is missing
	}
}

// connections are all open connections. At the limit the one that has been stalled longest is
// evicted for the next: a client that holds many silent connections keeps nobody out.
type connections struct {
	max, maxPerAddress int
	exempt             proxies // addresses without a limit per address
	log                *slog.Logger

	mu   sync.Mutex
	open *fair.Connections[*conn]
	// streams are the requests on HTTP/2 connections, in total and per peer.
	streams         int
	streamsByPeer   map[netip.Prefix]int
	evicted         int       // since the last log line
	refused         int       // since the last log line
	loggedAt        time.Time // the last log line
	failedAt        time.Time // when accepting began to fail; zero once it works again
	failureLoggedAt time.Time // the last log line about it
}

func newConnections(limit, perAddress int, exempt proxies, log *slog.Logger) *connections {
	return &connections{max: limit, maxPerAddress: perAddress, exempt: exempt, log: log, open: fair.NewConnections(true, (*conn).idle), streamsByPeer: map[netip.Prefix]int{}}
}

// boundListener accepts connections within the limits.
type boundListener struct {
	net.Listener
	conns *connections
}

// Accept implements net.Listener.
func (l boundListener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			l.conns.acceptFailed(err)
			return nil, err
		}
		if c := l.conns.add(raw); c != nil {
			return c, nil
		}
		raw.Close()
	}
}

// add registers a connection; nil if it is refused.
func (s *connections) add(raw net.Conn) *conn {
	addr := peerAddress(raw.RemoteAddr().String())
	c := &conn{Conn: raw, all: s, peer: fair.Network(addr)}
	now := time.Now()
	c.last.Store(now.UnixNano())
	s.mu.Lock()
	recovered := s.failedAt
	s.failedAt = time.Time{}
	perAddress := s.maxPerAddress
	if s.exempt.has(addr) {
		perAddress = s.max
	}
	victim, ok := s.open.Add(c, c.peer, s.max, perAddress)
	if victim != nil {
		s.evicted++
	}
	if !ok {
		s.refused++
	}
	attrs := s.logAttrs(now)
	s.mu.Unlock()
	if victim != nil {
		victim.Conn.Close()
	}
	if attrs != nil {
		s.log.Warn("connections are at their bound: those that stalled longest are cut, and where none has, the next is refused; see --max-connections", attrs...)
	}
	if !recovered.IsZero() {
		s.log.Info("connections are taken again", "after", now.Sub(recovered))
	}
	if !ok {
		return nil
	}
	return c
}

// idle describes a connection for fair.Connections. It must not be closed while a request is being
// answered.
func (c *conn) idle(now time.Time) (i fair.Idle, ok bool) {
	const honest = time.Second // allowed for the next part of a request
	p := c.phase.Load()
	if p == phaseWorking || c.working.Load() > 0 || p == phaseBody && !c.waiting.Load() {
		return fair.Idle{}, false
	}
	last := time.Unix(0, c.last.Load())
	return fair.Idle{Since: last, First: p != phaseIdle && now.Sub(last) > honest}, true
}

// unregister removes a connection; it may be removed already.
func (s *connections) unregister(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open.Remove(c, c.peer)
}

// logAttrs returns the attributes of a log line that is due; nil if none is.
func (s *connections) logAttrs(now time.Time) []any {
	if s.evicted+s.refused == 0 || now.Sub(s.loggedAt) < logEvery {
		return nil
	}
	open, _ := s.open.Open()
	by, most := s.open.Busiest()
	out := []any{"open", open, "bound", s.max, "bound_of_one_address", s.maxPerAddress, "cut", s.evicted, "refused", s.refused,
		"most_by", by.String(), "most", most}
	s.loggedAt, s.evicted, s.refused = now, 0, 0
	return out
}

// stateChanged is net/http's ConnState hook.
func (s *connections) stateChanged(nc net.Conn, state http.ConnState) {
	c := connFrom(nc)
	if c == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.setPhase(phaseReading)
	case http.StateIdle:
		c.last.Store(time.Now().UnixNano())
		c.setPhase(phaseIdle)
	case http.StateClosed:
		s.unregister(c)
	}
}

// connFrom returns the conn below a connection, which may be TLS; nil if there is none.
func connFrom(nc net.Conn) *conn {
	if over, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = over.NetConn()
	}
	c, _ := nc.(*conn)
	return c
}

// enterStream counts an HTTP/2 request; false if its address, or all addresses together, have as
// many requests as connections are allowed.
func (s *connections) enterStream(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams >= s.max || s.streamsByPeer[c.peer] >= s.maxPerAddress && !s.exempt.has(c.peer.Addr()) {
		return false
	}
	s.streams++
	s.streamsByPeer[c.peer]++
	return true
}

// leaveStream ends what enterStream counted.
func (s *connections) leaveStream(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
	if s.streamsByPeer[c.peer]--; s.streamsByPeer[c.peer] == 0 {
		delete(s.streamsByPeer, c.peer)
	}
}

type connKey struct{}

// connContext puts a connection into the context of its requests.
func connContext(ctx context.Context, nc net.Conn) context.Context {
	c := connFrom(nc)
	if c != nil {
		boundSendBuffer(c.Conn)
	}
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns the connection of a request; nil if there is none.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
