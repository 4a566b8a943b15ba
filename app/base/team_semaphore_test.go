package base_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/base"
)

func TestTeamSemaphoreRotatesBetweenTeams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sem := base.NewTeamSemaphore(1, 100)
		var order []string // guarded by the semaphore
		work := func(team string) {
			go func() {
				if err := sem.Acquire(t.Context(), team, 1); err != nil {
					t.Error(err)
					return
				}
				defer sem.Release(1)
				time.Sleep(time.Second)
				order = append(order, team)
			}()
			synctest.Wait()
		}
		for range 50 {
			work("a")
		}
		work("b")
		work("b")
		work("c")
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"a", "a", "b", "c", "a", "b", "a"}; len(order) != 53 || !slices.Equal(order[:7], want) {
			t.Errorf("%d, in the order %v", len(order), order)
		}
	})
}

func TestTeamSemaphoreLimitsWaitersPerTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sem := base.NewTeamSemaphore(2, 3)
		ctx, cancel := context.WithCancel(t.Context())
		if err := sem.Acquire(ctx, "a", 2); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 10)
		wait := func(team string, n int) {
			go func() { ended <- sem.Acquire(ctx, team, n) }()
			synctest.Wait()
		}
		for range 3 {
			wait("a", 1)
		}
		if err := sem.Acquire(ctx, "a", 1); app.CodeOf(err) != app.CodeRateLimitExceeded {
			t.Errorf("the fourth: %v", err)
		}
		wait("b", 2)
		if len(ended) != 0 {
			t.Fatal("somebody got a place that is taken")
		}
		cancel()
		for range 4 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		sem.Release(2)
		if err := sem.Acquire(t.Context(), "b", 2); err != nil { // no weight was lost
			t.Error(err)
		}
	})
}

func TestTeamSemaphoreNeverExceedsItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sem := base.NewTeamSemaphore(3, 1000)
		var taken, ended atomic.Int64
		for i := range 300 {
			go func() {
				defer ended.Add(1)
				size := 1 + i%3
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%50)*time.Second)
				defer cancel()
				if sem.Acquire(ctx, fmt.Sprint(i%7), size) != nil {
					return
				}
				if n := taken.Add(int64(size)); n > 3 {
					t.Errorf("%d are taken", n)
				}
				time.Sleep(time.Second)
				taken.Add(-int64(size))
				sem.Release(size)
			}()
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if err := sem.Acquire(t.Context(), "z", 3); err != nil || ended.Load() != 300 || taken.Load() != 0 {
			t.Errorf("%v; %d ended, %d are taken", err, ended.Load(), taken.Load())
		}
	})
}
