// Package conn bounds the connections of SMTP servers: their number, in total and per address, and
// the time and bytes of each, whatever the SMTP server above asks for. It does not look at the
// commands.
//
// Failure policy: when all connections are used, one is closed for the next one, of the address that has the most: the
// one that has been idle longest and named no accepted recipient, else the one that has been idle longest, even in the
// middle of a message. Connections that signed in stay, and as many as the reserve from known addresses that named an
// accepted recipient. A connection that still doesn't fit gets 421 as its greeting. A limiter that drains accepts
// nothing, closes idle connections, and lets running messages finish.
package conn

import (
	"io"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"mailer/app/kit/clock"
	"mailer/app/kit/fair"
)

// Limits bound one peer, and all peers together.
type Limits struct {
	Conns, PerAddress int           // open connections
	Reserve           int           // of Conns: for addresses that are known: they signed in or delivered recently
	SessionBytes      int64         // bytes from the beginning of one message to the next
	Idle              time.Duration // of one read or write
	MaxAge            time.Duration // of a connection that has not signed in; 0: unlimited
	// Refusals is how many refused recipients an address may name within RefusalsWithin. Then its
	// connections are refused for RefusedFor. 0: unlimited.
	Refusals                   int
	RefusalsWithin, RefusedFor time.Duration
}

// knownFor is how long an address is known after it signed in or delivered; maxKnown is the number of addresses that are
// remembered.
const (
	knownFor = 24 * time.Hour
	maxKnown = 10_000
)

// Limiter accepts connections within its limits, in total and per address; others get 421.
type Limiter struct {
	limits Limits

	mu        sync.Mutex
	listeners []net.Listener
	open      *fair.Connections[*Conn]
	known     map[netip.Prefix]time.Time // time of the last sign-in or delivery
	refused   map[netip.Prefix]*refusals
	// closeKnown: connections of known addresses that named an accepted recipient may be closed for the next one.
	closeKnown bool
	draining   bool
	done       sync.Cond // a message ended
}

// NewLimiter makes a limiter without listeners.
func NewLimiter(l Limits) *Limiter {
	lim := &Limiter{limits: l, open: fair.NewConnections(false, (*Conn).idle), known: map[netip.Prefix]time.Time{}, refused: map[netip.Prefix]*refusals{}}
	lim.done.L = &lim.mu
	return lim
}

// Wrap returns a listener whose connections are *Conn within the limits; nil if the limiter is
// draining.
func (lim *Limiter) Wrap(l net.Listener) net.Listener {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if lim.draining {
		return nil
	}
	lim.listeners = append(lim.listeners, l)
	return &listener{l, lim}
}

// listener is a listener of a limiter.
type listener struct {
	net.Listener
	limiter *Limiter
}

// Accept returns the next connection within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.limiter.admit(raw); c != nil {
			return c, nil
		}
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second)) // the first bytes of a connection are never delayed
		_, _ = io.WriteString(raw, "421 4.7.0 Too many connections, try again later\r\n")
		_ = raw.Close()
	}
}

// Draining reports whether the limiter accepts no more connections.
func (lim *Limiter) Draining() bool {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	return lim.draining
}

// Counts returns the number of connections, and of addresses.
func (lim *Limiter) Counts() (conns, addresses int) {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	return lim.open.Open()
}

// admit registers a connection; nil if it exceeds the limits.
func (lim *Limiter) admit(raw net.Conn) *Conn {
	c := &Conn{Conn: raw, limiter: lim, limits: lim.limits, from: network(raw.RemoteAddr()), left: lim.limits.SessionBytes, since: time.Now()}
	c.Expire(lim.limits.MaxAge)
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if lim.draining || lim.isRefused(c.from) {
		return nil
	}
	limit := lim.limits.Conns
	if !lim.isKnown(c.from) {
		limit -= lim.limits.Reserve
	}
	lim.closeKnown = false
	victim, ok := lim.open.Add(c, c.from, limit, lim.limits.PerAddress)
	if !ok && lim.openOfKnown() > lim.limits.Reserve {
		lim.closeKnown = true
		victim, ok = lim.open.Add(c, c.from, limit, lim.limits.PerAddress)
	}
	if !ok {
		return nil
	}
	if victim != nil {
		_ = victim.Conn.Close() // its reader gets an error
	}
	return c
}

