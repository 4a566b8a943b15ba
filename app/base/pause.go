package base

import (
	"context"
	"time"
)

// Pause waits for d, a change or the end of ctx, and returns false for the last. A nil
// change never comes. Nothing is waited for where d is none.
func Pause(ctx context.Context, d time.Duration, change <-chan struct{}) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-change:
	}
	return true
}

// SweepEvery bounds how long a unit that another process wrote, or that a
// lost wake-up left, can lie unseen.
const SweepEvery = time.Second
