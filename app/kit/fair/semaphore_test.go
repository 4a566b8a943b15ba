package fair_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app/kit/fair"
)

// acquire is an Acquire that may wait, and its result.
type acquire struct {
	err  error
	done chan struct{}
}

// start starts an Acquire and returns when it waits or has ended.
func start(ctx context.Context, s *fair.Semaphore[string], owner string, n int64) *acquire {
	a := &acquire{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.err = s.Acquire(ctx, owner, n)
	}()
	synctest.Wait()
	return a
}

func (a *acquire) granted() bool {
	synctest.Wait()
	select {
	case <-a.done:
		return a.err == nil
	default:
		return false
	}
}

// mustAcquire acquires a weight that must be available.
func mustAcquire(t *testing.T, s *fair.Semaphore[string], owner string, n int64) {
	t.Helper()
	if !s.TryAcquire(owner, n) {
		t.Fatalf("%s does not get %d: %+v", owner, n, s.Usage(owner))
	}
}

// order starts an Acquire of 1 for each owner, then releases the single weight, which "busy" holds,
// again and again, and returns the owners in the order in which they are served.
func order(t *testing.T, c fair.Config[string], owners string) string {
	t.Helper()
	s := fair.New(c)
	mustAcquire(t, s, "busy", 1)
	var served []string
	for owner := range strings.SplitSeq(owners, " ") {
		go func() {
			if err := s.Acquire(t.Context(), owner, 1); err != nil {
				t.Error(err)
			}
			served = append(served, owner) // guarded by the semaphore
			time.Sleep(time.Second)
			s.Release(owner, 1)
		}()
		synctest.Wait()
	}
	s.Release("busy", 1)
	time.Sleep(time.Hour)
	synctest.Wait()
	return strings.Join(served, " ")
}

func TestWaitingOwnersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if got := order(t, fair.Config[string]{Capacity: 1}, "a a a a b b c"); got != "a b c a b a a" {
			t.Error(got)
		}
	})
}

func TestLowerRankIsServedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rank := func(owner string) int { return strings.Index("xab", owner) }
		if got := order(t, fair.Config[string]{Capacity: 1, Rank: rank}, "b a b a a"); got != "a a a b b" {
			t.Error(got)
		}
	})
}

func TestOwnerThatHoldsLeastIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fair.New(fair.Config[string]{Capacity: 4})
		mustAcquire(t, s, "a", 3)
		mustAcquire(t, s, "b", 1)
		a, b, again := start(t.Context(), s, "a", 1), start(t.Context(), s, "b", 1), start(t.Context(), s, "b", 1)
		if s.Release("a", 1); !b.granted() || a.granted() {
			t.Error("a holds two and b one, and b is not next")
		}
		if s.Release("a", 1); !a.granted() || again.granted() {
			t.Error("a holds one and b two, and a is not next")
		}
	})
}

// A caller that wants a lot waits for several that release a little.
func TestLargeRequestIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fair.New(fair.Config[string]{Capacity: 2})
		mustAcquire(t, s, "a", 1)
		mustAcquire(t, s, "b", 1)
		large := start(t.Context(), s, "c", 2)
		small := start(t.Context(), s, "d", 1)
		s.Release("a", 1)
		if small.granted() || s.TryAcquire("e", 1) {
			t.Error("somebody overtook the caller that waits for both")
		}
		if s.Release("b", 1); !large.granted() {
			t.Error("a caller does not get the whole weight, which is free")
		}
		if s.Release("c", 2); !small.granted() {
			t.Error("the next one does not get free weight")
		}
	})
}

func TestShareOfOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fair.New(fair.Config[string]{Capacity: math.MaxInt64, Share: 10})
		mustAcquire(t, s, "a", 10)
		a := start(t.Context(), s, "a", 4)
		if a.granted() || s.TryAcquire("a", 1) || s.Free("a") != 0 {
			t.Error("an owner exceeds its share")
		}
		mustAcquire(t, s, "b", 10) // is not delayed by a
		s.Release("a", 3)
		if a.granted() || s.TryAcquire("a", 1) || s.Free("a") != 3 {
			t.Error("an owner exceeds its share, or overtakes itself")
		}
		if s.Release("a", 1); !a.granted() {
			t.Error("an owner does not get its share")
		}
		if u := s.Usage("a"); u != (fair.Usage[string]{Used: 20, Held: 10, Owners: 2, Most: u.Most, MostHeld: 10}) {
			t.Errorf("%+v", u)
		}
	})
}

func TestHalfIsLeftForOtherOwners(t *testing.T) {
	s := fair.New(fair.Config[string]{Capacity: 64, LeaveHalf: true})
	fill := func(owner string) (n int) {
		for ; s.TryAcquire(owner, 1); n++ {
		}
		return n
	}
	if n := s.Free("a"); n != 32 {
		t.Errorf("an owner alone may acquire %d", n)
	}
	if a, b, c, d := fill("a"), fill("b"), fill("c"), fill("d"); a != 32 || b != 16 || c != 8 || d != 4 {
		t.Errorf("%d %d %d %d", a, b, c, d)
	}
	s.Release("a", 32)
	if a, b := fill("a"), fill("b"); a != 18 || b != 1 {
		t.Errorf("again %d %d", a, b)
	}
	for _, owner := range []string{"a", "b", "c", "d"} {
		s.Release(owner, s.Usage(owner).Held)
	}
	if u := s.Usage("e"); s.Free("e") != 32 || u != (fair.Usage[string]{}) {
		t.Errorf("%d are free, %+v", s.Free("e"), u)
	}
}