// isKnown reports whether an address signed in or delivered recently.
func (lim *Limiter) isKnown(from netip.Prefix) bool {
	at, ok := lim.known[from]
	return ok && clock.Since(at) <= knownFor
}

// openOfKnown returns the number of connections of known addresses.
func (lim *Limiter) openOfKnown() (n int) {
	for c := range lim.open.All() {
		if lim.isKnown(c.from) {
			n++
		}
	}
	return n
}

// markKnown records a sign-in or a delivery from an address.
func (lim *Limiter) markKnown(from netip.Prefix) {
	if _, ok := lim.known[from]; !ok && len(lim.known) >= maxKnown {
		maps.DeleteFunc(lim.known, func(_ netip.Prefix, at time.Time) bool { return clock.Since(at) > knownFor })
		if len(lim.known) >= maxKnown {
			return
		}
	}
	lim.known[from] = clock.Now()
}

// refusals counts the refused recipients of an address.
type refusals struct {
	count   int
	firstAt time.Time // of the first one that counts
	until   time.Time // its connections are refused; zero: they are not
}

// expired reports whether the refusals count no longer.
func (r *refusals) expired(lim *Limiter) bool {
	if !r.until.IsZero() {
		return !clock.Now().Before(r.until)
	}
	return clock.Since(r.firstAt) >= lim.limits.RefusalsWithin
}

// isRefused reports whether connections of an address are refused at present.
func (lim *Limiter) isRefused(from netip.Prefix) bool {
	r := lim.refused[from]
	return r != nil && !r.until.IsZero() && !r.expired(lim)
}

// countRefusal counts a refused recipient of an address.
func (lim *Limiter) countRefusal(from netip.Prefix) {
	if lim.limits.Refusals == 0 {
		return
	}
	r := lim.refused[from]
	if r == nil || r.expired(lim) {
		if r == nil && len(lim.refused) >= maxKnown {
			maps.DeleteFunc(lim.refused, func(_ netip.Prefix, r *refusals) bool { return r.expired(lim) })
		}
		for other := range lim.refused {
			if len(lim.refused) < maxKnown {
				break
			}
			delete(lim.refused, other) // any: the map must not grow
		}
		r = &refusals{firstAt: clock.Now()}
		lim.refused[from] = r
	}
	if r.count++; r.count >= lim.limits.Refusals && r.until.IsZero() {
		r.until = clock.Now().Add(lim.limits.RefusedFor)
	}
}

// network returns the network that the connections of an address are counted for.
func network(a net.Addr) netip.Prefix {
	at, _ := netip.ParseAddrPort(a.String()) // the zero value for other addresses
	return fair.Network(at.Addr())
}

// onClose unregisters a connection, after its message if there is one.
func (lim *Limiter) onClose(c *Conn) {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if c.closed = true; !c.busy {
		lim.open.Remove(c, c.from)
	}
}

// Drain stops accepting, and interrupts connections that wait for a command.
func (lim *Limiter) Drain() {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	lim.draining = true
	for _, l := range lim.listeners {
		_ = l.Close() // closed here too, in case the server has not started serving it
	}
	for c := range lim.open.All() {
		if !c.busy {
			_ = c.Conn.SetReadDeadline(time.Now())
		}
	}
}

// waitIdle waits until no message is being received.
func (lim *Limiter) waitIdle() {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	for lim.receiving() {
		lim.done.Wait()
	}
}

// receiving reports whether a message is being received.
func (lim *Limiter) receiving() bool {
	for c := range lim.open.All() {
		if c.busy {
			return true
		}
	}
	return false
}

// CloseAll closes every connection.
func (lim *Limiter) CloseAll() {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	for c := range lim.open.All() {
		_ = c.Conn.Close()
	}
}
