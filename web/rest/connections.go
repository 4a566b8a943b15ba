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
)

// phase is what a connection is at.
type phase = int32

const (
	phaseReading phase = iota // a header, or what is left of a body after its answer
	phaseBody                 // a request whose body is not all here: cut only while more of it is waited for
	phaseIdle                 // between two requests
	phaseWorking              // an answer is being made: never cut
)

// logEvery is how often the log says at most that connections are cut or refused.
const logEvery = 10 * time.Second

// conn is a connection that knows what it is at, and since when nothing came of it.
type conn struct {
	net.Conn
	all   *connections
	peer  netip.Prefix
	phase atomic.Int32
	waits atomic.Bool  // for bytes
	works atomic.Int32 // requests of HTTP/2 whose answers are being made
	last  atomic.Int64 // when something came of it, in Unix nanoseconds
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	c.waits.Store(true)
	n, err := c.Conn.Read(p)
	c.waits.Store(false)
	if n > 0 {
		c.last.Store(time.Now().UnixNano())
	}
	return n, err
}

// Close implements net.Conn. Who took the connection from net/http counts until then.
func (c *conn) Close() error {
	if c.all != nil { // a test's is of none
		c.all.forget(c)
	}
	return c.Conn.Close()
}

// set notes what a connection is at. There may be none: tests, and calls inside of a
// request, have no connection.
func (c *conn) set(p phase) {
	if c != nil {
		c.phase.Store(p)
	}
}

// reset has a connection end with a reset, which even a client of HTTP/1.0 doesn't take for
// the end of an answer.
func (c *conn) reset() {
	if c == nil {
		return
	}
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // without it HTTP/1.1 still shows that an end is missing
	}
}

// connections are all that are open. At a bound the one that has been stalled longest
// makes room for the next: so who holds many that say nothing keeps nobody out.
type connections struct {
	most, maxPerAddress int
	free                proxies // addresses without a bound of their own
	log                 *slog.Logger

	mu     sync.Mutex
	open   int
	byPeer map[netip.Prefix]map[*conn]struct{}
	// streams are the requests that share a connection of HTTP/2 with others, all of them
	// and those of each peer.
	streams       int
	streamsByPeer map[netip.Prefix]int
	cut           int       // since the log told
	turned        int       // away, since then
	told          time.Time // when it did
	failed        time.Time // when a connection could not be taken, until one is
	said          time.Time // when the log said so
}

func newConnections(most, mostOfOne int, free proxies, log *slog.Logger) *connections {
	return &connections{most: most, maxPerAddress: mostOfOne, free: free, log: log, byPeer: map[netip.Prefix]map[*conn]struct{}{}, streamsByPeer: map[netip.Prefix]int{}}
}

// boundListener accepts no more connections than there may be.
type boundListener struct {
	net.Listener
	conns *connections
}

// Accept implements net.Listener.
func (l boundListener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			l.conns.failure(err)
			return nil, err
		}
		if c := l.conns.add(raw); c != nil {
			return c, nil
		}
		raw.Close()
	}
}

// add takes a connection in; nil: there is no room for it, and none can be made.
func (s *connections) add(raw net.Conn) *conn {
	addr := peerAddress(raw.RemoteAddr().String())
	c := &conn{Conn: raw, all: s, peer: clientPrefix(addr)}
	now := time.Now()
	c.last.Store(now.UnixNano())
	s.mu.Lock()
	recovered := s.failed
	s.failed = time.Time{}
	ok, victim := s.room(c, addr)
	if victim != nil {
		s.remove(victim)
		s.cut++
	}
	if ok {
		s.insert(c)
	} else {
		s.turned++
	}
	tell := s.news(now)
	s.mu.Unlock()
	if victim != nil {
		victim.Conn.Close()
	}
	if tell != nil {
		s.log.Warn("connections are at their bound: those that stalled longest are cut, and where none has, the next is refused; see --max-connections", tell...)
	}
	if !recovered.IsZero() {
		s.log.Info("connections are taken again", "after", now.Sub(recovered))
	}
	if !ok {
		return nil
	}
	return c
}

