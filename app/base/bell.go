package base

// Bell wakes a worker. It remembers one ring, so that none is lost while the worker
// is busy, and many are as good as one. Whoever waits receives from it, as from any
// channel; it is never closed.
type Bell chan struct{}

// NewBell makes a Bell that has not rung.
func NewBell() Bell { return make(Bell, 1) }

// Ring has the worker look for work, now or when it waits next. It never blocks.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}
