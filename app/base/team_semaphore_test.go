package base_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"mailer/app"
	"mailer/app/base"
)

func TestTeamSemaphoreRefusesTooManyWaitingCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sem := base.NewTeamSemaphore(2, 1)
		if err := sem.Acquire(t.Context(), "a", 2); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- sem.Acquire(ctx, "a", 1) }()
		synctest.Wait()
		if err := sem.Acquire(ctx, "a", 1); app.CodeOf(err) != app.CodeRateLimitExceeded {
			t.Errorf("the second waiting caller: %v", err)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the first, canceled: %v", err)
		}
		sem.Release("a", 2)
		if err := sem.Acquire(t.Context(), "b", 2); err != nil {
			t.Error(err)
		}
	})
}
