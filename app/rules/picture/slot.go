package picture

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"mailer/app"
	"mailer/app/kit/fair"
)

// maxWaiting bounds the uploads of one team that wait for their turn.
const maxWaiting = 5

// turns lets one picture be decoded at a time in this process, by team.
var turns = fair.New(fair.Config[string]{Capacity: 1, MaxWaiting: maxWaiting})

// Acquire waits until no other picture is decoded. Teams take turns. The caller must call release.
// Errors: CodeRateLimitExceeded if maxWaiting uploads of the team wait already; that of ctx.
func Acquire(ctx context.Context, teamID string) (release func(), err error) {
	err = turns.Acquire(ctx, teamID, 1)
	if errors.Is(err, fair.ErrTooManyWaiting) {
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: time.Second,
			Message: "Too many uploaded pictures of this team wait already; try again when some of them were answered"}
	}
	if err != nil {
		return nil, err
	}
	return func() { turns.Release(teamID, 1) }, nil
}

// largePicture is the memory, in bytes, from which a decoded picture is freed immediately. Otherwise
// the next one could be decoded while the memory of the last is not collected yet.
const largePicture = 8 << 20

// free returns the memory of a decoded picture to the system.
func free(bytes int64) {
	if bytes > largePicture {
		debug.FreeOSMemory()
	}
}
