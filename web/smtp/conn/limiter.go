// Package smtpdoor lets SMTP clients in as long as there is room for them: it bounds
// connections, in all and by address, and the time and bytes of each, whatever the SMTP
// server on top of it asks for. It knows nothing of what is said.
//
// Failure policy: where no place is free, the connection that nobody has signed in on and
// that has been idle longest gives its place to the next one; it belongs to the address
// that has most of them. Who finds no room all the same hears 421 at the greeting. A door that closes lets
// nobody in, ends those who wait for a command, and lets messages on their way finish.
package conn

import (
	"io"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"mailer/app/kit/clock"
)

// Limits bound what one peer, and all of them, can take.
type Limits struct {
	Conns, PerAddress int           // connections at once
	Reserve           int           // of Conns: for addresses that signed in lately
	Session           int64         // bytes between the beginnings of two messages
	Idle              time.Duration // for one read or write
	Age               time.Duration // of a connection in all, until somebody signs in; 0: any
}

// knownFor is how long an address counts as one that signed in lately, and maxKnown how
// many addresses are remembered.
const (
	knownFor = 24 * time.Hour
	maxKnown = 10_000
)

// Door lets connections in as long as there is room for them, in all and for
// their address; the others hear 421.
type Door struct {
	limits Limits

	mu        sync.Mutex
	listeners []net.Listener
	conns     map[*Conn]bool // whether a message is being taken
	from      map[netip.Prefix]int
	known     map[netip.Prefix]time.Time // when somebody last signed in from there
	draining  bool
	done      sync.Cond // a message is done
}

// New makes a door without listeners.
func New(l Limits) *Door {
	lim := &Door{limits: l, conns: map[*Conn]bool{}, from: map[netip.Prefix]int{}, known: map[netip.Prefix]time.Time{}}
	lim.done.L = &lim.mu
	return lim
}

// Open takes a listener and returns one of which each connection is a *Conn that there
// is room for; nil: the door is closing already.
func (lim *Door) Open(l net.Listener) net.Listener {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if lim.draining {
		return nil
	}
	lim.listeners = append(lim.listeners, l)
	return &listener{l, lim}
}

// listener is a listener of a door.
type listener struct {
	net.Listener
	door *Door
}

// Accept returns the next connection that there is room for.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.door.admit(raw); c != nil {
			return c, nil
		}
		_ = raw.SetWriteDeadline(time.Now().Add(time.Second)) // the first bytes of a connection never wait
		_, _ = io.WriteString(raw, "421 4.7.0 Too many connections, try again later\r\n")
		_ = raw.Close()
	}
}

// Closing reports whether the door lets nobody in any more.
func (lim *Door) Closing() bool {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	return lim.draining
}

// Counted returns how many connections there are, and of how many addresses.
func (lim *Door) Counted() (conns, addresses int) {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	return len(lim.conns), len(lim.from)
}

// admit counts a connection in; nil: there is no room.
func (lim *Door) admit(raw net.Conn) *Conn {
	c := &Conn{Conn: raw, door: lim, limits: lim.limits, from: Network(raw.RemoteAddr()), left: lim.limits.Session, since: time.Now()}
	c.Expire(lim.limits.Age)
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if lim.draining || lim.from[c.from] >= lim.limits.PerAddress {
		return nil
	}
	most := lim.limits.Conns
	if at, ok := lim.known[c.from]; !ok || clock.Since(at) > knownFor {
		most -= lim.limits.Reserve
	}
	if len(lim.conns) >= most && !lim.cut(c.from) {
		return nil
	}
	lim.conns[c] = false
	lim.from[c.from]++
	return c
}

// cut drops a connection for one from an address, and reports whether there was one: of
// those that nobody has signed in on and that bring no message, the one that has been idle
// longest, of the address that has most connections and more than the one that comes.
func (lim *Door) cut(next netip.Prefix) bool {
	var victim *Conn
	for c, busy := range lim.conns {
		if busy || c.trusted || c.closed {
			continue
		}
		if more := lim.from[c.from]; victim == nil || more > lim.from[victim.from] || more == lim.from[victim.from] && c.since.Before(victim.since) {
			victim = c
		}
	}
	if victim == nil || lim.from[victim.from] <= lim.from[next] {
		return false
	}
	lim.forget(victim)
	_ = victim.Conn.Close() // whoever reads it finds it closed
	return true
}

// note remembers that somebody signed in from an address.
func (lim *Door) note(from netip.Prefix) {
	if _, ok := lim.known[from]; !ok && len(lim.known) >= maxKnown {
		maps.DeleteFunc(lim.known, func(_ netip.Prefix, at time.Time) bool { return clock.Since(at) > knownFor })
		if len(lim.known) >= maxKnown {
			return
		}
	}
	lim.known[from] = clock.Now()
}

// Network is who connections are counted for: an address of IPv4, or the network
// of 64 bits that one customer has in IPv6.
func Network(a net.Addr) netip.Prefix {
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

// leave counts a connection out, or has Done do so.
func (lim *Door) leave(c *Conn) {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	if c.closed = true; !lim.conns[c] {
		lim.forget(c)
	}
}

// forget counts a connection out, once.
func (lim *Door) forget(c *Conn) {
	if _, ok := lim.conns[c]; !ok {
		return
	}
	delete(lim.conns, c)
	if lim.from[c.from]--; lim.from[c.from] == 0 {
		delete(lim.from, c.from)
	}
}

// Drain lets nobody in any more and wakes those who wait for a command.
func (lim *Door) Drain() {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	lim.draining = true
	for _, l := range lim.listeners {
		_ = l.Close() // also where the server on top has not taken it yet
	}
	for c, busy := range lim.conns {
		if !busy {
			_ = c.Conn.SetReadDeadline(time.Now())
		}
	}
}

// settled waits until no message is being taken.
func (lim *Door) settled() {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	for slices.Contains(slices.Collect(maps.Values(lim.conns)), true) {
		lim.done.Wait()
	}
}

// CloseAll drops every connection.
func (lim *Door) CloseAll() {
	lim.mu.Lock()
	defer lim.mu.Unlock()
	for c := range lim.conns {
		_ = c.Conn.Close()
	}
}
