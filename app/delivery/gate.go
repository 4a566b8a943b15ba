package delivery

import (
	"context"
	"sync"
	"time"

	"mailer/app/service"
)

// gate stands before a relay: open while it takes mail, shut for a pause after
// trouble, then open for one probe whose outcome opens or shuts it again.
type gate struct {
	mu       sync.Mutex
	shut     bool
	probing  bool
	until    time.Time
	failures int
	epoch    int           // counts pauses; an outcome of an earlier epoch is old news
	change   chan struct{} // closed and renewed at each change
}

func newGate() *gate { return &gate{change: make(chan struct{})} }

// pass is the leave to begin one transaction.
type pass struct {
	epoch int
	probe bool
}

// enter waits until a transaction may begin. It answers false when ctx ends.
func (g *gate) enter(ctx context.Context) (pass, bool) {
	for {
		p, wait, change := g.try()
		if wait < 0 {
			return p, true
		}
		if !service.Pause(ctx, wait, change) {
			return pass{}, false
		}
	}
}

// try returns a pass (wait < 0), or how long to wait at most.
func (g *gate) try() (p pass, wait time.Duration, change chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.shut:
		return pass{epoch: g.epoch}, -1, nil
	case g.probing:
		return pass{}, time.Hour, g.change
	}
	if d := time.Until(g.until); d > 0 {
		return pass{}, d, g.change
	}
	g.probing = true
	return pass{epoch: g.epoch, probe: true}, -1, nil
}

func (g *gate) signal() {
	close(g.change)
	g.change = make(chan struct{})
}

// healthy notes that the relay answered; it reports whether the gate was shut.
func (g *gate) healthy(p pass) (reopened bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut || !p.probe {
		g.failures = 0
		return false
	}
	g.shut, g.probing, g.failures = false, false, 0
	g.signal()
	return true
}

// unclear passes a probe's right to another: its transaction ended without
// telling anything of the relay.
func (g *gate) unclear(p pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.probe && g.probing && p.epoch == g.epoch {
		g.probing = false
		g.signal()
	}
}

// trouble shuts the gate for a pause that delay makes of the number of failures
// in a row. Troubles of transactions that began before the last pause are part
// of it and count once.
func (g *gate) trouble(p pass, delay func(failures int) time.Duration) (failures int, until time.Time, fresh bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.epoch != g.epoch {
		return g.failures, g.until, false
	}
	g.failures++
	g.epoch++
	g.shut, g.probing = true, false
	g.until = time.Now().Add(delay(g.failures))
	g.signal()
	return g.failures, g.until, true
}

// again ends a pause: the relay is tried now.
func (g *gate) again() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut && !g.probing {
		g.until = time.Now()
		g.signal()
	}
}

// room is how many units may be claimed of room: one, for the probe, once the
// pause is over; none before.
func (g *gate) room(room int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.shut:
		return room
	case g.probing || time.Until(g.until) > 0:
		return 0
	}
	return min(room, 1)
}
