package submission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestLargeMessagesDoNotDelayOtherTeams: each team stores a bounded number of bytes at a time; a
// message that waits too long is refused.
func TestLargeMessagesDoNotDelayOtherTeams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := newStoreLimiter()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		end, ok := limiter.acquire(ctx, "bad", teamStoreBytes)
		if !ok {
			t.Fatal("the first has no turn")
		}
		next := make(chan func(), 1)
		go func() {
			end, _ := limiter.acquire(ctx, "bad", teamStoreBytes)
			next <- end
		}()
		synctest.Wait()
		other, ok := limiter.acquire(ctx, "well", 2*teamStoreBytes)
		if !ok || len(next) > 0 {
			t.Errorf("the other team has its turn: %v; the same team has a second: %v", ok, len(next) > 0)
		}
		other()
		short, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if _, ok := limiter.acquire(short, "bad", 1); ok {
			t.Error("a turn that somebody else has")
		}
		end()
		synctest.Wait()
		(<-next)()
		if u := limiter.bytes.Usage("bad"); u.Owners > 0 || u.Waiting > 0 {
			t.Errorf("at the end %+v", u)
		}
	})
}
