package domains

import (
	"context"
	"errors"
	"time"

	"mailer/app"
)

// Making a key takes a tenth of a second of CPU time. One key is made at a time, and teams take
// turns, so that a team that adds many domains delays neither mail nor the domains of other teams.
const (
	// maxKeysWaiting is how many callers of one team can wait for a key at the same time.
	maxKeysWaiting = 8
	// keyWaitTimeout is how long a caller waits.
	keyWaitTimeout = 10 * time.Second
)

// acquireKeySlot waits until the team may make a key; release ends that. Errors:
// CodeRateLimitExceeded, CodeServiceUnavailable, that of ctx.
func (s *Service) acquireKeySlot(ctx context.Context, teamID string) (release func(), err error) {
	waitCtx, cancel := context.WithTimeout(ctx, keyWaitTimeout)
	defer cancel()
	err = s.keySlots.Acquire(waitCtx, teamID, 1)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &app.Error{Code: app.CodeServiceUnavailable, RetryAfter: keyWaitTimeout,
			Message: "The server is busy making signing keys for other domains; try again in a few seconds"}
	}
	return func() { s.keySlots.Release(teamID, 1) }, err
}
