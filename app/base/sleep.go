package base

import (
	"context"
	"time"
)

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
