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

func TestOneTeamsCrowdKeptAnotherTeamWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := base.NewTurns(1, 100)
		var order []string // one at a time writes it
		work := func(team string) {
			go func() {
				if err := turns.Acquire(t.Context(), team, 1); err != nil {
					t.Error(err)
					return
				}
				defer turns.Release(1)
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

func TestACrowdOfOneTeamIsRefusedAndNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := base.NewTurns(2, 3)
		ctx, cancel := context.WithCancel(t.Context())
		if err := turns.Acquire(ctx, "a", 2); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 10)
		wait := func(team string, places int) {
			go func() { ended <- turns.Acquire(ctx, team, places) }()
			synctest.Wait()
		}
		for range 3 {
			wait("a", 1)
		}
		if err := turns.Acquire(ctx, "a", 1); app.CodeOf(err) != app.CodeRateLimitExceeded {
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
		turns.Release(2)
		if err := turns.Acquire(t.Context(), "b", 2); err != nil { // nothing was lost
			t.Error(err)
		}
	})
}

func TestNoPlaceIsLostOrTakenTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := base.NewTurns(3, 1000)
		var taken, ended atomic.Int64
		for i := range 300 {
			go func() {
				defer ended.Add(1)
				places := 1 + i%3
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%50)*time.Second)
				defer cancel()
				if turns.Acquire(ctx, fmt.Sprint(i%7), places) != nil {
					return
				}
				if n := taken.Add(int64(places)); n > 3 {
					t.Errorf("%d are taken", n)
				}
				time.Sleep(time.Second)
				taken.Add(-int64(places))
				turns.Release(places)
			}()
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		if err := turns.Acquire(t.Context(), "z", 3); err != nil || ended.Load() != 300 || taken.Load() != 0 {
			t.Errorf("%v; %d ended, %d are taken", err, ended.Load(), taken.Load())
		}
	})
}
