package base

import (
	"context"
	"slices"
	"sync"
	"time"

	"mailer/app"
)

// TeamSemaphore is a number of places for work that costs much. Where they are taken, those
// who wait come in turn between their teams, however many of one wait: a team waits
// for no more than one piece of work of each other.
type TeamSemaphore struct {
	maxWaiting int // of one team, at most, waits

	mu      sync.Mutex
	free    int
	waiting map[string][]*waiter // by team, each oldest first
	teams   []string             // those that wait, in the order of their turns
}

// waiter is one who waits.
type waiter struct {
	n     int
	ready chan struct{} // closed once the places are its own
}

// NewTeamSemaphore makes Turns of so many places, for which at most crowd of one team wait.
func NewTeamSemaphore(n, maxWaiting int) *TeamSemaphore {
	return &TeamSemaphore{maxWaiting: maxWaiting, free: n, waiting: map[string][]*waiter{}}
}

// Acquire takes places (at most all there are) for a team once it is its turn.
// Whoever got them must Release them. Errors: CodeRateLimitExceeded where too many of
// the team wait already; that of ctx.
func (t *TeamSemaphore) Acquire(ctx context.Context, teamID string, n int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w, err := t.enqueue(teamID, n)
	if err != nil {
		return err
	}
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.remove(teamID, w) {
		t.free += w.n // its turn came just then
	}
	t.grant() // who stood behind it may need fewer places
	return ctx.Err()
}

// Release hands places back.
func (t *TeamSemaphore) Release(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free += n
	t.grant()
}

func (t *TeamSemaphore) enqueue(teamID string, n int) (*waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.waiting[teamID]
	if len(waiting) >= t.maxWaiting {
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: time.Second,
			Message: "Too many requests of this team that need much work wait already; try again when some of them were answered"}
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	if len(waiting) == 0 {
		t.teams = append(t.teams, teamID)
	}
	t.waiting[teamID] = append(waiting, w)
	t.grant()
	return w, nil
}

// grant hands free places to those whose turn it is.
func (t *TeamSemaphore) grant() {
	for len(t.teams) > 0 {
		teamID := t.teams[0]
		first := t.waiting[teamID][0]
		if first.n > t.free {
			return
		}
		t.free -= first.n
		t.remove(teamID, first)
		if len(t.teams) > 1 && t.teams[0] == teamID {
			t.teams = append(t.teams[1:], teamID)
		}
		close(first.ready)
	}
}

// remove takes somebody out of the line of a team, and reports whether he stood there.
func (t *TeamSemaphore) remove(teamID string, w *waiter) bool {
	waiting := t.waiting[teamID]
	at := slices.Index(waiting, w)
	if at < 0 {
		return false
	}
	if waiting = slices.Delete(waiting, at, at+1); len(waiting) > 0 {
		t.waiting[teamID] = waiting
		return true
	}
	delete(t.waiting, teamID)
	t.teams = slices.DeleteFunc(t.teams, func(id string) bool { return id == teamID })
	return true
}
