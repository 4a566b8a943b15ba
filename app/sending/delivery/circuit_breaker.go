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
func (b *circuitBreaker) state() (o breakerState, failing sender, again time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stateLocked(), b.failing, b.openUntil
}

func (b *circuitBreaker) stateLocked() breakerState {
	switch {
	case !b.open:
		return breakerClosed
	case b.probing:
		return breakerOpen
	case !b.openUntil.After(clock.Now()):
		return halfOpen
	case b.refused:
		return halfOpenUnaffected
	}
	return breakerOpen
}

// allow returns a permit for one transaction. unaffected: the sender's mail was not refused.
func (b *circuitBreaker) allow(unaffected bool) (permit, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch o := b.stateLocked(); {
	case o == breakerClosed:
		return permit{epoch: b.epoch}, true
	case o == halfOpen, o == halfOpenUnaffected && unaffected:
		b.probing = true
		return permit{epoch: b.epoch, probe: true, unaffected: o == halfOpenUnaffected}, true
	}
	return permit{}, false
}

// success records that the relay answered. It reports whether that closed the breaker.
func (b *circuitBreaker) success(p permit) (reopened bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open {
		b.failures = 0
		return false
	}
	if !p.probe || p.epoch != b.epoch {
		return false
	}
	b.open, b.probing, b.failures = false, false, 0
	return true
}

// release ends a probe whose transaction ended without showing whether the relay works.
func (b *circuitBreaker) release(p permit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.probe && p.epoch == b.epoch {
		b.probing = false
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
func (b *circuitBreaker) trip(p permit, t trouble) (failures int, until time.Time, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.epoch != b.epoch {
		return b.failures, b.openUntil, false
	}
	if b.open && p.unaffected && t.refused {
		b.probing = false
		return b.failures, b.openUntil, false
	}
	b.failures++
	b.epoch++
	b.open, b.probing, b.refused, b.failing = true, false, t.refused, t.sender
	b.openUntil = clock.Now().Add(t.delay(b.failures))
	return b.failures, b.openUntil, true
}

// retryNow makes an open breaker half-open immediately.
func (b *circuitBreaker) retryNow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open && !b.probing {
		b.openUntil = clock.Now()
	}
}
