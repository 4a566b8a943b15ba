package smtpout

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// quickMean and quickHold tell a team whose transactions hold places briefly: on
	// average, and each of those in progress.
	quickMean = 500 * time.Millisecond
	quickHold = time.Second
	// manySlots is how many there are from which on the last one is always kept for
	// another team: a team that was quick so far may meet slow answers to all that it
	// sends at once. Where there are fewer, one place is too much to keep from a quick
	// team.
	manySlots = 4
	// meanWeight is about how many of a team's latest holds its mean is of.
	meanWeight = 8
	// tenantTTL is how long a team that holds nothing is remembered.
	tenantTTL = 10 * time.Minute
)

// slots are a bounded number of places at something. Those who wait get them by
// rank: mail of broadcasts only when no other waits, so that a transactional
// message waits for what has begun, never for what is queued; among equals the
// team that holds the fewest places; then the one whose latest place was given the
// longest ago; within a team whoever waits longest.
type slots struct {
	// limit is how many places there are now, at least one. Where it grows by
	// itself, that is noticed with the next call.
	limit func() int
	// grow makes one place more, if that may be tried now: somebody waits. nil:
	// never.
	grow func() bool
	// reserve keeps the last free place from teams that hold places for long, where
	// the places are shared.
	reserve bool

	mu         sync.Mutex
	used       int
	lastTicket uint64
	granted    uint64 // counts places that were given
	tenants    map[string]*tenant
	waiting    [2][]*tenant // who waits: for transactional mail, for bulk
	freeSlots  *slot        // for reuse, by next
	cleanedAt  time.Time
}

// claimant is whom a place is for.
type claimant struct {
	team   string
	bulk   bool
	shared bool   // other teams may want places too
	ticket uint64 // of an earlier take, whose place in the row it has again; 0: none
}

func (c claimant) class() int {
	if c.bulk {
		return 1
	}
	return 0
}

// slot is one that is held.
type slot struct {
	tenant     *tenant
	ticket     uint64
	since      time.Time
	prev, next *slot // of the tenant's, older and newer
}

// tenant is a team that holds places, waits for them, or did lately.
type tenant struct {
	held           int
	latest         uint64 // number of the place that it was given last; 0: none yet
	oldest, newest *slot
	meanHold       time.Duration // of its latest holds; 0: none ended yet
	lastSeen       time.Time
	waiting        [2]list.List // of *waiter, by turn
}

// waiter is a take that waits. given is closed by whoever gives the place.
type waiter struct {
	claimant
	granted chan struct{}
	slot    *slot
}

// acquire waits for a place. Every take without an error is followed by one give.
// Error: that of ctx.
func (s *slots) acquire(ctx context.Context, who claimant) (*slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	s.mu.Lock()
	t := s.tenant(who.team, now)
	if who.ticket == 0 {
		s.lastTicket++
		who.ticket = s.lastTicket
	}
	if s.noneWaiting() && s.mayGrant(t, who, now) {
		p := s.occupy(t, who.ticket, now)
		s.mu.Unlock()
		return p, nil
	}
	w := &waiter{claimant: who, granted: make(chan struct{})}
	at := s.enqueue(t, w)
	s.grant(now)
	s.mu.Unlock()
	select {
	case <-w.granted:
		return w.slot, nil
	case <-ctx.Done():
		s.abandon(t, at)
		return nil, ctx.Err()
	}
}

// tryAcquire takes a place where one is free and nobody waits; nil: none.
func (s *slots) tryAcquire() *slot {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.noneWaiting() || s.used >= s.limit() {
		return nil
	}
	return s.occupy(s.tenant("", now), 0, now)
}

// release hands a place back.
func (s *slots) release(p *slot) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	p.tenant.observe(now.Sub(p.since))
	s.vacate(p, now)
	s.grant(now)
}

// abandon leaves the queue; a place that was given meanwhile goes to the next.
func (s *slots) abandon(t *tenant, at *list.Element) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := at.Value.(*waiter); w.slot == nil {
		s.dequeue(t, w.class(), at)
	} else {
		s.vacate(w.slot, now)
	}
	s.grant(now) // bulk may have waited behind it alone
}

// grant hands free places to those who wait. s.mu is held.
func (s *slots) grant(now time.Time) {
	for !s.noneWaiting() {
		t, row := s.next(now)
		if t == nil {
			if s.grow == nil || !s.grow() {
				return
			}
			continue
		}
		at := t.waiting[row].Front()
		w := at.Value.(*waiter)
		s.dequeue(t, row, at)
		w.slot = s.occupy(t, w.ticket, now)
		close(w.granted)
	}
}

// next finds whose turn it is; nil: nobody's. Where those of transactional mail are
// only kept from the last place, bulk waits with them.
func (s *slots) next(now time.Time) (best *tenant, class int) {
	if len(s.waiting[0]) == 0 {
		class = 1
	}
	for _, t := range s.waiting[class] {
		if best != nil && !t.before(best, class) {
			continue
		}
		if s.mayGrant(t, t.front(class).claimant, now) {
			best = t
		}
	}
	return best, class
}

// before ranks two that wait in a row.
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

// mayGrant reports whether a place is free to who. The last one is for teams that have none
// and, where there are few places, for those that give it back soon.
func (s *slots) mayGrant(t *tenant, who claimant, now time.Time) bool {
	limit := s.limit()
	if s.used >= limit {
		return false
	}
	last := s.used == limit-1
	return !last || !s.reserve || !who.shared || t.held == 0 || limit < manySlots && t.quick(now)
}

// quick reports whether a team holds places briefly.
func (t *tenant) quick(now time.Time) bool {
	return t.meanHold > 0 && t.meanHold < quickMean && (t.oldest == nil || now.Sub(t.oldest.since) <= quickHold)
}

// observe counts a hold that ended.
func (t *tenant) observe(took time.Duration) {
	if took = max(took, 1); t.meanHold == 0 {
		t.meanHold = took
		return
	}
	t.meanHold = max(t.meanHold+(took-t.meanHold)/meanWeight, 1)
}

// noneWaiting reports whether nobody waits.
func (s *slots) noneWaiting() bool { return len(s.waiting[0])+len(s.waiting[1]) == 0 }

// enqueue puts w in its row, behind those whose turn came before. Only who waits
// again has others behind him.
func (s *slots) enqueue(t *tenant, w *waiter) *list.Element {
	row := &t.waiting[w.class()]
	if row.Len() == 0 {
		s.waiting[w.class()] = append(s.waiting[w.class()], t)
	}
	for at := row.Back(); at != nil; at = at.Prev() {
		if at.Value.(*waiter).ticket < w.ticket {
			return row.InsertAfter(w, at)
		}
	}
	return row.PushFront(w)
}

func (s *slots) dequeue(t *tenant, class int, at *list.Element) {
	if t.waiting[class].Remove(at); t.waiting[class].Len() == 0 {
		s.waiting[class] = slices.DeleteFunc(s.waiting[class], func(other *tenant) bool { return other == t })
	}
}

// occupy makes a free place one that t holds.
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

// vacate makes a place free.
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

// tenant finds a team, and forgets those that have not been here for long.
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
