package fair

import (
	"iter"
	"net/netip"
	"time"
)

// Connections is the open connections of a server, by the network of the peer. It decides which
// connections are accepted, and which one is closed for the next: of the network with the most
// connections, the one that has kept the server waiting longest. So a peer with many silent
// connections keeps nobody out. The caller closes connections, and locks: Connections is not safe
// for concurrent use.
type Connections[C comparable] struct {
	idle      func(c C, now time.Time) (Idle, bool)
	replace   bool
	byNetwork map[netip.Prefix]map[C]struct{}
	open      int
}

// Idle says how a peer keeps the server waiting.
type Idle struct {
	First bool      // closed before all others of its network, and of networks with as many connections
	Since time.Time // the last activity
}

func (i Idle) before(other Idle) bool {
	return i.First && !other.First || i.First == other.First && i.Since.Before(other.Since)
}

// NewConnections returns a table without connections. idle describes a connection; false: it must
// not be closed. If replace is true, a connection may be closed for another one of its own network,
// or of a network that has as many or more; otherwise only for one of a network that has fewer.
func NewConnections[C comparable](replace bool, idle func(c C, now time.Time) (Idle, bool)) *Connections[C] {
	return &Connections[C]{idle: idle, replace: replace, byNetwork: map[netip.Prefix]map[C]struct{}{}}
}

// Network returns the network that counts as one peer: an IPv4 address, or an IPv6 /64, the
// smallest network that providers assign. All invalid addresses share the zero prefix.
func Network(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.WithZone("").Prefix(bits) // fails only for an invalid address
	return p
}

// Add adds a connection of a network if it is within the limits for all networks and for this one,
// or can replace another connection. The replaced connection is removed and returned, and the
// caller must close it; the zero value: none. ok is false if the connection is refused.
func (t *Connections[C]) Add(c C, network netip.Prefix, limit, perNetwork int) (victim C, ok bool) {
	var none C
	now := time.Now()
	switch {
	case len(t.byNetwork[network]) >= perNetwork:
		if !t.replace {
			return none, false
		}
		victim, _, ok = t.longestIdle(network, now)
		t.Remove(victim, network)
	case t.open >= limit:
		victim, ok = t.RemoveIdle(network)
	default:
		ok = true
	}
	if !ok {
		return none, false
	}
	if t.byNetwork[network] == nil {
		t.byNetwork[network] = map[C]struct{}{}
	}
	t.byNetwork[network][c] = struct{}{}
	t.open++
	return victim, true
}

// RemoveIdle removes and returns the connection that is closed first for one of a network; false if
// there is none.
func (t *Connections[C]) RemoveIdle(next netip.Prefix) (victim C, ok bool) {
	now := time.Now()
	least := len(t.byNetwork[next]) + 1
	if t.replace {
		least = 1
	}
	var from netip.Prefix
	var longest Idle
	for network, conns := range t.byNetwork {
		if len(conns) < least {
			continue
		}
		if c, idle, found := t.longestIdle(network, now); found && (!ok || len(conns) > least || idle.before(longest)) {
			victim, from, longest, least, ok = c, network, idle, len(conns), true
		}
	}
	t.Remove(victim, from)
	return victim, ok
}

// longestIdle returns the connection of a network that is closed first; false if there is none.
func (t *Connections[C]) longestIdle(network netip.Prefix, now time.Time) (victim C, longest Idle, ok bool) {
	for c := range t.byNetwork[network] {
		if idle, closable := t.idle(c, now); closable && (!ok || idle.before(longest)) {
			victim, longest, ok = c, idle, true
		}
	}
	return victim, longest, ok
}

// Remove removes a connection of a network. The connection may be removed already.
func (t *Connections[C]) Remove(c C, network netip.Prefix) {
	if !t.Has(c, network) {
		return
	}
	delete(t.byNetwork[network], c)
	if len(t.byNetwork[network]) == 0 {
		delete(t.byNetwork, network)
	}
	t.open--
}

// Has reports whether a connection of a network is in the table.
func (t *Connections[C]) Has(c C, network netip.Prefix) bool {
	_, ok := t.byNetwork[network][c]
	return ok
}

// All returns all connections, in no order.
func (t *Connections[C]) All() iter.Seq[C] {
	return func(yield func(C) bool) {
		for _, conns := range t.byNetwork {
			for c := range conns {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// Open returns the number of connections, and of networks.
func (t *Connections[C]) Open() (connections, networks int) { return t.open, len(t.byNetwork) }

// Busiest returns the network with the most connections, and their number.
func (t *Connections[C]) Busiest() (network netip.Prefix, connections int) {
	for n, conns := range t.byNetwork {
		if len(conns) > connections {
			network, connections = n, len(conns)
		}
	}
	return network, connections
}
