package conn

import (
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// fakeConn is a connection from an address that records whether it was closed.
type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

func (p *fakeConn) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", p.from+":25")
	return a
}

func (p *fakeConn) Close() error {
	p.closed = true
	return p.Conn.Close()
}

// admitFrom admits a connection from an address; nil if it is refused.
func admitFrom(lim *Limiter, from string) (*Conn, *fakeConn) {
	local, remote := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, remote) }()
	p := &fakeConn{Conn: local, from: from}
	c := lim.admit(p)
	if c == nil {
		_ = local.Close()
	}
	return c, p
}

// TestEvictionOrder: the connection that has been idle longest, of the address with the most
// connections; never one that is signed in or receives a message.
func TestEvictionOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := NewLimiter(Limits{Conns: 6, PerAddress: 4, Idle: time.Hour, SessionBytes: 1})
		admit := func(from string) (*Conn, *fakeConn) {
			t.Helper()
			c, p := admitFrom(lim, from)
			if c == nil {
				t.Fatalf("no room for %s", from)
			}
			time.Sleep(time.Second)
			return c, p
		}
		signed, atSigned := admit("192.0.2.1")
		signed.SetSignedIn()
		_, atLonely := admit("192.0.2.2") // idle longest, but the only one of its address
		busy, atBusy := admit("192.0.2.3")
		busy.BeginMessage()
		talking, atTalking := admit("192.0.2.3")
		_, atIdle := admit("192.0.2.3")
		_, atLater := admit("192.0.2.3")
		if err := talking.arm(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if c, _ := admitFrom(lim, "192.0.2.3"); c != nil {
			t.Error("an address has more than its share")
		}
		admit("192.0.2.4")
		if !atIdle.closed || atSigned.closed || atLonely.closed || atBusy.closed || atTalking.closed || atLater.closed {
			t.Errorf("%v %v %v %v %v %v", atSigned, atLonely, atBusy, atTalking, atIdle, atLater)
		}
		admit("192.0.2.5")
		admit("192.0.2.6") // of the busiest address, only the connection that talked last is idle
		if !atLater.closed || !atTalking.closed || atSigned.closed || atBusy.closed || atLonely.closed {
			t.Errorf("%v %v %v %v %v %v", atSigned, atLonely, atBusy, atTalking, atIdle, atLater)
		}
		if conns, from := lim.Counts(); conns != 6 || from != 6 {
			t.Errorf("%d connections of %d addresses", conns, from)
		}
		lim.CloseAll()
	})
}

// TestSlowPeersWithAcceptedRecipientGiveWay: a peer that knows an address that receives mail can't keep others out, not
// even in the middle of messages. Peers that delivered keep the reserve.
func TestSlowPeersWithAcceptedRecipientGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := NewLimiter(Limits{Conns: 8, PerAddress: 4, Reserve: 1, Idle: time.Hour, SessionBytes: 1})
		admit := func(from string, prepare ...func(c *Conn)) *fakeConn {
			t.Helper()
			c, p := admitFrom(lim, from)
			if c == nil {
				t.Fatalf("no room for %s", from)
			}
			for _, f := range append(prepare, func(c *Conn) { _ = c.arm() }) {
				f(c)
			}
			time.Sleep(time.Second)
			return p
		}
		accepted, message, known := (*Conn).AcceptRecipient, func(c *Conn) { c.BeginMessage() }, (*Conn).MarkKnown
		c, storing := admitFrom(lim, "192.0.2.1") // it waits for the server
		c.AcceptRecipient()
		c.BeginMessage()
		inMessage := admit("192.0.2.1", accepted, message)
		between := admit("192.0.2.1", accepted)
		silent := admit("192.0.2.1")
		var of []*fakeConn
		for range 3 {
			of = append(of, admit("192.0.2.2", known, accepted, message))
		}
		next := admit("192.0.2.3", accepted, message)
		for i, p := range []*fakeConn{silent, inMessage, between, next} {
			if admit(fmt.Sprintf("192.0.2.1%d", i), accepted, message); !p.closed {
				t.Errorf("connection %d is open", i)
			}
		}
		if of[0].closed || of[1].closed || of[2].closed || storing.closed {
			t.Errorf("%v %v", of, storing.closed)
		}
		lim.CloseAll()
	})
}

