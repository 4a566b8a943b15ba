package submission

import (
	"context"
	"math"

	"mailer/app/kit/fair"
)

// errStoreBusy refuses a message that could not be stored in time.
var errStoreBusy = newReply(451, 4, 3, 0, "Too many large messages at the same time, try again later")

// storeLimiter bounds what is stored at the same time per team. The database writes everything that
// waits in one commit: many large messages of one team would delay the messages of all others.
type storeLimiter struct{ bytes *fair.Semaphore[string] }

func newStoreLimiter() *storeLimiter {
	return &storeLimiter{fair.New(fair.Config[string]{Capacity: math.MaxInt64, Share: teamStoreBytes})}
}

// acquire waits until size bytes of a team may be stored, or ctx ends; end releases them.
func (t *storeLimiter) acquire(ctx context.Context, team string, size int64) (end func(), ok bool) {
	n := min(size, teamStoreBytes)
	if t.bytes.Acquire(ctx, team, n) != nil {
		return nil, false
	}
	return func() { t.bytes.Release(team, n) }, true
}
