package base

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestSignalsBeforeSleepWakeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewSignal()
		for range 3 {
			b.Notify()
		}
		start := time.Now()
		if !Sleep(t.Context(), time.Minute, b) || time.Since(start) != 0 {
			t.Errorf("Sleep took %v after a notification", time.Since(start))
		}
		if !Sleep(t.Context(), time.Minute, b) || time.Since(start) != time.Minute {
			t.Errorf("Sleep took %v in total without a notification", time.Since(start))
		}
	})
}

func TestNotifyNeverBlocksAndIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewSignal()
		ctx, cancel := context.WithCancel(t.Context())
		woken := 0
		var worker, notifiers sync.WaitGroup
		worker.Go(func() {
			for Sleep(ctx, time.Hour, b) {
				woken++
			}
		})
		for range 20 {
			notifiers.Go(func() {
				for range 20 {
					b.Notify()
				}
			})
		}
		notifiers.Wait()
		synctest.Wait() // the worker took the last notification and waits
		if len(b) > 0 {
			t.Error("a notification was not received")
		}
		cancel()
		worker.Wait()
		if woken == 0 {
			t.Error("the worker was not woken")
		}
	})
}