// TestKnownAddressesKeepReserve: all connections are of addresses that delivered, and wait.
func TestKnownAddressesKeepReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := NewLimiter(Limits{Conns: 4, PerAddress: 4, Reserve: 3, Idle: time.Hour, SessionBytes: 1})
		var of []*fakeConn
		for range 4 {
			c, p := admitFrom(lim, "192.0.2.1")
			if of = append(of, p); c == nil {
				t.Fatal("refused")
			}
			c.MarkKnown()
			c.AcceptRecipient()
			_ = c.arm()
			time.Sleep(time.Second)
		}
		if c, _ := admitFrom(lim, "192.0.2.2"); c == nil || !of[0].closed {
			t.Error("known addresses keep more than the reserve")
		} else {
			c.AcceptRecipient()
		}
		if c, _ := admitFrom(lim, "192.0.2.3"); c != nil || of[1].closed {
			t.Error("they don't keep the reserve")
		}
		lim.CloseAll()
	})
}

// TestReserveForKnownAddresses: for a day.
func TestReserveForKnownAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := NewLimiter(Limits{Conns: 3, PerAddress: 3, Reserve: 1, Idle: time.Hour, SessionBytes: 1})
		first, _ := admitFrom(lim, "192.0.2.1")
		first.SetSignedIn()
		_ = first.Close()
		for _, from := range []string{"192.0.2.2", "192.0.2.3"} {
			c, _ := admitFrom(lim, from)
			c.SetSignedIn() // none of them is evicted
		}
		if c, _ := admitFrom(lim, "192.0.2.4"); c != nil {
			t.Error("a stranger has the place that is kept")
		}
		c, _ := admitFrom(lim, "192.0.2.1")
		if c == nil {
			t.Fatal("no place is kept")
		}
		_ = c.Close()
		time.Sleep(knownFor + time.Second)
		if c, _ := admitFrom(lim, "192.0.2.1"); c != nil {
			t.Error("it is kept for ever")
		}
		lim.CloseAll()
	})
}

// TestKnownAddressesAreBounded: and the old ones are forgotten first.
func TestKnownAddressesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := NewLimiter(Limits{})
		address := func(n int) net.Addr { return &net.TCPAddr{IP: net.IPv4(10, byte(n>>16), byte(n>>8), byte(n))} }
		for n := range maxKnown + 10 {
			lim.markKnown(network(address(n)))
		}
		if len(lim.known) != maxKnown {
			t.Errorf("%d are remembered", len(lim.known))
		}
		time.Sleep(knownFor + time.Second)
		lim.markKnown(network(address(1 << 20)))
		if len(lim.known) != 1 {
			t.Errorf("%d are remembered after a day", len(lim.known))
		}
	})
}

// TestAddressWithManyRefusals: connections of an address with many refused recipients within an hour are refused for ten
// minutes; others, and fewer refusals, change nothing.
func TestAddressWithManyRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := NewLimiter(Limits{Conns: 9, PerAddress: 9, Idle: time.Hour, SessionBytes: 1, Refusals: 3, RefusalsWithin: time.Hour, RefusedFor: 10 * time.Minute})
		refuse := func(from string, n int) {
			t.Helper()
			c, _ := admitFrom(lim, from)
			if c == nil {
				t.Fatalf("%s is refused", from)
			}
			for range n {
				c.CountRefusal()
			}
			_ = c.Close()
		}
		refuse("192.0.2.1", 2)
		time.Sleep(time.Hour)
		refuse("192.0.2.1", 2) // the first two don't count any more
		refuse("192.0.2.1", 1)
		if c, _ := admitFrom(lim, "192.0.2.1"); c != nil {
			t.Error("an address with three refusals connects")
		}
		refuse("192.0.2.2", 1)
		time.Sleep(10*time.Minute - time.Second)
		if c, _ := admitFrom(lim, "192.0.2.1"); c != nil {
			t.Error("it connects too early")
		}
		time.Sleep(time.Second)
		refuse("192.0.2.1", 2)
		refuse("192.0.2.1", 0) // it begins anew
		lim.CloseAll()
	})
}

// TestRefusalsAreBounded: the table of refusals does not grow without limit.
func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := NewLimiter(Limits{Refusals: 2, RefusalsWithin: time.Hour, RefusedFor: time.Minute})
		for n := range maxKnown + 10 {
			lim.countRefusal(network(&net.TCPAddr{IP: net.IPv4(10, byte(n>>16), byte(n>>8), byte(n))}))
		}
		if len(lim.refused) != maxKnown {
			t.Errorf("%d are counted", len(lim.refused))
		}
	})
}
