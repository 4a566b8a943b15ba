package rest

import (
	"net/http"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/kit/window"
)

// rateLimiter counts requests by key, and by team, in fixed windows of one second.
type rateLimiter struct {
	key, team *rate
	now       func() time.Time
	reset     []string // the header value that never changes
}

// rate is how many requests a second each of its kind may make; at most 0: any
// number.
type rate struct {
	limit  int
	limitV []string // the header values that never change
	policy []string
	used   *window.Keyed
	whose  string // in words for the caller
}

func newRate(limit int, whose string) *rate {
	n := strconv.Itoa(limit)
	return &rate{limit: limit, limitV: []string{n}, policy: []string{n + ";w=1"}, used: window.NewKeyed(time.Second), whose: whose}
}

func newRateLimiter(key, team int, now func() time.Time) *rateLimiter {
	return &rateLimiter{key: newRate(key, "the limit"), team: newRate(team, "the limit of your team, which all of its keys share,"), now: now, reset: []string{"1"}}
}

// announceAll sets the ratelimit headers of a request that no key was found for:
// nothing is used up.
func (l *rateLimiter) announceAll(head http.Header) {
	tighter := l.key
	if l.key.limit <= 0 || l.team.limit > 0 && l.team.limit < l.key.limit {
		tighter = l.team
	}
	l.announce(head, tighter, tighter.limit)
}

// announce sets the ratelimit headers; nothing where there is no limit.
func (l *rateLimiter) announce(head http.Header, r *rate, remaining int) {
	if r.limit <= 0 {
		return
	}
	head["Ratelimit-Limit"] = r.limitV
	head["Ratelimit-Remaining"] = []string{strconv.Itoa(remaining)}
	head["Ratelimit-Reset"] = l.reset // whole seconds, rounded up
	head["Ratelimit-Policy"] = r.policy
}

// take counts a request of a key and announces what is left: of the key's or the
// team's, whichever is less. Errors: CodeRateLimitExceeded, of the key's first, so
// that what one key has too much does not count for the others.
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
				"Too many requests: "+r.whose+" is "+strconv.Itoa(r.limit)+" requests per second")
		}
	}
	l.announce(head, tighter, least)
	return nil
}
