package smtpout

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// A team is quick if it holds slots for less than quickMean on average, and none of its
	// current ones for longer than quickHold.
	quickMean = 500 * time.Millisecond
	quickHold = time.Second
	// manySlots is the number of slots from which on the last one is always kept for another team:
	// a quick team may meet slow answers to all messages that it sends concurrently. With fewer
	// slots, one is too much to keep from a quick team.
	manySlots = 4
	// meanWeight is about how many of a team's latest holds meanHold averages.
	meanWeight = 8
	// tenantTTL is how long a team that holds no slot is remembered.
	tenantTTL = 10 * time.Minute
)

// slots is a fair semaphore. Waiters get slots by priority: mail of broadcasts only if no other
// mail waits, so that a transactional message waits for messages that have begun, never for queued
// ones; then the team that holds the fewest slots; then the team that was granted a slot the
// longest ago; within a team in order of arrival.
type slots struct {
	// limit returns the current number of slots, at least one. A growing limit is noticed at the
	// next call of a method.
	limit func() int
	// grow adds one slot if that may be tried now; called while somebody waits. nil: never.
	grow func() bool
	// reserve keeps the last free slot from teams that hold slots for long, where slots are shared.
	reserve bool

	mu         sync.Mutex
	used       int
	lastTicket uint64
	granted    uint64 // number of granted slots
	tenants    map[string]*tenant
	waiting    [2][]*tenant // teams that wait, by class
	freeSlots  *slot        // list of unused slots, linked by next
	cleanedAt  time.Time
}

// slotRequest is a request for a slot.
type slotRequest struct {
	team   string
	bulk   bool
	shared bool   // other teams may want slots too
	ticket uint64 // of an earlier acquire, to keep its position; 0: none
}

func (c slotRequest) class() int {
	if c.bulk {
		return 1
	}
	return 0
}

// slot is a slot that is held.
type slot struct {
	tenant     *tenant
	ticket     uint64
	since      time.Time
	prev, next *slot // list of the tenant's slots, older and newer
}

// tenant is a team that holds slots, waits for them, or did so lately.
type tenant struct {
	held           int
	latest         uint64 // number of the slot granted last; 0: none
	oldest, newest *slot
	meanHold       time.Duration // mean duration of its latest holds; 0: unknown
	lastSeen       time.Time
	waiting        [2]list.List // of *waiter, by class, ordered by ticket
}

// waiter is a waiting acquire. granted is closed when slot is set.
type waiter struct {
	slotRequest
	granted chan struct{}
	slot    *slot
}

// acquire waits for a slot. Every acquire without an error is followed by one release. Error: that
// of ctx.
func (s *slots) acquire(ctx context.Context, req slotRequest) (*slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	s.mu.Lock()
	t := s.tenant(req.team, now)
	if req.ticket == 0 {
		s.lastTicket++
		req.ticket = s.lastTicket
	}
	if s.noneWaiting() && s.mayGrant(t, req, now) {
		p := s.occupy(t, req.ticket, now)
		s.mu.Unlock()
		return p, nil
	}
	w := &waiter{slotRequest: req, granted: make(chan struct{})}
	element := s.enqueue(t, w)
	s.grant(now)
	s.mu.Unlock()
	select {
	case <-w.granted:
		return w.slot, nil
	case <-ctx.Done():
		s.abandon(t, element)
		return nil, ctx.Err()
	}
}

// tryAcquire returns a slot if one is free and nobody waits, else nil.
func (s *slots) tryAcquire() *slot {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.noneWaiting() || s.used >= s.limit() {
		return nil
	}
	return s.occupy(s.tenant("", now), 0, now)
}

// release returns a slot.
func (s *slots) release(p *slot) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	p.tenant.observe(now.Sub(p.since))
	s.vacate(p, now)
	s.grant(now)
}

// abandon ends a wait. A slot that was granted meanwhile goes to the next waiter.
func (s *slots) abandon(t *tenant, element *list.Element) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := element.Value.(*waiter); w.slot == nil {
		s.dequeue(t, w.class(), element)
	} else {
		s.vacate(w.slot, now)
	}
	s.grant(now) // mail of broadcasts may have waited behind it
}

// grant grants free slots to waiters. s.mu is held.
func (s *slots) grant(now time.Time) {
	for !s.noneWaiting() {
		t, row := s.next(now)
		if t == nil {
			if s.grow == nil || !s.grow() {
				return
			}
			continue
		}
		element := t.waiting[row].Front()
		w := element.Value.(*waiter)
		s.dequeue(t, row, element)
		w.slot = s.occupy(t, w.ticket, now)
		close(w.granted)
	}
}

