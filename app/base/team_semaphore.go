package base

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/kit/fair"
)

// TeamSemaphore is a weighted semaphore for expensive work, which teams share fairly, however many
// callers of a team wait.
type TeamSemaphore struct {
	semaphore *fair.Semaphore[string]
}

// NewTeamSemaphore makes a TeamSemaphore of weight n, for which at most maxWaiting callers of one
// team wait.
func NewTeamSemaphore(n, maxWaiting int) *TeamSemaphore {
	return &TeamSemaphore{fair.New(fair.Config[string]{Capacity: int64(n), MaxWaiting: maxWaiting})}
}

// Acquire acquires weight n for a team, waiting if necessary. n must not exceed the weight of the
// semaphore. After nil, the caller must Release n. Errors: CodeRateLimitExceeded if too many callers
// of the team wait already; that of ctx.
func (t *TeamSemaphore) Acquire(ctx context.Context, teamID string, n int) error {
	err := t.semaphore.Acquire(ctx, teamID, int64(n))
	if errors.Is(err, fair.ErrTooManyWaiting) {
		return &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: time.Second,
			Message: "Too many requests of this team that need much work wait already; try again when some of them were answered"}
	}
	return err
}

// Release releases weight n of a team.
func (t *TeamSemaphore) Release(teamID string, n int) { t.semaphore.Release(teamID, int64(n)) }
