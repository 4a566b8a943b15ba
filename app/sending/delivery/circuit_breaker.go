package delivery

import (
	"sync"
	"time"

	"mailer/app/kit/clock"
)

// circuitBreaker stands before a relay, or before what it takes of one sender: open while mail
// is taken, shut for a pause after trouble, then open for one probe whose outcome opens
// or shuts it again. Nobody waits at it: what may not pass goes back to the queue.
type circuitBreaker struct {
	mu        sync.Mutex
	open      bool
	probing   bool
	refused   bool   // mail was refused, or its line lost: who has not met that may try before the pause is over
	failing   sender // whose mail met the trouble last
	openUntil time.Time
	failures  int
	epoch     int // counts pauses; an outcome of an earlier epoch is old news
}

// permit is the leave to begin one transaction.
type permit struct {
	epoch      int
	probe      bool
	unaffected bool // a probe of one who has not met the refusals
}

// breakerState says who may pass a gate.
type breakerState int

const (
	breakerOpen        breakerState = iota
	halfOpenUnaffected              // one probe of a sender that has not met the refusals
	halfOpen                        // one probe
	breakerClosed
)

// state says who may pass now; where nobody may, or not everybody, again is when that
// changes by itself.
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

// allow returns a pass for a transaction, of a sender that has not met the refusals
// (innocent) or of any.
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

// success notes that the relay answered; it reports whether the gate was shut.
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

// release passes a probe's right to another: its transaction ended without
// telling anything of the relay.
func (g *circuitBreaker) release(p permit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.probe && p.epoch == g.epoch {
		g.probing = false
	}
}

// trouble is what shuts a gate.
type trouble struct {
	sender  sender // whose mail met it
	refused bool   // it was refused, or its line lost; else the relay could not be used
	quota   bool   // its daily limit is used, so that nothing is tried
	// delay is the pause after a number of failures in a row.
	delay func(failures int) time.Duration
}

// trip shuts the gate for a pause. Troubles of transactions that began before the last
// pause are part of it and count once, and so is what a probe met that came early.
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

// retryNow ends a pause: the relay is tried now.
func (g *circuitBreaker) retryNow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open && !g.probing {
		g.openUntil = clock.Now()
	}
}