// next returns the team to serve next and its class; nil: none. While transactional mail waits for
// the reserved slot, mail of broadcasts waits too.
func (s *slots) next(now time.Time) (best *tenant, class int) {
	if len(s.waiting[0]) == 0 {
		class = 1
	}
	for _, t := range s.waiting[class] {
		if best != nil && !t.before(best, class) {
			continue
		}
		if s.mayGrant(t, t.front(class).slotRequest, now) {
			best = t
		}
	}
	return best, class
}

// before reports whether t is served before other.
func (t *tenant) before(other *tenant, class int) bool {
	if t.held != other.held {
		return t.held < other.held
	}
	if t.latest != other.latest {
		return t.latest < other.latest
	}
	return t.front(class).ticket < other.front(class).ticket
}

func (t *tenant) front(class int) *waiter { return t.waiting[class].Front().Value.(*waiter) }

// mayGrant reports whether a slot is free for req. The last one is for teams that hold none and,
// with few slots, for quick teams.
func (s *slots) mayGrant(t *tenant, req slotRequest, now time.Time) bool {
	limit := s.limit()
	if s.used >= limit {
		return false
	}
	last := s.used == limit-1
	return !last || !s.reserve || !req.shared || t.held == 0 || limit < manySlots && t.quick(now)
}

// quick reports whether a team holds slots briefly.
func (t *tenant) quick(now time.Time) bool {
	return t.meanHold > 0 && t.meanHold < quickMean && (t.oldest == nil || now.Sub(t.oldest.since) <= quickHold)
}

// observe adds the duration of a hold to the mean.
func (t *tenant) observe(took time.Duration) {
	if took = max(took, 1); t.meanHold == 0 {
		t.meanHold = took
		return
	}
	t.meanHold = max(t.meanHold+(took-t.meanHold)/meanWeight, 1)
}

// noneWaiting reports whether nobody waits.
func (s *slots) noneWaiting() bool { return len(s.waiting[0])+len(s.waiting[1]) == 0 }

// enqueue adds w to its class, ordered by ticket. Only a waiter that kept its ticket is inserted
// before others.
func (s *slots) enqueue(t *tenant, w *waiter) *list.Element {
	row := &t.waiting[w.class()]
	if row.Len() == 0 {
		s.waiting[w.class()] = append(s.waiting[w.class()], t)
	}
	for element := row.Back(); element != nil; element = element.Prev() {
		if element.Value.(*waiter).ticket < w.ticket {
			return row.InsertAfter(w, element)
		}
	}
	return row.PushFront(w)
}

func (s *slots) dequeue(t *tenant, class int, element *list.Element) {
	if t.waiting[class].Remove(element); t.waiting[class].Len() == 0 {
		s.waiting[class] = slices.DeleteFunc(s.waiting[class], func(other *tenant) bool { return other == t })
	}
}

// occupy takes a free slot for t.
func (s *slots) occupy(t *tenant, turn uint64, now time.Time) *slot {
	p := s.freeSlots
	if p == nil {
		p = &slot{}
	} else {
		s.freeSlots = p.next
	}
	*p = slot{tenant: t, ticket: turn, since: now, prev: t.newest}
	if t.newest = p; p.prev == nil {
		t.oldest = p
	} else {
		p.prev.next = p
	}
	t.held++
	s.used++
	s.granted++
	t.latest = s.granted
	return p
}

// vacate frees a slot.
func (s *slots) vacate(p *slot, now time.Time) {
	t := p.tenant
	if p.prev == nil {
		t.oldest = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		t.newest = p.prev
	} else {
		p.next.prev = p.prev
	}
	t.held--
	t.lastSeen = now
	s.used--
	*p = slot{next: s.freeSlots}
	s.freeSlots = p
}

// tenant returns a team, and forgets teams that were idle for tenantTTL.
func (s *slots) tenant(team string, now time.Time) *tenant {
	if now.Sub(s.cleanedAt) >= tenantTTL/10 {
		s.cleanedAt = now
		for name, t := range s.tenants {
			if t.held == 0 && t.waiting[0].Len()+t.waiting[1].Len() == 0 && now.Sub(t.lastSeen) > tenantTTL {
				delete(s.tenants, name)
			}
		}
	}
	t := s.tenants[team]
	if t == nil {
		if s.tenants == nil {
			s.tenants = map[string]*tenant{}
		}
		t = &tenant{}
		s.tenants[team] = t
	}
	t.lastSeen = now
	return t
}
