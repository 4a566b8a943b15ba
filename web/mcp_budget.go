package web

import (
	"fmt"
	"sync"
	"time"

	"mailer/app"
)

// callsPerMinute is how many calls of tools a key may make in a minute
// (decisions.md 11).
const callsPerMinute = 60

// callBudget counts the calls of tools by key in fixed windows of one minute.
type callBudget struct {
	now    func() time.Time
	mu     sync.Mutex
	minute int64
	counts map[string]int // of this minute alone, so that it can't grow
}

func newCallBudget(now func() time.Time) *callBudget {
	return &callBudget{now: now, counts: map[string]int{}}
}

// take counts a call of the key. Errors: CodeRateLimitExceeded, with the time to
// wait.
func (b *callBudget) take(keyID string) *Error {
	now := b.now()
	if b.use(keyID, now.Unix()/60) <= callsPerMinute {
		return nil
	}
	return newError(app.CodeRateLimitExceeded, fmt.Sprintf(
		"Too many calls: the limit is %d calls of tools a minute; try again in %d seconds", callsPerMinute, 60-now.Unix()%60))
}

func (b *callBudget) use(keyID string, minute int64) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if minute != b.minute {
		b.minute = minute
		clear(b.counts)
	}
	b.counts[keyID]++
	return b.counts[keyID]
}
