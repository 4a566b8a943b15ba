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

// newSlots are n places without a reserve.
func newSlots(n int) *slots { return &slots{limit: func() int { return n }} }

// claim is a take that may wait, and what came of it.
type claim struct {
	place *place
	err   error
	done  chan struct{}
}

// queued starts a take and lets it wait.
func queued(ctx context.Context, s *slots, who claimant) *claim {
	c := &claim{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.place, c.err = s.take(ctx, who)
	}()
	synctest.Wait()
	return c
}

func got(c *claim) bool {
	synctest.Wait()
	select {
	case <-c.done:
		return c.err == nil
	default:
		return false
	}
}

// taken takes a place that must be free.
func taken(t *testing.T, s *slots, who claimant) *place {
	t.Helper()
	c := queued(t.Context(), s, who)
	if !got(c) {
		t.Fatalf("no place for %+v", who)
	}
	return c.place
}

var bulk = claimant{bulk: true}

func TestFreeSlotGoesToTransactionalMailFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		held := []*place{taken(t, s, bulk), taken(t, s, bulk)}
		var later, urgent []*claim
		for range 3 {
			later = append(later, queued(t.Context(), s, bulk))
		}
		for range 2 {
			urgent = append(urgent, queued(t.Context(), s, claimant{}))
		}
		for i, next := range append(slices.Clone(urgent), later...) {
			if got(next) {
				t.Fatalf("number %d got a place before one was free", i)
			}
			s.give(held[i])
			if !got(next) {
				t.Fatalf("number %d did not get the free place", i)
			}
			held = append(held, next.place)
		}
	})
}

func TestCanceledWaiterTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		held := taken(t, s, claimant{})
		ctx, cancel := context.WithCancel(t.Context())
		gone, next := queued(ctx, s, claimant{}), queued(t.Context(), s, bulk)
		cancel()
		if <-gone.done; !errors.Is(gone.err, context.Canceled) {
			t.Errorf("canceled: %v", gone.err)
		}
		s.give(held)
		if !got(next) {
			t.Error("the place went to nobody")
		}
		if _, err := s.take(ctx, claimant{}); !errors.Is(err, context.Canceled) {
			t.Errorf("took with an ended context: %v", err)
		}
	})
}

// A place can be given at the moment when the one who waits for it leaves.
func TestSlotOfCanceledWaiterGoesToNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		held := taken(t, s, bulk)
		s.mu.Lock()
		leaver := s.tenant("leaver", time.Now())
		w := &waiter{given: make(chan struct{})}
		leaving := s.queue(leaver, w)
		s.mu.Unlock()
		next := queued(t.Context(), s, bulk)
		s.give(held)
		<-w.given
		if got(next) {
			t.Fatal("two have the one place")
		}
		s.abandon(leaver, leaving)
		if !got(next) {
			t.Error("the place is lost")
		}
	})
}

func TestNoSlotIsLostToCancelRace(t *testing.T) {
	const places = 3
	s := newSlots(places)
	s.reserve = true
	var used, most atomic.Int64
	var work sync.WaitGroup
	for i := range 24 {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			for range 400 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(60))*time.Microsecond)
				who := claimant{team: fmt.Sprint(rng.IntN(3)), bulk: i%3 > 0, shared: i%2 > 0}
				if p, err := s.take(ctx, who); err == nil {
					if n := used.Add(1); n > most.Load() {
						most.Store(n)
					}
					used.Add(-1)
					s.give(p)
				}
				cancel()
			}
		})
	}
	work.Wait()
	if most.Load() > places || s.used != 0 || !s.unwanted() {
		t.Errorf("%d at once of %d; %d still used, %d teams still wait", most.Load(), places, s.used, len(s.rows[0])+len(s.rows[1]))
	}
	for name, team := range s.tenants {
		if team.held != 0 || team.oldest != nil || team.newest != nil {
			t.Errorf("team %s still holds %d", name, team.held)
		}
	}
	for range places {
		if s.tryAcquire() == nil {
			t.Fatal("a place is lost")
		}
	}
	if s.tryAcquire() != nil {
		t.Error("more places than there were")
	}
}

func TestBuildersYieldWhileCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var load app.Load
		b := newBuilder(Options{Builders: 8, Load: &load}, false, relayurl.ProfileGeneric)
		leave := load.Enter()
		held := taken(t, b.slots, claimant{})
		taken(t, b.slots, bulk)
		later, urgent := queued(t.Context(), b.slots, bulk), queued(t.Context(), b.slots, claimant{})
		if got(later) || got(urgent) {
			t.Fatal("three builders of eight are at it")
		}
		b.slots.give(held)
		if !got(urgent) || got(later) {
			t.Error("the bulk message came before the other")
		}
		leave()
		more := queued(t.Context(), b.slots, bulk) // notices that there is room again
		if !got(later) || !got(more) {
			t.Error("builders rest though nobody waits")
		}
	})
}

func TestFreeConnectionGoesToTransactionalMail(t *testing.T) {
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
	for i := range 3 {
		send(fmt.Sprint("bulk", i), true, agree)
		waiting(t, r.pool.slots, i+1)
	}
	send("receipt", false, agree)
	waiting(t, r.pool.slots, 4)
	close(free)
	work.Wait()
	if len(order) != 5 || order[1] != "receipt" {
		t.Errorf("sent in the order %q", order)
	}
}

// waiting returns when n wait.
func waiting(t *testing.T, s *slots, n int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		have := 0
		s.mu.Lock()
		for row, tenants := range s.rows {
			for _, tenant := range tenants {
				have += tenant.rows[row].Len()
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

// two teams: B's transactions take long.
var (
	teamA = claimant{team: "a", shared: true}
	teamB = claimant{team: "b", shared: true}
)

func shared(n int) *slots {
	s := newSlots(n)
	s.reserve = true
	return s
}

func TestSlowTeamLeavesLastSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(8)
		slow := map[string]int{}
		work := func(who claimant) {
			p, err := s.take(t.Context(), who)
			if err != nil {
				return
			}
			s.mu.Lock()
			slow[who.team]++
			s.mu.Unlock()
			time.Sleep(15 * time.Second)
			s.mu.Lock()
			slow[who.team]--
			s.mu.Unlock()
			s.give(p)
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
			time.Sleep(100 * time.Millisecond) // its mail does not end all at once
		}
		if a, b := holds(); a != 0 || b != 7 {
			t.Fatalf("a slow team alone holds %d of 8", b)
		}
		for range 40 {
			go work(teamA)
		}
		if a, b := holds(); a != 1 || b != 7 {
			t.Fatalf("who comes second holds %d beside %d", a, b)
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
		s := shared(2)
		first := taken(t, s, teamA)
		kept := queued(t.Context(), s, teamA)
		if got(kept) {
			t.Fatal("a team of which nothing is known took the last place")
		}
		time.Sleep(100 * time.Millisecond)
		s.give(first) // free both, and the team is known to be quick
		if !got(kept) {
			t.Fatal("kept from a place though two are free")
		}
		second := taken(t, s, teamA)
		s.give(kept.place)
		time.Sleep(1100 * time.Millisecond) // second is held for long now
		late := queued(t.Context(), s, teamA)
		if got(late) {
			t.Error("a team with a long hold in progress took the last place")
		}
		if other := queued(t.Context(), s, teamB); !got(other) {
			t.Error("the last place was kept from whom it is for")
		} else {
			s.give(other.place)
		}
		if s.give(second); !got(late) {
			t.Error("a free place was kept from who waited")
		}
	})
}

func TestLastOfManySlotsIsReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(manySlots)
		for range 2 * meanWeight {
			s.give(taken(t, s, teamA)) // quick, so far
		}
		for range manySlots - 1 {
			taken(t, s, teamA)
		}
		ctx, stop := context.WithCancel(t.Context())
		late := queued(ctx, s, teamA)
		if got(late) {
			t.Error("one team holds all places")
		}
		other := queued(t.Context(), s, teamB)
		if !got(other) {
			t.Fatal("the last place was kept from whom it is for")
		}
		s.give(other.place)
		stop()
		<-late.done
	})
}

func TestLastSlotIsReservedOnlyIfShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := claimant{team: "a"}
		s := shared(3)
		for range 3 {
			taken(t, s, alone)
		}
		builders := newSlots(2) // no reserve at all
		taken(t, builders, teamA)
		taken(t, builders, teamA)
		one := shared(1)
		one.give(taken(t, one, teamA))
		held := taken(t, one, teamA)
		time.Sleep(time.Minute)
		one.give(held)
		taken(t, one, teamA) // known to be slow, but there is no other place
	})
}

// Bulk must not overtake transactional mail that is only kept from the last place,
// nor stay behind when that leaves.
func TestBulkWaitsBehindReservedSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shared(2)
		taken(t, s, teamA)
		ctx, cancel := context.WithCancel(t.Context())
		kept := queued(ctx, s, teamA)
		later := queued(t.Context(), s, claimant{team: "b", bulk: true, shared: true})
		if got(kept) || got(later) {
			t.Fatal("the last place was taken")
		}
		cancel()
		if !got(later) {
			t.Error("bulk waits for nobody")
		}
	})
}

func TestFreeSlotGoesToTeamWithFewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, isBulk := range []bool{false, true} {
			s := newSlots(3)
			a, b := claimant{team: "a", bulk: isBulk}, claimant{team: "b", bulk: isBulk}
			held := []*place{taken(t, s, a), taken(t, s, a), taken(t, s, a)}
			a1, a2, b1, b2, b3 := queued(t.Context(), s, a), queued(t.Context(), s, a), queued(t.Context(), s, b), queued(t.Context(), s, b), queued(t.Context(), s, b)
			s.give(held[0]) // a 2, b 0
			if !got(b1) || got(b2) || got(a1) {
				t.Error("the first place did not go to b")
			}
			s.give(held[1]) // a 1, b 1: b got the last one
			if !got(a1) || got(b2) || got(a2) {
				t.Error("the second place did not go to a")
			}
			s.give(held[2]) // a 1, b 1: a got the last one
			if !got(b2) || got(a2) || got(b3) {
				t.Error("the third place did not go to b")
			}
			s.give(a1.place)
			if !got(a2) || got(b3) {
				t.Error("the fourth place did not go to a")
			}
		}
	})
}

// Where a relay lets us have one connection, everybody holds none when it becomes free.
func TestTeamsAlternateAtSingleSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1)
		held := taken(t, s, claimant{team: "busy"})
		var busy []*claim
		for range 3 {
			busy = append(busy, queued(t.Context(), s, claimant{team: "busy"}))
		}
		other := queued(t.Context(), s, claimant{team: "other"})
		again := queued(t.Context(), s, claimant{team: "other"})
		for i, next := range []*claim{other, busy[0], again, busy[1], busy[2]} {
			s.give(held)
			if !got(next) {
				t.Fatalf("number %d did not get the place", i)
			}
			held = next.place
		}
		s.give(held)
	})
}

// Who was sent back to wait has the turn again that he had.
func TestReturningWaiterKeepsTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		first, second := taken(t, s, claimant{}), taken(t, s, claimant{})
		third := queued(t.Context(), s, claimant{})
		again := queued(t.Context(), s, claimant{turn: second.turn})
		fourth := queued(t.Context(), s, claimant{})
		if s.give(first); !got(again) || got(third) {
			t.Error("he went to the end of the row")
		}
		s.give(second)
		if !got(third) || got(fourth) {
			t.Error("the others are out of order")
		}
	})
}

func TestIdleTeamsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(2)
		taken(t, s, claimant{team: "stays"})
		for i := range 100 {
			s.give(taken(t, s, claimant{team: fmt.Sprint(i)}))
		}
		time.Sleep(tenantTTL + time.Second)
		taken(t, s, claimant{team: "new"})
		if len(s.tenants) != 2 || s.tenants["stays"] == nil {
			t.Errorf("%d teams are remembered", len(s.tenants))
		}
	})
}
