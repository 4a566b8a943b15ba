package delivery

import (
	"sync"
	"time"

	"mailer/app/kit/clock"
)

// gate stands before a relay, or before what it takes of one sender: open while mail
// is taken, shut for a pause after trouble, then open for one probe whose outcome opens
// or shuts it again. Nobody waits at it: what may not pass goes back to the queue.
type gate struct {
	mu       sync.Mutex
	shut     bool
	probing  bool
	refusing bool   // mail was refused, or its line lost: who has not met that may try before the pause is over
	blamed   sender // whose mail met the trouble last
	until    time.Time
	failures int
	epoch    int // counts pauses; an outcome of an earlier epoch is old news
}

// pass is the leave to begin one transaction.
type pass struct {
	epoch int
	probe bool
	early bool // a probe of one who has not met the refusals
}

// opening says who may pass a gate.
type opening int

const (
	closed    opening = iota
	innocents         // one probe of a sender that has not met the refusals
	probe             // one probe
	open
)

// look says who may pass now; where nobody may, or not everybody, again is when that
// changes by itself.
func (g *gate) look() (o opening, blamed sender, again time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opening(), g.blamed, g.until
}

func (g *gate) opening() opening {
	switch {
	case !g.shut:
		return open
	case g.probing:
		return closed
	case !g.until.After(clock.Now()):
		return probe
	case g.refusing:
		return innocents
	}
	return closed
}

// enter returns a pass for a transaction, of a sender that has not met the refusals
// (innocent) or of any.
func (g *gate) enter(innocent bool) (pass, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch o := g.opening(); {
	case o == open:
		return pass{epoch: g.epoch}, true
	case o == probe, o == innocents && innocent:
		g.probing = true
		return pass{epoch: g.epoch, probe: true, early: o == innocents}, true
	}
	return pass{}, false
}

// healthy notes that the relay answered; it reports whether the gate was shut.
func (g *gate) healthy(p pass) (reopened bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.failures = 0
		return false
	}
	if !p.probe || p.epoch != g.epoch {
		return false
	}
	g.shut, g.probing, g.failures = false, false, 0
	return true
}

// unclear passes a probe's right to another: its transaction ended without
// telling anything of the relay.
func (g *gate) unclear(p pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.probe && p.epoch == g.epoch {
		g.probing = false
	}
}

// trouble is what shuts a gate.
type trouble struct {
	sender   sender // whose mail met it
	refusing bool   // it was refused, or its line lost; else the relay could not be used
	quota    bool   // its daily limit is used, so that nothing is tried
	// delay is the pause after a number of failures in a row.
	delay func(failures int) time.Duration
}

// close shuts the gate for a pause. Troubles of transactions that began before the last
// pause are part of it and count once, and so is what a probe met that came early.
func (g *gate) close(p pass, t trouble) (failures int, until time.Time, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.epoch != g.epoch {
		return g.failures, g.until, false
	}
	if g.shut && p.early && t.refusing {
		g.probing = false
		return g.failures, g.until, false
	}
	g.failures++
	g.epoch++
	g.shut, g.probing, g.refusing, g.blamed = true, false, t.refusing, t.sender
	g.until = clock.Now().Add(t.delay(g.failures))
	return g.failures, g.until, true
}

// again ends a pause: the relay is tried now.
func (g *gate) again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut && !g.probing {
		g.until = clock.Now()
	}
}
