package base

import (
	"context"
	"time"
)

// Sleep waits for d, a change or the end of ctx, and returns false for the last. A nil
// change never comes. Nothing is waited for where d is none.
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

// SweepEvery bounds how long a unit that another process wrote, or that a
// lost wake-up left, can lie unseen.
const SweepEvery = time.Second
