package base

// Signal wakes a worker. It remembers one ring, so that none is lost while the worker
// is busy, and many are as good as one. Whoever waits receives from it, as from any
// channel; it is never closed.
type Signal chan struct{}

// NewSignal makes a Bell that has not rung.
func NewSignal() Signal { return make(Signal, 1) }

// Notify has the worker look for work, now or when it waits next. It never blocks.
func (b Signal) Notify() {
	select {
	case b <- struct{}{}:
	default:
	}
}
