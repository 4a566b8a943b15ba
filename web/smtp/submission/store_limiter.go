package submission

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// errStoreBusy refuses a message whose turn did not come in time.
var errStoreBusy = refuse(451, 4, 3, 0, "Too many large messages at the same time, try again later")

// teamStoreBytes is how many bytes of messages of a team are stored at once, unless one alone
// is larger.
const teamStoreBytes = 2 << 20

// turns bounds what is stored at once of a team. The store writes whatever waits in one
// go: many large messages would have those of all others wait for every one of them.
type turns struct {
	mu    sync.Mutex
	teams map[string]*turn
}

// turn is that of a team.
type turn struct {
	*semaphore.Weighted
	want int // who has a part of it or waits for one
}

func newStoreLimiter() *turns { return &turns{teams: map[string]*turn{}} }

// take waits until size bytes more of a team may be stored, or ctx ends; end says that
// they are.
func (t *turns) take(ctx context.Context, team string, size int64) (end func(), ok bool) {
	own, n := t.enter(team), min(size, teamStoreBytes)
	if own.Acquire(ctx, n) != nil {
		t.leave(team, own)
		return nil, false
	}
	return func() { own.Release(n); t.leave(team, own) }, true
}

func (t *turns) enter(team string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.teams[team]
	if own == nil {
		own = &turn{Weighted: semaphore.NewWeighted(teamStoreBytes)}
		t.teams[team] = own
	}
	own.want++
	return own
}

func (t *turns) leave(team string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.want--; own.want == 0 {
		delete(t.teams, team)
	}
}