// room reports whether a connection may be taken in, and which one has to go for it.
func (s *connections) room(c *conn, addr netip.Addr) (ok bool, victim *conn) {
	own := s.byPeer[c.peer]
	if len(own) >= s.maxPerAddress && !s.free.has(addr) {
		victim = stalled(own)
		return victim != nil, victim
	}
	if s.open < s.most {
		return true, nil
	}
	victim = s.stalledOfBusiest()
	return victim != nil, victim
}

// stalledOfBusiest returns the connection that stalled longest of the address that has
// most connections, among those that have one which stalled.
func (s *connections) stalledOfBusiest() (victim *conn) {
	most := 0
	for _, own := range s.byPeer {
		if len(own) <= most {
			continue
		}
		if c := stalled(own); c != nil {
			victim, most = c, len(own)
		}
	}
	return victim
}

// stalled returns the connection from which nothing came for the longest time: one in
// the midst of a request before those that wait for their next. nil: all are at work.
func stalled(conns map[*conn]struct{}) (victim *conn) {
	const honest = time.Second // to send the next part of a request
	var oldest int64
	midst := false
	now := time.Now().UnixNano()
	for c := range conns {
		p := c.phase.Load()
		if p == phaseWorking || c.works.Load() > 0 || p == phaseBody && !c.waits.Load() {
			continue
		}
		last := c.last.Load()
		stuck := p != phaseIdle && now-last > int64(honest)
		if victim == nil || stuck && !midst || stuck == midst && last < oldest {
			victim, oldest, midst = c, last, stuck
		}
	}
	return victim
}

func (s *connections) insert(c *conn) {
	own := s.byPeer[c.peer]
	if own == nil {
		own = map[*conn]struct{}{}
		s.byPeer[c.peer] = own
	}
	own[c] = struct{}{}
	s.open++
}

// remove forgets a connection; one that is forgotten already stays so.
func (s *connections) remove(c *conn) {
	own := s.byPeer[c.peer]
	if _, there := own[c]; !there {
		return
	}
	delete(own, c)
	if len(own) == 0 {
		delete(s.byPeer, c.peer)
	}
	s.open--
}

// forget is remove for who does not hold the lock.
func (s *connections) forget(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
}

// news returns what the log should tell now; nil: nothing.
func (s *connections) news(now time.Time) []any {
	if s.cut+s.turned == 0 || now.Sub(s.told) < logEvery {
		return nil
	}
	var by netip.Prefix
	for peer, own := range s.byPeer {
		if len(own) > len(s.byPeer[by]) {
			by = peer
		}
	}
	out := []any{"open", s.open, "bound", s.most, "bound_of_one_address", s.maxPerAddress, "cut", s.cut, "refused", s.turned,
		"most_by", by.String(), "most", len(s.byPeer[by])}
	s.told, s.cut, s.turned = now, 0, 0
	return out
}

// changed is told of each change of a connection by net/http.
func (s *connections) changed(nc net.Conn, state http.ConnState) {
	c := own(nc)
	if c == nil {
		return
	}
	switch state {
	case http.StateActive:
		c.set(phaseReading)
	case http.StateIdle:
		c.last.Store(time.Now().UnixNano())
		c.set(phaseIdle)
	case http.StateClosed:
		s.forget(c)
	}
}

// own returns what is ours of a connection, which may lie below TLS; nil: nothing.
func own(nc net.Conn) *conn {
	if over, ok := nc.(interface{ NetConn() net.Conn }); ok {
		nc = over.NetConn()
	}
	c, _ := nc.(*conn)
	return c
}

// enter counts a request in that shares its connection with others; false: its address
// has, or all have, as many at work as there may be connections.
func (s *connections) enter(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams >= s.most || s.streamsByPeer[c.peer] >= s.maxPerAddress && !s.free.has(c.peer.Addr()) {
		return false
	}
	s.streams++
	s.streamsByPeer[c.peer]++
	return true
}

// leave counts such a request out.
func (s *connections) leave(c *conn) {
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
	c := own(nc)
	if c != nil {
		boundSendBuffer(c.Conn)
	}
	return context.WithValue(ctx, connKey{}, c)
}

// connOf returns the connection that a request came on; nil where there is none.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
