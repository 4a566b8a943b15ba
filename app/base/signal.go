package base

// Signal wakes a worker. It stores one notification, so that none is lost while the worker is busy;
// further ones are merged into it. A worker receives from it as from any channel. It is never
// closed.
type Signal chan struct{}

// NewSignal returns a Signal without a notification.
func NewSignal() Signal { return make(Signal, 1) }

// Notify wakes the worker, or makes its next wait return immediately. It never blocks.
func (b Signal) Notify() {
	select {
	case b <- struct{}{}:
	default:
	}
}
