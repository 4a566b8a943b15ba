package mcp

import (
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/kit/window"
	"mailer/web/rest"
)

// callsPerMinute is the number of tool calls per key and minute: an agent in a loop is slowed down
// long before its key's rate is used up.
const callsPerMinute = 60

// callBudget counts tool calls per key in windows of one minute.
type callBudget struct {
	now  func() time.Time
	used *window.Keyed
}

func newCallBudget(now func() time.Time) *callBudget {
	return &callBudget{now: now, used: window.NewKeyed(time.Minute)}
}

// take counts a call of the key. Errors: CodeRateLimitExceeded, with the time to wait.
func (b *callBudget) take(keyID string) *rest.Error {
	now := b.now()
	if b.used.Add(keyID, now) <= callsPerMinute {
		return nil
	}
	wait := (b.used.Left(now) + time.Second - 1) / time.Second
	return rest.NewError(app.CodeRateLimitExceeded, fmt.Sprintf(
		"Too many calls: the limit is %d calls of tools a minute; try again in %d seconds", callsPerMinute, wait))
}
