package sdktest

import "testing"

// TestReservesInTheBrowser walks through the states of a region with a reserve on the Relays page.
func TestReservesInTheBrowser(t *testing.T) {
	part(t, "browser")
	t.Parallel()
	primary := newSink(t, sinkOptions{})
	r := newReserved(t, primary, relayURL(primary))
	s := newScreen(t, r.in.url, r.in.setUp(t).session(t))
	state := func(name string, sees ...string) {
		t.Helper()
		s.load("/operator/relays")
		s.sees(sees...)
		s.picture("reserves-"+name, 390, 1440)
		s.fine(name)
	}
	state("primary", "us-east-1", "second")
	r.in.run(t, "relays", "switch", "us-east-1", "second")
	r.single(t, orderTo("moved"), nil)
	r.reserve.wait(t, 1, recovery, subjectIs("moved"))
	state("chosen", "second", "operator")
	r.in.run(t, "relays", "switch", "us-east-1", "us-east-1")
	r.in.run(t, "relays", "switch", "us-east-1", "--auto")
	primary.set(deadRelay)
	primary.drop()
	r.single(t, orderTo("waits"), nil)
	r.reserve.wait(t, 2, recovery, func(*message) bool { return true })
	state("reserve", "second", "Moved")
	r.in.run(t, "relays", "failover", "us-east-1", "manual", "--after", "10s")
	r.reserve.set(deadRelay)
	r.reserve.drop()
	r.single(t, orderTo("neither"), nil)
	state("both", "second")
	r.in.run(t, "relays", "pause", "us-east-1")
	state("paused", "paused")
}
