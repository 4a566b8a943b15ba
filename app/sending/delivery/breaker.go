package delivery

import (
	"sync"
	"time"

	"mailer/app"
	"mailer/app/kit/clock"
)

// breaker is the circuit breaker of a relay, or of one sender at a relay. Closed, it lets all mail
// through. Trouble opens it for a delay that grows with each failure in a row. After the delay it is
// half-open and permits one probe, whose outcome closes it or opens it again. If mail was refused,
// it is half-open immediately for senders that did not meet the refusal. allow never blocks: a job
// that is refused goes back to the queue. The zero value is closed.
type breaker struct {
	mu        sync.Mutex
	open      bool
	probing   bool
	refused   bool   // opened by a refusal or a lost connection: an unaffected sender may probe before openUntil
	failing   sender // sender whose mail failed last
	openUntil time.Time
	failures  int
	epoch     int // counts openings; outcomes of earlier epochs are ignored

	trouble    *app.RelayTrouble // that opened it; nil: closed
	lastResult app.Result        // of the latest failed transaction
}

// permit allows one transaction.
type permit struct {
	epoch      int
	probe      bool
	unaffected bool // a probe of an unaffected sender, before openUntil
}

// breakerState is the state of a breaker.
type breakerState int

const (
	breakerClosed   breakerState = iota
	breakerOpen                  // nothing is permitted, or a probe runs
	breakerHalfOpen              // one probe is permitted
)

// breakerStatus is the state of a breaker at one moment.
type breakerStatus struct {
	state          breakerState
	unaffectedOnly bool      // half-open for senders that did not meet the refusal, until openUntil
	failing        sender    // that failed last
	openUntil      time.Time // unless closed: when it is, or was, half-open for all senders
}

// affectedWait reports whether mail of a sender that met the refusal must wait.
func (s *breakerStatus) affectedWait() bool { return s.state == breakerOpen || s.unaffectedOnly }

// status returns the current state.
func (b *breaker) status() breakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.statusLocked()
}

func (b *breaker) statusLocked() breakerStatus {
	s := breakerStatus{state: breakerOpen, failing: b.failing, openUntil: b.openUntil}
	switch due := !b.openUntil.After(clock.Now()); {
	case !b.open:
		s.state = breakerClosed
	case b.probing:
	case due || b.refused:
		s.state, s.unaffectedOnly = breakerHalfOpen, !due
	}
	return s
}

// allow returns a permit for one transaction. unaffected: the sender's mail was not refused.
func (b *breaker) allow(unaffected bool) (permit, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch s := b.statusLocked(); {
	case s.state == breakerClosed:
		return permit{epoch: b.epoch}, true
	case s.state == breakerHalfOpen && (unaffected || !s.unaffectedOnly):
		b.probing = true
		return permit{epoch: b.epoch, probe: true, unaffected: s.unaffectedOnly}, true
	}
	return permit{}, false
}

// success records that the relay answered. It reports whether that closed the breaker.
func (b *breaker) success(p permit) (reopened bool) {
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
func (b *breaker) release(p permit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.probe && p.epoch == b.epoch {
		b.probing = false
	}
}

// trouble is a failure that opens a breaker.
type trouble struct {
	sender  sender // whose mail failed
	refused bool   // mail was refused or the connection lost; false: the relay could not be used
	quota   bool   // a daily limit is used up
	// delay returns how long the breaker stays open after a number of failures in a row.
	delay func(failures int) time.Duration
}

// trip opens the breaker. Troubles of transactions that began before it last opened belong to that
// opening and don't count again, nor does a refused probe of an unaffected sender.
func (b *breaker) trip(p permit, t trouble) (failures int, until time.Time, fresh bool) {
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
func (b *breaker) retryNow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open && !b.probing {
		b.openUntil = clock.Now()
	}
}

// close closes the breaker: its relay passed a test. Outcomes of earlier transactions don't count.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.probing, b.failures = false, false, 0
	b.epoch++
}

// reset forgets the trouble and makes the breaker half-open. It is called when a relay is removed,
// because another relay may come back under its name.
func (b *breaker) reset() {
	b.retryNow()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trouble = nil
}
