// Package clock tells what time it is: by this machine's clock, or by one that several
// machines share, as that of a database which they work on together. What one process
// measures for itself, like how long something took, needs neither: that is time.Since.
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Tolerance is how far Now may be from a clock that it keeps to: less delays nothing worth
// the trouble of a step.
const Tolerance = time.Second

// sharedClock is how Now follows another clock. It counts by the monotonic clock, so that steps of
// this machine's wall clock are none of it.
type sharedClock struct {
	since time.Time // by this machine, with its monotonic clock
	ahead time.Duration
}

func (k *sharedClock) at(machine time.Time) time.Time {
	return k.since.Add(k.ahead + machine.Sub(k.since))
}

var (
	shared   atomic.Pointer[sharedClock] // nil: this machine's clock is right
	followMu sync.Mutex
)

// Now is the time.
func Now() time.Time { return at(time.Now()) }

// Since is how long ago t was.
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Until is how long it is until t.
func Until(t time.Time) time.Duration { return t.Sub(Now()) }

// Follow has Now keep to another clock, which showed that time at a moment between two that
// time.Now told. It returns by how much Now moves, 0 for what is within Tolerance: as far as
// that clock is surely off, so that an answer that took long moves nothing.
func Follow(shown, began, ended time.Time) (moved time.Duration) {
	followMu.Lock()
	defer followMu.Unlock()
	k := shared.Load()
	if k == nil {
		k = &sharedClock{since: began}
	}
	if early := shown.Sub(k.at(began).Round(0)); early < -Tolerance {
		moved = early
	} else if late := shown.Sub(k.at(ended).Round(0)); late > Tolerance {
		moved = late
	}
	shared.Store(&sharedClock{since: k.since, ahead: k.ahead + moved})
	return moved
}

// Ahead is how far this machine's clock is ahead of the one that Now keeps to.
func Ahead() time.Duration {
	machine := time.Now()
	return machine.Round(0).Sub(at(machine).Round(0))
}

// Mark is a moment, from which on Now is compared with time that passes.
type Mark struct{ now, local time.Time }

// Begin is the mark of this moment.
func Begin() Mark {
	machine := time.Now()
	return Mark{at(machine), machine}
}

// Elapsed is how far Now has moved since the mark, and for how long that is in truth: more, or
// less, once a clock was put forward or back.
func (m Mark) Elapsed() (moved, passed time.Duration) {
	machine := time.Now()
	return at(machine).Round(0).Sub(m.now.Round(0)), machine.Sub(m.local)
}

// Adjust is a time by the clock by which something began: what Now was put forward since the
// mark is no waiting of what was there before.
func (m Mark) Adjust(began, at time.Time) time.Time {
	moved, passed := m.Elapsed()
	return adjust(began, at, moved-passed)
}

// maxDrift is how far the wall clock and the monotonic one may drift apart by themselves.
const maxDrift = time.Minute

func adjust(began, at time.Time, ahead time.Duration) time.Time {
	before := at.Add(-ahead)
	if ahead > 0 && !began.After(before.Add(min(ahead/2, maxDrift))) {
		return before
	}
	return at
}

// at is what Now is at a moment of this machine.
func at(machine time.Time) time.Time {
	if k := shared.Load(); k != nil {
		return k.at(machine)
	}
	return machine
}

// Unfollow has Now tell this machine's time again.
func Unfollow() { shared.Store(nil) }