// An owner that waits for more while it holds some must not wait for others that do the same.
func TestGrowingOwnersDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fair.New(fair.Config[string]{Capacity: 120, Share: 40, LeaveHalf: true})
		mustAcquire(t, s, "a", 40)
		mustAcquire(t, s, "b", 30)
		a, b := start(t.Context(), s, "a", 1), start(t.Context(), s, "b", 20)
		c := start(t.Context(), s, "c", 20)
		if a.granted() || b.granted() || !c.granted() {
			t.Error("c is delayed by owners whose limits don't allow more")
		}
		if s.Release("a", 40); !a.granted() {
			t.Error("a may hold more and does not")
		}
		if s.Release("b", 30); !b.granted() {
			t.Error("b may hold more and does not")
		}
	})
}

func TestTooManyWaitingCallersAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fair.New(fair.Config[string]{Capacity: 1, MaxWaiting: 2})
		mustAcquire(t, s, "a", 1)
		a, again, b := start(t.Context(), s, "a", 1), start(t.Context(), s, "a", 1), start(t.Context(), s, "b", 1)
		if err := s.Acquire(t.Context(), "a", 1); !errors.Is(err, fair.ErrTooManyWaiting) {
			t.Errorf("the third caller of an owner: %v", err)
		}
		s.Release("a", 1)
		s.Release("a", 1)
		s.Release("b", 1)
		if !a.granted() || !again.granted() || !b.granted() {
			t.Error("a caller waits on")
		}
	})
}

func TestCanceledCallerHoldsNothingAndDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fair.New(fair.Config[string]{Capacity: 2})
		mustAcquire(t, s, "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		large, next := start(ctx, s, "b", 2), start(t.Context(), s, "c", 1)
		cancel()
		if <-large.done; !errors.Is(large.err, context.Canceled) {
			t.Errorf("canceled: %v", large.err)
		}
		if !next.granted() {
			t.Error("the next caller waits though there is free weight")
		}
		if err := s.Acquire(ctx, "d", 0); !errors.Is(err, context.Canceled) {
			t.Errorf("acquired with an ended context: %v", err)
		}
		if u := s.Usage("b"); u.Held != 0 || u.Used != 2 || u.Waiting != 0 {
			t.Errorf("%+v", u)
		}
	})
}

// Calls of many owners, with cancels, end with nothing held, and never exceed a limit.
func TestNoWeightIsLostOrGrantedTwice(t *testing.T) {
	for name, c := range map[string]fair.Config[string]{
		"capacity":   {Capacity: 5},
		"share":      {Capacity: 5, Share: 3},
		"leave half": {Capacity: 9, LeaveHalf: true},
		"rank":       {Capacity: 5, Rank: func(owner string) int { return len(owner) % 2 }, MaxWaiting: 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := fair.New(c)
			var used atomic.Int64
			var work sync.WaitGroup
			for i := range 24 {
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				owner := strings.Repeat("x", 1+i%3)
				work.Go(func() {
					for range 300 {
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(60))*time.Microsecond)
						n := 1 + rng.Int64N(3)
						if s.Acquire(ctx, owner, n) == nil {
							if now := used.Add(n); now > c.Capacity || c.Share > 0 && s.Usage(owner).Held > c.Share {
								t.Errorf("%d are held of %d", now, c.Capacity)
							}
							used.Add(-n)
							s.Release(owner, n)
						}
						cancel()
					}
				})
			}
			work.Wait()
			if u := s.Usage(""); u != (fair.Usage[string]{}) {
				t.Errorf("at the end %+v", u)
			}
		})
	}
}

// Each owner gets the same part of the time, however many callers it has and however long it holds
// the weight.
func TestOwnersGetEqualParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fair.New(fair.Config[string]{Capacity: 6})
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var mu sync.Mutex
		held := map[string]time.Duration{}
		var work sync.WaitGroup
		for i, callers := range []int{3, 30, 100} {
			owner := fmt.Sprint(i)
			for range callers {
				work.Go(func() {
					for s.Acquire(ctx, owner, 1) == nil {
						took := time.Duration(1+i) * time.Second
						time.Sleep(took)
						mu.Lock()
						held[owner] += took
						mu.Unlock()
						s.Release(owner, 1)
					}
				})
			}
		}
		work.Wait()
		var parts []time.Duration
		for _, d := range held {
			parts = append(parts, d)
		}
		if least, most := slices.Min(parts), slices.Max(parts); len(parts) != 3 || most-least > time.Hour/20 {
			t.Errorf("%v", held)
		}
	})
}
