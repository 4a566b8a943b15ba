package rest

import (
	"net/http"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/window"
)

// rateLimiter counts requests by key in fixed windows of one second.
type rateLimiter struct {
	limit  int
	now    func() time.Time
	limitV []string // the header values that never change
	policy []string
	reset  []string
	used   *window.Keyed
}

func newRateLimiter(limit int, now func() time.Time) *rateLimiter {
	n := strconv.Itoa(limit)
	return &rateLimiter{
		limit: limit, now: now, used: window.NewKeyed(time.Second),
		limitV: []string{n}, policy: []string{n + ";w=1"}, reset: []string{"1"},
	}
}

// announce sets the ratelimit headers; nothing where there is no limit.
func (l *rateLimiter) announce(head http.Header, remaining int) {
	if l.limit <= 0 {
		return
	}
	head["Ratelimit-Limit"] = l.limitV
	head["Ratelimit-Remaining"] = []string{strconv.Itoa(remaining)}
	head["Ratelimit-Reset"] = l.reset // whole seconds, rounded up
	head["Ratelimit-Policy"] = l.policy
}

// take counts a request of the key and announces what is left. Errors:
// CodeRateLimitExceeded.
func (l *rateLimiter) take(head http.Header, keyID string) error {
	if l.limit <= 0 {
		return nil
	}
	used := l.used.Add(keyID, l.now())
	l.announce(head, max(l.limit-used, 0))
	if used <= l.limit {
		return nil
	}
	head.Set("Retry-After", "1")
	return NewError(app.CodeRateLimitExceeded,
		"Too many requests: the limit is "+strconv.Itoa(l.limit)+" requests per second")
}
