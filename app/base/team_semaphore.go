package base

import (
	"context"
	"slices"
	"sync"
	"time"

	"mailer/app"
)

// TeamSemaphore is a weighted semaphore for expensive work. While it is full, waiting teams take
// turns, however many callers of a team wait: a team waits for at most one acquisition of each
// other team.
type TeamSemaphore struct {
	maxWaiting int // callers of one team

	mu      sync.Mutex
	free    int
	waiting map[string][]*waiter // by team, oldest first
	teams   []string             // that wait, in round-robin order
}

// waiter is a caller that waits in Acquire.
type waiter struct {
	n     int
	ready chan struct{} // closed once the semaphore is acquired
}

// NewTeamSemaphore makes a TeamSemaphore of weight n, for which at most maxWaiting callers of one
// team wait.
func NewTeamSemaphore(n, maxWaiting int) *TeamSemaphore {
	return &TeamSemaphore{maxWaiting: maxWaiting, free: n, waiting: map[string][]*waiter{}}
}

// Acquire acquires weight n for a team, waiting if necessary. n must not exceed the weight of the
// semaphore. The caller must Release n afterwards. Errors: CodeRateLimitExceeded if too many
// callers of the team wait already; that of ctx.
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
		t.free += w.n // it was acquired meanwhile
	}
	t.grant() // a waiter behind it may need less
	return ctx.Err()
}

// Release releases weight n.
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

// grant hands free weight to the next waiters.
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

// remove takes a waiter out of the queue of its team. It reports whether the waiter was in the
// queue.
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
