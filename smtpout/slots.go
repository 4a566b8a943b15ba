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
	// more makes one place more, if that may be tried now: somebody waits. nil:
	// never.
	more func() bool
	// reserve keeps the last free place from teams that hold places for long, where
	// the places are shared.
	reserve bool

	mu      sync.Mutex
	used    int
	turn    uint64
	given   uint64 // counts places that were given
	tenants map[string]*tenant
	rows    [2][]*tenant // who waits: for transactional mail, for bulk
	spare   *place       // for reuse, by next
	swept   time.Time
}

// claimant is whom a place is for.
type claimant struct {
	team   string
	bulk   bool
	shared bool   // other teams may want places too
	turn   uint64 // of an earlier take, whose place in the row it has again; 0: none
}

func (c claimant) row() int {
	if c.bulk {
		return 1
	}
	return 0
}

// place is one that is held.
type place struct {
	tenant     *tenant
	turn       uint64
	since      time.Time
	prev, next *place // of the tenant's, older and newer
}

// tenant is a team that holds places, waits for them, or did lately.
type tenant struct {
	held           int
	latest         uint64 // number of the place that it was given last; 0: none yet
	oldest, newest *place
	mean           time.Duration // of its latest holds; 0: none ended yet
	seen           time.Time
	rows           [2]list.List // of *waiter, by turn
}

// waiter is a take that waits. given is closed by whoever gives the place.
type waiter struct {
	claimant
	given chan struct{}
	place *place
}

// take waits for a place. Every take without an error is followed by one give.
// Error: that of ctx.
func (s *slots) take(ctx context.Context, who claimant) (*place, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := time.Now()
	s.mu.Lock()
	t := s.tenant(who.team, now)
	if who.turn == 0 {
		s.turn++
		who.turn = s.turn
	}
	if s.unwanted() && s.may(t, who, now) {
		p := s.occupy(t, who.turn, now)
		s.mu.Unlock()
		return p, nil
	}
	w := &waiter{claimant: who, given: make(chan struct{})}
	at := s.queue(t, w)
	s.serve(now)
	s.mu.Unlock()
	select {
	case <-w.given:
		return w.place, nil
	case <-ctx.Done():
		s.abandon(t, at)
		return nil, ctx.Err()
	}
}

// tryAcquire takes a place where one is free and nobody waits; nil: none.
func (s *slots) tryAcquire() *place {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unwanted() || s.used >= s.limit() {
		return nil
	}
	return s.occupy(s.tenant("", now), 0, now)
}

// give hands a place back.
func (s *slots) give(p *place) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	p.tenant.learn(now.Sub(p.since))
	s.vacate(p, now)
	s.serve(now)
}

// abandon leaves the queue; a place that was given meanwhile goes to the next.
func (s *slots) abandon(t *tenant, at *list.Element) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := at.Value.(*waiter); w.place == nil {
		s.unqueue(t, w.row(), at)
	} else {
		s.vacate(w.place, now)
	}
	s.serve(now) // bulk may have waited behind it alone
}

// serve hands free places to those who wait. s.mu is held.
func (s *slots) serve(now time.Time) {
	for !s.unwanted() {
		t, row := s.next(now)
		if t == nil {
			if s.more == nil || !s.more() {
				return
			}
			continue
		}
		at := t.rows[row].Front()
		w := at.Value.(*waiter)
		s.unqueue(t, row, at)
		w.place = s.occupy(t, w.turn, now)
		close(w.given)
	}
}

// next finds whose turn it is; nil: nobody's. Where those of transactional mail are
// only kept from the last place, bulk waits with them.
func (s *slots) next(now time.Time) (best *tenant, row int) {
	if len(s.rows[0]) == 0 {
		row = 1
	}
	for _, t := range s.rows[row] {
		if best != nil && !t.before(best, row) {
			continue
		}
		if s.may(t, t.front(row).claimant, now) {
			best = t
		}
	}
	return best, row
}

// before ranks two that wait in a row.
func (t *tenant) before(other *tenant, row int) bool {
	if t.held != other.held {
		return t.held < other.held
	}
	if t.latest != other.latest {
		return t.latest < other.latest
	}
	return t.front(row).turn < other.front(row).turn
}

func (t *tenant) front(row int) *waiter { return t.rows[row].Front().Value.(*waiter) }

// may reports whether a place is free to who. The last one is for teams that have none
// and, where there are few places, for those that give it back soon.
func (s *slots) may(t *tenant, who claimant, now time.Time) bool {
	limit := s.limit()
	if s.used >= limit {
		return false
	}
	last := s.used == limit-1
	return !last || !s.reserve || !who.shared || t.held == 0 || limit < manySlots && t.quick(now)
}

// quick reports whether a team holds places briefly.
func (t *tenant) quick(now time.Time) bool {
	return t.mean > 0 && t.mean < quickMean && (t.oldest == nil || now.Sub(t.oldest.since) <= quickHold)
}

// learn counts a hold that ended.
func (t *tenant) learn(took time.Duration) {
	if took = max(took, 1); t.mean == 0 {
		t.mean = took
		return
	}
	t.mean = max(t.mean+(took-t.mean)/meanWeight, 1)
}

// unwanted reports whether nobody waits.
func (s *slots) unwanted() bool { return len(s.rows[0])+len(s.rows[1]) == 0 }

// queue puts w in its row, behind those whose turn came before. Only who waits
// again has others behind him.
func (s *slots) queue(t *tenant, w *waiter) *list.Element {
	row := &t.rows[w.row()]
	if row.Len() == 0 {
		s.rows[w.row()] = append(s.rows[w.row()], t)
	}
	for at := row.Back(); at != nil; at = at.Prev() {
		if at.Value.(*waiter).turn < w.turn {
			return row.InsertAfter(w, at)
		}
	}
	return row.PushFront(w)
}

func (s *slots) unqueue(t *tenant, row int, at *list.Element) {
	if t.rows[row].Remove(at); t.rows[row].Len() == 0 {
		s.rows[row] = slices.DeleteFunc(s.rows[row], func(other *tenant) bool { return other == t })
	}
}

// occupy makes a free place one that t holds.
func (s *slots) occupy(t *tenant, turn uint64, now time.Time) *place {
	p := s.spare
	if p == nil {
		p = &place{}
	} else {
		s.spare = p.next
	}
	*p = place{tenant: t, turn: turn, since: now, prev: t.newest}
	if t.newest = p; p.prev == nil {
		t.oldest = p
	} else {
		p.prev.next = p
	}
	t.held++
	s.used++
	s.given++
	t.latest = s.given
	return p
}

// vacate makes a place free.
func (s *slots) vacate(p *place, now time.Time) {
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
	t.seen = now
	s.used--
	*p = place{next: s.spare}
	s.spare = p
}

// tenant finds a team, and forgets those that have not been here for long.
func (s *slots) tenant(team string, now time.Time) *tenant {
	if now.Sub(s.swept) >= tenantTTL/10 {
		s.swept = now
		for name, t := range s.tenants {
			if t.held == 0 && t.rows[0].Len()+t.rows[1].Len() == 0 && now.Sub(t.seen) > tenantTTL {
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
	t.seen = now
	return t
}
