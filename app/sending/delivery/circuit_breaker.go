package delivery

import (
	"sync"
	"time"

	"mailer/app/kit/clock"
)

// circuitBreaker is the circuit breaker of a relay, or of one sender at a relay. Closed, it lets
// all mail through. Trouble opens it for a delay that grows with each failure in a row; after the
// delay it is half-open and permits one probe, whose outcome closes it or opens it again. allow
// never blocks: a job that is refused goes back to the queue.
type circuitBreaker struct {
	mu        sync.Mutex
	open      bool
	probing   bool
	refused   bool   // opened by a refusal or a lost connection: an unaffected sender may probe before openUntil
	failing   sender // sender whose mail failed last
	openUntil time.Time
	failures  int
	epoch     int // counts openings; outcomes of earlier epochs are ignored
}

// permit allows one transaction.
type permit struct {
	epoch      int
	probe      bool
	unaffected bool // a probe of an unaffected sender, before openUntil
}

// breakerState says which transactions a circuitBreaker allows, from none to all.
type breakerState int

const (
	breakerOpen        breakerState = iota
	halfOpenUnaffected              // one probe of an unaffected sender
	halfOpen                        // one probe
	breakerClosed
)

// state returns the current state, the sender that failed last, and when an open or half-open state
// changes next.
func (g *circuitBreaker) state() (o breakerState, failing sender, again time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stateLocked(), g.failing, g.openUntil
}

func (g *circuitBreaker) stateLocked() breakerState {
	switch {
	case !g.open:
		return breakerClosed
	case g.probing:
		return breakerOpen
	case !g.openUntil.After(clock.Now()):
		return halfOpen
	case g.refused:
		return halfOpenUnaffected
	}
	return breakerOpen
}

// allow returns a permit for one transaction. unaffected: the sender's mail was not refused.
func (g *circuitBreaker) allow(unaffected bool) (permit, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch o := g.stateLocked(); {
	case o == breakerClosed:
		return permit{epoch: g.epoch}, true
	case o == halfOpen, o == halfOpenUnaffected && unaffected:
		g.probing = true
		return permit{epoch: g.epoch, probe: true, unaffected: o == halfOpenUnaffected}, true
	}
	return permit{}, false
}

// success records that the relay answered. It reports whether that closed the breaker.
func (g *circuitBreaker) success(p permit) (reopened bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		g.failures = 0
		return false
	}
	if !p.probe || p.epoch != g.epoch {
		return false
	}
	g.open, g.probing, g.failures = false, false, 0
	return true
}

// release ends a probe whose transaction ended without showing whether the relay works.
func (g *circuitBreaker) release(p permit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.probe && p.epoch == g.epoch {
		g.probing = false
	}
}

// trouble is a failure that opens a circuitBreaker.
type trouble struct {
	sender  sender // whose mail failed
	refused bool   // mail was refused or the connection lost; false: the relay could not be used
	quota   bool   // a daily limit is used up
	// delay returns how long the breaker stays open after a number of failures in a row.
	delay func(failures int) time.Duration
}

// trip opens the breaker. Troubles of transactions that began before it last opened belong to that
// opening and don't count again, nor does a refused probe of an unaffected sender.
func (g *circuitBreaker) trip(p permit, t trouble) (failures int, until time.Time, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.epoch != g.epoch {
		return g.failures, g.openUntil, false
	}
	if g.open && p.unaffected && t.refused {
		g.probing = false
		return g.failures, g.openUntil, false
	}
	g.failures++
	g.epoch++
	g.open, g.probing, g.refused, g.failing = true, false, t.refused, t.sender
	g.openUntil = clock.Now().Add(t.delay(g.failures))
	return g.failures, g.openUntil, true
}

// retryNow makes an open breaker half-open immediately.
func (g *circuitBreaker) retryNow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open && !g.probing {
		g.openUntil = clock.Now()
	}
}
