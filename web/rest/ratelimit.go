package rest

import (
	"net/http"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/kit/window"
)

// rateLimiter counts requests per key, and per team, in fixed windows of one second.
type rateLimiter struct {
	key, team *rate
	now       func() time.Time
	reset     []string // constant header value
}

// rate is a limit of requests per second; at most 0: no limit.
type rate struct {
	limit  int
	limitV []string // constant header values
	policy []string
	used   *window.Keyed
	label  string // for the error text
}

func newRate(limit int, label string) *rate {
	n := strconv.Itoa(limit)
	return &rate{limit: limit, limitV: []string{n}, policy: []string{n + ";w=1"}, used: window.NewKeyed(time.Second), label: label}
}

func newRateLimiter(key, team int, now func() time.Time) *rateLimiter {
	return &rateLimiter{key: newRate(key, "the limit"), team: newRate(team, "the limit of your team, which all of its keys share,"), now: now, reset: []string{"1"}}
}

// announceAll sets the ratelimit headers before a key is known.
func (l *rateLimiter) announceAll(head http.Header) {
	tighter := l.key
	if l.key.limit <= 0 || l.team.limit > 0 && l.team.limit < l.key.limit {
		tighter = l.team
	}
	l.announce(head, tighter, tighter.limit)
}

// announce sets the ratelimit headers, if there is a limit.
func (l *rateLimiter) announce(head http.Header, r *rate, remaining int) {
	if r.limit <= 0 {
		return
	}
	head["Ratelimit-Limit"] = r.limitV
	head["Ratelimit-Remaining"] = []string{strconv.Itoa(remaining)}
	head["Ratelimit-Reset"] = l.reset // in whole seconds, rounded up
	head["Ratelimit-Policy"] = r.policy
}

// take counts a request of a key, and announces what remains of the key's or the team's limit,
// whichever is less. Errors: CodeRateLimitExceeded. The key's limit is checked first: a request
// above it does not count for the team.
func (l *rateLimiter) take(head http.Header, key *app.Key) error {
	now := l.now()
	tighter, least := l.key, 0
	for _, r := range []*rate{l.key, l.team} {
		if r.limit <= 0 || r == l.team && key.TeamID == "" {
			continue
		}
		id := key.ID
		switch {
		case r == l.team:
			id = key.TeamID
		case key.Session != nil:
			id = key.Session.ID
		}
		used := r.used.Add(id, now)
		left := max(r.limit-used, 0)
		if r == l.key || left < least || l.key.limit <= 0 {
			tighter, least = r, left
		}
		if used > r.limit {
			l.announce(head, r, 0)
			head.Set("Retry-After", "1")
			return NewError(app.CodeRateLimitExceeded,
				"Too many requests: "+r.label+" is "+strconv.Itoa(r.limit)+" requests per second")
		}
	}
	l.announce(head, tighter, least)
	return nil
}
