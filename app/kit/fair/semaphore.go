package fair

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrTooManyWaiting is the error of an Acquire that would exceed Config.MaxWaiting.
var ErrTooManyWaiting = errors.New("too many callers of this owner are waiting")

// Config configures a Semaphore.
type Config[O comparable] struct {
	Capacity   int64             // weight of all owners together
	Share      int64             // largest weight of one owner; 0: Capacity
	MaxWaiting int               // largest number of waiting callers of one owner; 0: unlimited
	Rank       func(owner O) int // waiting owners of a lower rank are served first; nil: all are equal
	// LeaveHalf limits an owner to half of what the others leave free, rounded up: one owner alone
	// gets half of the capacity, two get a third each, and there is always some weight left for one
	// more owner. Callers may acquire more while they hold some, since a waiting caller never
	// delays another owner.
	LeaveHalf bool
}

// Semaphore is a weighted semaphore that is shared fairly by owners, such as teams or addresses.
// Its methods are safe for concurrent use.
//
// While weight is missing, callers wait. Callers of one owner are served in order of arrival. Of
// the waiting owners, the next one is that of the lowest rank, then the one that holds the least,
// then the one that has waited longest since its last turn. An owner whose own limits don't allow
// what its first caller wants is passed over. A caller that only waits for free weight holds back
// those behind it, so that no large request starves; therefore a caller must not acquire more while
// it holds some, except with LeaveHalf.
type Semaphore[O comparable] struct {
	Config[O]

	mu      sync.Mutex
	used    int64
	held    map[O]int64 // only owners that hold some
	waiting map[O]*line // only owners that wait
	turns   uint64
}

// line is the waiting callers of one owner, oldest first.
type line struct {
	waiters []*waiter
	turn    uint64 // number of the owner's last turn, or of its arrival
}

// waiter is a caller that waits. granted is closed when it holds n.
type waiter struct {
	n       int64
	granted chan struct{}
}

// New returns a Semaphore that nobody holds.
func New[O comparable](c Config[O]) *Semaphore[O] {
	c.Share = cmp.Or(c.Share, c.Capacity)
	return &Semaphore[O]{Config: c, held: map[O]int64{}, waiting: map[O]*line{}}
}

// Acquire acquires a weight of n for an owner, and waits for it if necessary. After nil, the caller
// must Release the weight. A weight that the limits never allow is not acquired before ctx ends.
// Errors: ErrTooManyWaiting, that of ctx.
func (s *Semaphore[O]) Acquire(ctx context.Context, owner O, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := s.join(owner, n)
	if w == nil {
		return err
	}
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.leave(owner, w) {
		return nil // it was granted meanwhile
	}
	s.grant() // those behind it may be served now
	return ctx.Err()
}

// join acquires a weight that is available, or else adds a waiter.
func (s *Semaphore[O]) join(owner O, n int64) (*waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tryAcquire(owner, n) {
		return nil, nil
	}
	if l := s.waiting[owner]; l != nil && s.MaxWaiting > 0 && len(l.waiters) >= s.MaxWaiting {
		return nil, ErrTooManyWaiting
	}
	return s.enqueue(owner, n), nil
}

// TryAcquire acquires a weight of n for an owner if Acquire would not wait for it.
func (s *Semaphore[O]) TryAcquire(owner O, n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tryAcquire(owner, n)
}

func (s *Semaphore[O]) tryAcquire(owner O, n int64) bool {
	if n > min(s.allowance(owner), s.Capacity-s.used) || s.waiting[owner] != nil {
		return false
	}
	if len(s.waiting) > 0 { // it may be behind another owner that waits for free weight
		w := s.enqueue(owner, n)
		s.grant()
		return !s.leave(owner, w)
	}
	s.take(owner, n)
	return true
}

// Release returns a weight of n that an owner holds.
func (s *Semaphore[O]) Release(owner O, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(owner, -n)
	s.grant()
}

// Free returns how much an owner could acquire now if nobody waited.
func (s *Semaphore[O]) Free(owner O) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, min(s.allowance(owner), s.Capacity-s.used))
}

// Usage is the state of a Semaphore at one moment.
type Usage[O comparable] struct {
	Used     int64 // weight that is held
	Held     int64 // by the owner that was asked for
	Owners   int   // that hold some
	Waiting  int   // callers
	Most     O     // the owner that holds the most; the zero value if nobody does
	MostHeld int64
}

// Usage returns the state, with the weight that an owner holds.
func (s *Semaphore[O]) Usage(owner O) Usage[O] {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage[O]{Used: s.used, Held: s.held[owner], Owners: len(s.held)}
	for o, n := range s.held {
		if n > u.MostHeld {
			u.Most, u.MostHeld = o, n
		}
	}
	for _, l := range s.waiting {
		u.Waiting += len(l.waiters)
	}
	return u
}

// allowance returns how much more the limits of an owner allow.
func (s *Semaphore[O]) allowance(owner O) int64 {
	held := s.held[owner]
	n := s.Share - held
	if s.LeaveHalf {
		free := s.Capacity - s.used - held
		n = min(n, free/2+free%2)
	}
	return n
}

// take adds n to what an owner holds.
func (s *Semaphore[O]) take(owner O, n int64) {
	s.used += n
	if held := s.held[owner] + n; held != 0 {
		s.held[owner] = held
	} else {
		delete(s.held, owner)
	}
}

func (s *Semaphore[O]) enqueue(owner O, n int64) *waiter {
	w := &waiter{n: n, granted: make(chan struct{})}
	l := s.waiting[owner]
	if l == nil {
		s.turns++
		l = &line{turn: s.turns}
		s.waiting[owner] = l
	}
	l.waiters = append(l.waiters, w)
	return w
}

// leave removes a waiter. It reports whether the waiter was still waiting.
func (s *Semaphore[O]) leave(owner O, w *waiter) bool {
	l := s.waiting[owner]
	if l == nil {
		return false
	}
	at := slices.Index(l.waiters, w)
	if at < 0 {
		return false
	}
	if l.waiters = slices.Delete(l.waiters, at, at+1); len(l.waiters) == 0 {
		delete(s.waiting, owner)
	}
	return true
}

// grant serves the waiters for which there is weight.
func (s *Semaphore[O]) grant() {
	for len(s.waiting) > 0 {
		owner, w := s.next()
		if w == nil || w.n > s.Capacity-s.used {
			return
		}
		s.turns++
		s.waiting[owner].turn = s.turns
		s.leave(owner, w)
		s.take(owner, w.n)
		close(w.granted)
	}
}

// next returns the next waiter, as the type's contract says; nil if no owner is allowed what its
// first caller wants.
func (s *Semaphore[O]) next() (best O, first *waiter) {
	for owner, l := range s.waiting {
		w := l.waiters[0]
		if w.n <= s.allowance(owner) && (first == nil || s.before(owner, best)) {
			best, first = owner, w
		}
	}
	return best, first
}

// before reports whether one waiting owner is served before another.
func (s *Semaphore[O]) before(a, b O) bool {
	if s.Rank != nil && s.Rank(a) != s.Rank(b) {
		return s.Rank(a) < s.Rank(b)
	}
	return cmp.Or(cmp.Compare(s.held[a], s.held[b]), cmp.Compare(s.waiting[a].turn, s.waiting[b].turn)) < 0
}
