package base

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRingsBeforeTheWorkerWaitsWakeItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBell()
		for range 3 {
			b.Ring()
		}
		start := time.Now()
		if !Pause(t.Context(), time.Minute, b) || time.Since(start) != 0 {
			t.Errorf("it slept %v after a ring", time.Since(start))
		}
		if !Pause(t.Context(), time.Minute, b) || time.Since(start) != time.Minute {
			t.Errorf("it slept %v in all without another", time.Since(start))
		}
	})
}

func TestNoRingerWaitsAndNoRingIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBell()
		ctx, cancel := context.WithCancel(t.Context())
		woken := 0
		var worker, ringers sync.WaitGroup
		worker.Go(func() {
			for Pause(ctx, time.Hour, b) {
				woken++
			}
		})
		for range 20 {
			ringers.Go(func() {
				for range 20 {
					b.Ring()
				}
			})
		}
		ringers.Wait()
		synctest.Wait() // the worker took the last ring and waits
		if len(b) > 0 {
			t.Error("a ring was left lying")
		}
		cancel()
		worker.Wait()
		if woken == 0 {
			t.Error("it was not woken")
		}
	})
}
