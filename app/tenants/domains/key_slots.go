package domains

import (
	"context"
	"errors"
	"time"

	"mailer/app"
)

// Making a key takes a processor a tenth of a second. One is made at a time, in turn
// between teams, so that whoever adds domains without end slows nobody's mail, and
// nobody's domain but his own.
const (
	// maxKeysWaiting is how many keys one team can wait for at once.
	maxKeysWaiting = 8
	// keyWaitTimeout is how long a caller waits for the turn of his key.
	keyWaitTimeout = 10 * time.Second
)

// acquireKeySlot waits for the turn of a team to have a key made; done ends it. Errors:
// CodeRateLimitExceeded, CodeServiceUnavailable, that of ctx.
func (s *Service) acquireKeySlot(ctx context.Context, teamID string) (release func(), err error) {
	waitCtx, cancel := context.WithTimeout(ctx, keyWaitTimeout)
	defer cancel()
	err = s.keySlots.Acquire(waitCtx, teamID, 1)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &app.Error{Code: app.CodeServiceUnavailable, RetryAfter: keyWaitTimeout,
			Message: "The server is busy making signing keys for other domains; try again in a few seconds"}
	}
	return func() { s.keySlots.Release(1) }, err
}
