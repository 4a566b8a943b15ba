// Package clock returns the time of this machine's clock, or of a clock that several machines
// share, like that of their database. Durations measured within one process need neither: use
// time.Since.
package clock

import (
	"sync"
	"sync/atomic"
	"time"
)

// Tolerance is how far Now may differ from the shared clock before it is adjusted. Smaller
// differences do not matter for any delay.
const Tolerance = time.Second

// sharedClock is the offset of the shared clock. It counts from the monotonic clock, so that steps
// of this machine's wall clock have no effect.
type sharedClock struct {
	since time.Time // time of this machine, with its monotonic reading
	ahead time.Duration
}

func (k *sharedClock) at(machine time.Time) time.Time {
	return k.since.Add(k.ahead + machine.Sub(k.since))
}

var (
	shared   atomic.Pointer[sharedClock] // nil: this machine's clock is used
	followMu sync.Mutex
)

// Now returns the current time.
func Now() time.Time { return at(time.Now()) }

// Since returns the time elapsed since t.
func Since(t time.Time) time.Duration { return Now().Sub(t) }

// Until returns the time until t.
func Until(t time.Time) time.Duration { return t.Sub(Now()) }

// Follow adjusts Now to another clock, which showed the time shown at some moment between began
// and ended (times of time.Now). It returns by how much Now moves: the least that is certain, so
// that a slow answer moves nothing, and 0 within Tolerance.
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

// Ahead returns how far this machine's clock is ahead of Now.
func Ahead() time.Duration {
	machine := time.Now()
	return machine.Round(0).Sub(at(machine).Round(0))
}

// Mark is a moment to compare later values of Now with.
type Mark struct{ now, local time.Time }

// Begin returns the mark of the current moment.
func Begin() Mark {
	machine := time.Now()
	return Mark{at(machine), machine}
}

// Elapsed returns how far Now has moved since the mark, and the true elapsed time. They differ if
// a clock was set in between.
func (m Mark) Elapsed() (moved, passed time.Duration) {
	machine := time.Now()
	return at(machine).Round(0).Sub(m.now.Round(0)), machine.Sub(m.local)
}

// Adjust returns the time at corrected for a waiting time that began at began: a step of Now since
// the mark does not count as waiting.
func (m Mark) Adjust(began, at time.Time) time.Time {
	moved, passed := m.Elapsed()
	return adjust(began, at, moved-passed)
}

// maxDrift is how far the wall clock and the monotonic clock may drift apart without being set.
const maxDrift = time.Minute

func adjust(began, at time.Time, ahead time.Duration) time.Time {
	before := at.Add(-ahead)
	if ahead > 0 && !began.After(before.Add(min(ahead/2, maxDrift))) {
		return before
	}
	return at
}

// at returns the value of Now for a time of this machine.
func at(machine time.Time) time.Time {
	if k := shared.Load(); k != nil {
		return k.at(machine)
	}
	return machine
}

// Unfollow makes Now use this machine's clock again.
func Unfollow() { shared.Store(nil) }
