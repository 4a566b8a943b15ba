package base

import (
	"context"
	"time"
)

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

// Sleep waits until d has passed, wake receives a value, or ctx ends. It returns false if ctx has
// ended. A nil wake never receives. Sleep returns immediately for d of zero or less.
func Sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-wake:
	}
	return true
}

// SweepEvery bounds how long work that another process wrote, or whose wake-up was lost, can stay
// unnoticed.
const SweepEvery = time.Second
