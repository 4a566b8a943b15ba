package submission

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// errStoreBusy refuses a message that could not be stored in time.
var errStoreBusy = newReply(451, 4, 3, 0, "Too many large messages at the same time, try again later")

// storeLimiter bounds what is stored at the same time per team. The database writes everything that
// waits in one commit: many large messages of one team would delay the messages of all others.
type storeLimiter struct {
	mu    sync.Mutex
	teams map[string]*teamStores
}

// teamStores is the semaphore of one team.
type teamStores struct {
	*semaphore.Weighted
	users int // holders and waiters
}

func newStoreLimiter() *storeLimiter { return &storeLimiter{teams: map[string]*teamStores{}} }

// acquire waits until size bytes of a team may be stored, or ctx ends; end releases them.
func (t *storeLimiter) acquire(ctx context.Context, team string, size int64) (end func(), ok bool) {
	sem, n := t.ref(team), min(size, teamStoreBytes)
	if sem.Acquire(ctx, n) != nil {
		t.unref(team, sem)
		return nil, false
	}
	return func() { sem.Release(n); t.unref(team, sem) }, true
}

func (t *storeLimiter) ref(team string) *teamStores {
	t.mu.Lock()
	defer t.mu.Unlock()
	sem := t.teams[team]
	if sem == nil {
		sem = &teamStores{Weighted: semaphore.NewWeighted(teamStoreBytes)}
		t.teams[team] = sem
	}
	sem.users++
	return sem
}

func (t *storeLimiter) unref(team string, sem *teamStores) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sem.users--; sem.users == 0 {
		delete(t.teams, team)
	}
}
