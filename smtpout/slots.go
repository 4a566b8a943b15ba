package smtpout

import (
	"container/list"
	"context"
	"sync"
)

// slots are a bounded number of places at something. Those who wait get them in
// the order in which they came, but mail of broadcasts only when no other waits:
// a transactional message waits for what has begun, never for what is queued.
type slots struct {
	// limit is how many places there are now, at least one. Where it grows by
	// itself, that is noticed with the next call.
	limit func() int

	mu     sync.Mutex
	used   int
	urgent list.List // of chan struct{}, closed by whoever gives the place
	bulk   list.List
}

func newSlots(n int) *slots { return &slots{limit: func() int { return n }} }

// take waits for a place. Every take without an error is followed by one give.
// Error: that of ctx.
func (s *slots) take(ctx context.Context, bulk bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.tryTake() {
		return nil
	}
	s.mu.Lock()
	queue := &s.urgent
	if bulk {
		queue = &s.bulk
	}
	given := make(chan struct{})
	place := queue.PushBack(given)
	s.serve()
	s.mu.Unlock()
	select {
	case <-given:
		return nil
	case <-ctx.Done():
		s.abandon(queue, place, given)
		return ctx.Err()
	}
}

// tryTake takes a place where one is free and nobody waits.
func (s *slots) tryTake() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.urgent.Len() > 0 || s.bulk.Len() > 0 || s.used >= s.limit() {
		return false
	}
	s.used++
	return true
}

// give hands a place back.
func (s *slots) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.serve()
}

// abandon leaves the queue; a place that was given meanwhile goes to the next.
func (s *slots) abandon(queue *list.List, place *list.Element, given chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-given:
		s.used--
		s.serve()
	default:
		queue.Remove(place)
	}
}

// serve hands free places to those who wait. s.mu is held.
func (s *slots) serve() {
	for s.used < s.limit() {
		queue := &s.urgent
		if queue.Len() == 0 {
			queue = &s.bulk
		}
		if queue.Len() == 0 {
			return
		}
		s.used++
		close(queue.Remove(queue.Front()).(chan struct{}))
	}
}
