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
	// keysWaiting is how many keys one team can wait for at once.
	keysWaiting = 8
	// keyPatience is how long a caller waits for the turn of his key.
	keyPatience = 10 * time.Second
)

// keyTurn waits for the turn of a team to have a key made; done ends it. Errors:
// CodeRateLimitExceeded, CodeServiceUnavailable, that of ctx.
func (s *Service) keyTurn(ctx context.Context, teamID string) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, keyPatience)
	defer cancel()
	err = s.keyTurns.Acquire(waiting, teamID, 1)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, &app.Error{Code: app.CodeServiceUnavailable, RetryAfter: keyPatience,
			Message: "The server is busy making signing keys for other domains; try again in a few seconds"}
	}
	return func() { s.keyTurns.Release(1) }, err
}
