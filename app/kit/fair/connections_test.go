package fair_test

import (
	"net/netip"
	"testing"
	"time"

	"mailer/app/kit/fair"
)

// peer is a connection; since is its last activity, in seconds.
type peer struct {
	network netip.Prefix
	since   int
	stuck   bool
	busy    bool
}

func newConnections(replace bool) *fair.Connections[*peer] {
	return fair.NewConnections(replace, func(p *peer, _ time.Time) (fair.Idle, bool) {
		return fair.Idle{First: p.stuck, Since: time.Unix(int64(p.since), 0)}, !p.busy
	})
}

// net returns a network.
func net(n byte) netip.Prefix { return fair.Network(netip.AddrFrom4([4]byte{192, 0, 2, n})) }

// add adds a connection where there may be 4, 3 of one network.
func add(t *fair.Connections[*peer], p *peer) (victim *peer, ok bool) {
	return t.Add(p, p.network, 4, 3)
}

func TestReplacedConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		replace bool
		open    []*peer
		next    byte
		victim  int // in open; -1: none
		ok      bool
	}{
		"within the limits":                  {false, []*peer{{network: net(1)}, {network: net(1)}}, 1, -1, true},
		"longest idle of the busiest":        {false, []*peer{{network: net(1), since: 1}, {network: net(2), since: 3}, {network: net(2), since: 2}, {network: net(3), since: 1}}, 4, 2, true},
		"longest idle of equally busy ones":  {false, []*peer{{network: net(1), since: 2}, {network: net(2), since: 1}, {network: net(3), since: 3}, {network: net(4), since: 4}}, 5, 1, true},
		"stuck before idle":                  {true, []*peer{{network: net(1), since: 1}, {network: net(1), since: 2, stuck: true}, {network: net(1), since: 3}}, 1, 1, true},
		"busy ones are kept":                 {true, []*peer{{network: net(1), busy: true}, {network: net(1), busy: true}, {network: net(1), since: 9}}, 1, 2, true},
		"only busy ones":                     {true, []*peer{{network: net(1), busy: true}, {network: net(1), busy: true}, {network: net(1), busy: true}}, 1, -1, false},
		"busiest with an idle one":           {false, []*peer{{network: net(1), busy: true}, {network: net(1), busy: true}, {network: net(2)}, {network: net(3), busy: true}}, 4, 2, true},
		"own network, not replaced":          {false, []*peer{{network: net(1)}, {network: net(1)}, {network: net(1)}}, 1, -1, false},
		"as many as the busiest":             {false, []*peer{{network: net(1)}, {network: net(1)}, {network: net(2)}, {network: net(2)}}, 2, -1, false},
		"as many as the busiest, replaced":   {true, []*peer{{network: net(1), since: 2}, {network: net(1), since: 3}, {network: net(2), since: 1}, {network: net(2), since: 4}}, 2, 2, true},
		"more than others, replaced anyway":  {true, []*peer{{network: net(1), busy: true}, {network: net(1), busy: true}, {network: net(2)}, {network: net(3), busy: true}}, 1, 2, true},
		"more than others, and not replaced": {false, []*peer{{network: net(1), busy: true}, {network: net(1), busy: true}, {network: net(2)}, {network: net(3), busy: true}}, 1, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			table := newConnections(tt.replace)
			for _, p := range tt.open {
				if victim, ok := add(table, p); victim != nil || !ok {
					t.Fatalf("%+v: %v, %+v", p, ok, victim)
				}
			}
			next := &peer{network: net(tt.next)}
			victim, ok := add(table, next)
			var want *peer
			if tt.victim >= 0 {
				want = tt.open[tt.victim]
			}
			if victim != want || ok != tt.ok || table.Has(next, next.network) != ok || want != nil && table.Has(want, want.network) {
				t.Errorf("%v, %+v, want %+v", ok, victim, want)
			}
		})
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	table := newConnections(false)
	var all []*peer
	for i := range byte(4) {
		p := &peer{network: net(i / 3), since: int(i)}
		all = append(all, p)
		add(table, p)
	}
	n := 0
	for range table.All() {
		n++
	}
	open, networks := table.Open()
	if busiest, most := table.Busiest(); n != 4 || open != 4 || networks != 2 || busiest != net(0) || most != 3 {
		t.Errorf("%d, %d of %d networks; %s has %d", n, open, networks, busiest, most)
	}
	if victim, ok := table.RemoveIdle(net(9)); victim != all[0] || !ok {
		t.Errorf("%+v", victim)
	}
	for _, p := range all { // one of them for the second time
		table.Remove(p, p.network)
	}
	if open, networks := table.Open(); open != 0 || networks != 0 {
		t.Errorf("%d of %d networks are left", open, networks)
	}
}

func TestNetwork(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := fair.Network(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("%s counts for %s, want %s", addr, got, want)
		}
	}
	if p := fair.Network(netip.Addr{}); p != (netip.Prefix{}) {
		t.Errorf("no address counts for %s", p)
	}
}
