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
	"mailer/app/rules/relayurl"
)

// newSlots makes n slots without a reserve.
func newSlots(n int) *slots { return &slots{limit: func() int { return n }} }

// pendingSlot is an acquire that may wait, and its result.
type pendingSlot struct {
	slot *slot
	err  error
	done chan struct{}
}

// acquireAsync starts an acquire and returns when it waits or has ended.
func acquireAsync(ctx context.Context, s *slots, req slotRequest) *pendingSlot {
	c := &pendingSlot{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.slot, c.err = s.acquire(ctx, req)
	}()
	synctest.Wait()
	return c
}

func granted(c *pendingSlot) bool {
	synctest.Wait()
	select {
	case <-c.done:
		return c.err == nil
	default:
		return false
	}
}

// mustAcquire acquires a slot that must be free.
func mustAcquire(t *testing.T, s *slots, req slotRequest) *slot {
	t.Helper()
	c := acquireAsync(t.Context(), s, req)
	if !granted(c) {
		t.Fatalf("no slot for %+v", req)
	}
	return c.slot
}

var bulk = slotRequest{bulk: true}

func TestFreeSlotGoesToTransactionalMailFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		authorized := []*slot{mustAcquire(t, s, bulk), mustAcquire(t, s, bulk)}
		var later, urgent []*pendingSlot
		for range 3 {
			later = append(later, acquireAsync(t.Context(), s, bulk))
		}
		for range 2 {
			urgent = append(urgent, acquireAsync(t.Context(), s, slotRequest{}))
		}
		for i, next := range append(slices.Clone(urgent), later...) {
			if granted(next) {
				t.Fatalf("number %d got a slot before one was free", i)
			}
			s.release(authorized[i])
			if !granted(next) {
				t.Fatalf("number %d did not get the free slot", i)
			}
			authorized = append(authorized, next.slot)
		}
	})
}

func TestCanceledWaiterTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		authorized := mustAcquire(t, s, slotRequest{})
		ctx, cancel := context.WithCancel(t.Context())
		gone, next := acquireAsync(ctx, s, slotRequest{}), acquireAsync(t.Context(), s, bulk)
		cancel()
		if <-gone.done; !errors.Is(gone.err, context.Canceled) {
			t.Errorf("canceled: %v", gone.err)
		}
		s.release(authorized)
		if !granted(next) {
			t.Error("the slot was granted to nobody")
		}
		if _, err := s.acquire(ctx, slotRequest{}); !errors.Is(err, context.Canceled) {
			t.Errorf("took with an ended context: %v", err)
		}
	})
}

// A slot can be granted at the moment when its waiter is canceled.
func TestSlotOfCanceledWaiterGoesToNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		authorized := mustAcquire(t, s, bulk)
		s.mu.Lock()
		canceled := s.tenant("leaver", time.Now())
		w := &waiter{granted: make(chan struct{})}
		leaving := s.enqueue(canceled, w)
		s.mu.Unlock()
		next := acquireAsync(t.Context(), s, bulk)
		s.release(authorized)
		<-w.granted
		if granted(next) {
			t.Fatal("the only slot was granted twice")
		}
		s.abandon(canceled, leaving)
		if !granted(next) {
			t.Error("the slot is lost")
		}
	})
}

func TestNoSlotIsLostToCancelRace(t *testing.T) {
	const limit = 3
	s := newSlots(limit)
	s.reserve = true
	var used, most atomic.Int64
	var work sync.WaitGroup
	for i := range 24 {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			for range 400 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(60))*time.Microsecond)
				req := slotRequest{team: fmt.Sprint(rng.IntN(3)), bulk: i%3 > 0, shared: i%2 > 0}
				if p, err := s.acquire(ctx, req); err == nil {
					if n := used.Add(1); n > most.Load() {
						most.Store(n)
					}
					used.Add(-1)
					s.release(p)
				}
				cancel()
			}
		})
	}
	work.Wait()
	if most.Load() > limit || s.used != 0 || !s.noneWaiting() {
		t.Errorf("%d concurrently of %d; %d still used, %d teams still wait", most.Load(), limit, s.used, len(s.waiting[0])+len(s.waiting[1]))
	}
	for name, team := range s.tenants {
		if team.held != 0 || team.oldest != nil || team.newest != nil {
			t.Errorf("team %s still holds %d", name, team.held)
		}
	}
	for range limit {
		if s.tryAcquire() == nil {
			t.Fatal("a slot is lost")
		}
	}
	if s.tryAcquire() != nil {
		t.Error("more slots than configured")
	}
}

func TestBuildersYieldWhileCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var load app.Load
		b := newBuilder(Options{Builders: 8, Load: &load}, false, relayurl.ProfileGeneric)
		leave := load.Enter()
		authorized := mustAcquire(t, b.slots, slotRequest{})
		mustAcquire(t, b.slots, bulk)
		later, urgent := acquireAsync(t.Context(), b.slots, bulk), acquireAsync(t.Context(), b.slots, slotRequest{})
		if granted(later) || granted(urgent) {
			t.Fatal("three builders of eight are at it")
		}
		b.slots.release(authorized)
		if !granted(urgent) || granted(later) {
			t.Error("the bulk message came before the other")
		}
		leave()
		more := acquireAsync(t.Context(), b.slots, bulk) // notices that the limit has grown
		if !granted(later) || !granted(more) {
			t.Error("builders rest though nobody waits")
		}
	})
}

func TestFreeConnectionGoesToTransactionalMail(t *testing.T) {
	cfg := configFor(startFake(t, &fake{}).listener)
	cfg.Connections = 1
	r := newRelay(t, cfg)
	authorized, free := make(chan struct{}), make(chan struct{})
	var order []string
	var mu sync.Mutex
	var work sync.WaitGroup
	send := func(name string, bulk bool, authorize func(context.Context, string) error) {
		m := testMessage(name + "@example.net")
		m.Bulk = bulk
		work.Go(func() {
			if res := r.Send(t.Context(), m, func(ctx context.Context, signature string) error {
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				return authorize(ctx, signature)
			}); res.Kind != app.ResultDone {
				t.Error(summary(res))
			}
		})
	}
	send("first", true, func(context.Context, string) error { close(authorized); <-free; return nil })
	<-authorized
	for i := range 3 {
		send(fmt.Sprint("bulk", i), true, authorizeAll)
		waitForWaiters(t, r.pool.slots, i+1)
	}
	send("receipt", false, authorizeAll)
	waitForWaiters(t, r.pool.slots, 4)
	close(free)
	work.Wait()
	if len(order) != 5 || order[1] != "receipt" {
		t.Errorf("sent in the order %q", order)
	}
}

// waitForWaiters returns when n claimants wait.
func waitForWaiters(t *testing.T, s *slots, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		have := 0
		s.mu.Lock()
		for row, tenants := range s.waiting {
			for _, tenant := range tenants {
				have += tenant.waiting[row].Len()
			}
		}
		s.mu.Unlock()
		if have == n {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d never waited", n)
}

// Two teams: B's transactions take long.
var (
	teamA = slotRequest{team: "a", shared: true}
	teamB = slotRequest{team: "b", shared: true}
)

func newSharedSlots(n int) *slots {
	s := newSlots(n)
	s.reserve = true
	return s
}

func TestSlowTeamLeavesLastSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedSlots(8)
		slow := map[string]int{}
		work := func(req slotRequest) {
			p, err := s.acquire(t.Context(), req)
			if err != nil {
				return
			}
			s.mu.Lock()
			slow[req.team]++
			s.mu.Unlock()
			time.Sleep(15 * time.Second)
			s.mu.Lock()
			slow[req.team]--
			s.mu.Unlock()
			s.release(p)
		}
		holds := func() (a, b int) {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return slow["a"], slow["b"]
		}
		for range 60 {
			go work(teamB)
			synctest.Wait()
			time.Sleep(100 * time.Millisecond) // its transactions end at different times
		}
		if a, b := holds(); a != 0 || b != 7 {
			t.Fatalf("a slow team alone holds %d of 8", b)
		}
		for range 40 {
			go work(teamA)
		}
		if a, b := holds(); a != 1 || b != 7 {
			t.Fatalf("the second team holds %d, the first %d", a, b)
		}
		time.Sleep(16 * time.Second)
		for range 10 {
			if a, b := holds(); a < 3 || b < 3 {
				t.Errorf("unequal shares: %d and %d", a, b)
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(10 * time.Minute)
	})
}

func TestQuickTeamUsesEverySlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedSlots(2)
		first := mustAcquire(t, s, teamA)
		kept := acquireAsync(t.Context(), s, teamA)
		if granted(kept) {
			t.Fatal("a team of which nothing is known took the last slot")
		}
		time.Sleep(100 * time.Millisecond)
		s.release(first) // both are free, and the team is known to be quick
		if !granted(kept) {
			t.Fatal("no slot though two are free")
		}
		second := mustAcquire(t, s, teamA)
		s.release(kept.slot)
		time.Sleep(1100 * time.Millisecond) // second is held for long now
		late := acquireAsync(t.Context(), s, teamA)
		if granted(late) {
			t.Error("a team with a long hold in progress took the last slot")
		}
		if other := acquireAsync(t.Context(), s, teamB); !granted(other) {
			t.Error("the last slot was kept from the other team")
		} else {
			s.release(other.slot)
		}
		if s.release(second); !granted(late) {
			t.Error("a free slot was not granted")
		}
	})
}

func TestLastOfManySlotsIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedSlots(manySlots)
		for range 2 * meanWeight {
			s.release(mustAcquire(t, s, teamA)) // quick, so far
		}
		for range manySlots - 1 {
			mustAcquire(t, s, teamA)
		}
		ctx, stop := context.WithCancel(t.Context())
		late := acquireAsync(ctx, s, teamA)
		if granted(late) {
			t.Error("one team holds all slots")
		}
		other := acquireAsync(t.Context(), s, teamB)
		if !granted(other) {
			t.Fatal("the last slot was kept from the other team")
		}
		s.release(other.slot)
		stop()
		<-late.done
	})
}

func TestLastSlotIsReservedOnlyIfShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := slotRequest{team: "a"}
		s := newSharedSlots(3)
		for range 3 {
			mustAcquire(t, s, alone)
		}
		builders := newSlots(2) // no reserve
		mustAcquire(t, builders, teamA)
		mustAcquire(t, builders, teamA)
		one := newSharedSlots(1)
		one.release(mustAcquire(t, one, teamA))
		authorized := mustAcquire(t, one, teamA)
		time.Sleep(time.Minute)
		one.release(authorized)
		mustAcquire(t, one, teamA) // known to be slow, but there is no other slot
	})
}

// Mail of broadcasts must not overtake transactional mail that waits for the reserved slot, nor
// wait when that mail is canceled.
func TestBulkWaitsBehindReservedSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSharedSlots(2)
		mustAcquire(t, s, teamA)
		ctx, cancel := context.WithCancel(t.Context())
		kept := acquireAsync(ctx, s, teamA)
		later := acquireAsync(t.Context(), s, slotRequest{team: "b", bulk: true, shared: true})
		if granted(kept) || granted(later) {
			t.Fatal("the last slot was granted")
		}
		cancel()
		if !granted(later) {
			t.Error("bulk waits for nobody")
		}
	})
}

func TestFreeSlotGoesToTeamWithFewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, isBulk := range []bool{false, true} {
			s := newSlots(3)
			a, b := slotRequest{team: "a", bulk: isBulk}, slotRequest{team: "b", bulk: isBulk}
			authorized := []*slot{mustAcquire(t, s, a), mustAcquire(t, s, a), mustAcquire(t, s, a)}
			a1, a2, b1, b2, b3 := acquireAsync(t.Context(), s, a), acquireAsync(t.Context(), s, a), acquireAsync(t.Context(), s, b), acquireAsync(t.Context(), s, b), acquireAsync(t.Context(), s, b)
			s.release(authorized[0]) // a 2, b 0
			if !granted(b1) || granted(b2) || granted(a1) {
				t.Error("the first slot did not go to b")
			}
			s.release(authorized[1]) // a 1, b 1: b was granted the last one
			if !granted(a1) || granted(b2) || granted(a2) {
				t.Error("the second slot did not go to a")
			}
			s.release(authorized[2]) // a 1, b 1: a was granted the last one
			if !granted(b2) || granted(a2) || granted(b3) {
				t.Error("the third slot did not go to b")
			}
			s.release(a1.slot)
			if !granted(a2) || granted(b3) {
				t.Error("the fourth slot did not go to a")
			}
		}
	})
}

// With one connection, no team holds a slot when it becomes free.
func TestTeamsAlternateAtSingleSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		authorized := mustAcquire(t, s, slotRequest{team: "busy"})
		var busy []*pendingSlot
		for range 3 {
			busy = append(busy, acquireAsync(t.Context(), s, slotRequest{team: "busy"}))
		}
		other := acquireAsync(t.Context(), s, slotRequest{team: "other"})
		again := acquireAsync(t.Context(), s, slotRequest{team: "other"})
		for i, next := range []*pendingSlot{other, busy[0], again, busy[1], busy[2]} {
			s.release(authorized)
			if !granted(next) {
				t.Fatalf("number %d did not get the slot", i)
			}
			authorized = next.slot
		}
		s.release(authorized)
	})
}

// A waiter that returns keeps its ticket.
func TestReturningWaiterKeepsTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		first, second := mustAcquire(t, s, slotRequest{}), mustAcquire(t, s, slotRequest{})
		third := acquireAsync(t.Context(), s, slotRequest{})
		again := acquireAsync(t.Context(), s, slotRequest{ticket: second.ticket})
		fourth := acquireAsync(t.Context(), s, slotRequest{})
		if s.release(first); !granted(again) || granted(third) {
			t.Error("he went to the end of the row")
		}
		s.release(second)
		if !granted(third) || granted(fourth) {
			t.Error("the others are out of order")
		}
	})
}

func TestIdleTeamsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		mustAcquire(t, s, slotRequest{team: "stays"})
		for i := range 100 {
			s.release(mustAcquire(t, s, slotRequest{team: fmt.Sprint(i)}))
		}
		time.Sleep(tenantTTL + time.Second)
		mustAcquire(t, s, slotRequest{team: "new"})
		if len(s.tenants) != 2 || s.tenants["stays"] == nil {
			t.Errorf("%d teams are remembered", len(s.tenants))
		}
	})
}
