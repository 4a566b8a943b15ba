package smtpout

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
)

// queued starts a take that waits, and returns its end.
func queued(ctx context.Context, s *slots, bulk bool) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.take(ctx, bulk) }()
	synctest.Wait()
	return done
}

func got(done <-chan error) bool {
	synctest.Wait()
	select {
	case err := <-done:
		return err == nil
	default:
		return false
	}
}

func TestAFreePlaceGoesToTransactionalMailFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		for range 2 {
			if err := s.take(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
		var bulk, urgent []<-chan error
		for range 3 {
			bulk = append(bulk, queued(t.Context(), s, true))
		}
		for range 2 {
			urgent = append(urgent, queued(t.Context(), s, false))
		}
		for i, next := range append(slices.Clone(urgent), bulk...) {
			if got(next) {
				t.Fatalf("number %d got a place before one was free", i)
			}
			s.give()
			if !got(next) {
				t.Fatalf("number %d did not get the free place", i)
			}
		}
	})
}

func TestWhoStopsWaitingTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		if err := s.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone, next := queued(ctx, s, false), queued(t.Context(), s, true)
		cancel()
		synctest.Wait()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("canceled: %v", err)
		}
		s.give()
		if !got(next) {
			t.Error("the place went to nobody")
		}
		if err := s.take(ctx, false); !errors.Is(err, context.Canceled) {
			t.Errorf("took with an ended context: %v", err)
		}
	})
}

// A place can be given at the moment when the one who waits for it leaves.
func TestAPlaceGivenToWhoLeftGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		if err := s.take(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		given := make(chan struct{})
		leaving := s.urgent.PushBack(given)
		next := queued(t.Context(), s, true)
		s.give()
		<-given
		if got(next) {
			t.Fatal("two have the one place")
		}
		s.abandon(&s.urgent, leaving, given)
		if !got(next) {
			t.Error("the place is lost")
		}
	})
}

func TestNoPlaceIsLostWhenWaitersLeaveAsItIsGiven(t *testing.T) {
	const places = 3
	s := newSlots(places)
	var used, most atomic.Int64
	var work sync.WaitGroup
	for i := range 24 {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			for range 400 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(60))*time.Microsecond)
				if s.take(ctx, i%3 > 0) == nil {
					if n := used.Add(1); n > most.Load() {
						most.Store(n)
					}
					used.Add(-1)
					s.give()
				}
				cancel()
			}
		})
	}
	work.Wait()
	if most.Load() > places || s.used != 0 || s.urgent.Len()+s.bulk.Len() != 0 {
		t.Errorf("%d at once of %d; %d still used, %d still wait", most.Load(), places, s.used, s.urgent.Len()+s.bulk.Len())
	}
	for range places {
		if !s.tryTake() {
			t.Fatal("a place is lost")
		}
	}
	if s.tryTake() {
		t.Error("more places than there were")
	}
}

func TestThreeQuartersOfTheBuildersRestWhileCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var load app.Load
		b := newBuilder(Options{Builders: 8, Load: &load}, false, relays.ProfileGeneric)
		leave := load.Enter()
		for i := range 2 {
			if err := b.slots.take(t.Context(), i > 0); err != nil {
				t.Fatal(err)
			}
		}
		bulk, urgent := queued(t.Context(), b.slots, true), queued(t.Context(), b.slots, false)
		if got(bulk) || got(urgent) {
			t.Fatal("three builders of eight are at it")
		}
		b.slots.give()
		if !got(urgent) || got(bulk) {
			t.Error("the bulk message came before the other")
		}
		leave()
		more := queued(t.Context(), b.slots, true) // notices that there is room again
		if !got(bulk) || !got(more) {
			t.Error("builders rest though nobody waits")
		}
	})
}

func TestAConnectionThatBecomesFreeGoesToTransactionalMail(t *testing.T) {
	cfg := configFor(startFake(t, &fake{}).listener)
	cfg.Connections = 1
	r := newRelay(t, cfg)
	held, free := make(chan struct{}), make(chan struct{})
	var order []string
	var mu sync.Mutex
	var work sync.WaitGroup
	send := func(name string, bulk bool, hold func(context.Context, string) error) {
		m := letter(name + "@example.net")
		m.Bulk = bulk
		work.Go(func() {
			if res := r.Send(t.Context(), m, func(ctx context.Context, signature string) error {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				return hold(ctx, signature)
			}); res.Kind != app.ResultDone {
				t.Error(summary(res))
			}
		})
	}
	send("first", true, func(context.Context, string) error { close(held); <-free; return nil })
	<-held
	waiting := func(n int) {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
			r.pool.slots.mu.Lock()
			have := r.pool.slots.bulk.Len() + r.pool.slots.urgent.Len()
			r.pool.slots.mu.Unlock()
			if have == n {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("%d never waited", n)
	}
	for i := range 3 {
		send(fmt.Sprint("bulk", i), true, agree)
		waiting(i + 1)
	}
	send("receipt", false, agree)
	waiting(4)
	close(free)
	work.Wait()
	if len(order) != 5 || order[1] != "receipt" {
		t.Errorf("sent in the order %q", order)
	}
}
