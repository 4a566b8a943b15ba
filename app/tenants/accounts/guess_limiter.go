package accounts

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
)

const (
	// guessWindow is how long a wrong guess counts.
	guessWindow = 15 * time.Minute
	// freeGuesses is how many wrong ones of a source cost nothing: the next takes
	// firstDelay, and each further one twice as long, up to slowest.
	freeGuesses = 4
	firstDelay  = time.Second
	maxDelay    = 30 * time.Second
	// maxTries is how many tries of one source are at work or wait, and maxWaiting how many
	// wait of all. Those at few digits are tried one after the other.
	maxTries     = 8
	maxCodeTries = 1
	maxWaiting   = 1000
	// maxSources is how many sources are remembered.
	maxSources = 20_000
)

// guessLimiter slow down those who guess at passwords and codes. A source is an address of the
// network, an account from there, or a browser that somebody signed in with before.
// Nobody is ever locked out, and what is remembered is bounded. It is safe for concurrent
// use.
type guessLimiter struct {
	mu      sync.Mutex
	sources map[string]*source
	waiting int
}

// source is what one source did lately.
type source struct {
	since time.Time // when the first of wrong came
	wrong int       // those at work count as wrong until they are through
	tries int       // at work, or waiting
}

func newGuessLimiter() *guessLimiter { return &guessLimiter{sources: map[string]*source{}} }

// guesser is who tries something.
type guesser struct {
	client  netip.Prefix
	known   string // the browser in which this person signed in before; empty: none
	account string // what is guessed at; empty: no account's
	// everywhere: guesses at the account count wherever they come from, since it is few
	// digits that are guessed at, by somebody who has the password.
	everywhere bool
}

// clientSource begins the name of a source that people of one network share.
const clientSource = "client "

// sources of a guesser. That which comes first is forgotten with the right answer.
func (w *guesser) sources() []string {
	if w.known != "" {
		return []string{"device " + w.known + " " + w.account}
	}
	client := w.client.String()
	out := []string{"account " + w.account + " " + client, clientSource + client}
	if w.everywhere {
		out = append(out, "everywhere "+w.account)
	}
	return out
}

// maxTries is how many tries of a source of the guesser are at work or wait.
func (w *guesser) maxTries(source string) int {
	if w.everywhere && !strings.HasPrefix(source, clientSource) {
		return maxCodeTries
	}
	return maxTries
}

// run runs a check of what somebody knows, later the more was wrong lately. Errors:
// those of the check; CodeRateLimitExceeded where too many tries wait.
func (g *guessLimiter) run(ctx context.Context, by guesser, check func() error) error {
	names := by.sources()
	wait, err := g.begin(names, by.maxTries, time.Now())
	if err != nil {
		return err
	}
	right := false
	defer func() { g.end(names, right) }()
	if wait > 0 {
		ok := base.Sleep(ctx, wait, nil)
		g.mu.Lock()
		g.waiting--
		g.mu.Unlock()
		if !ok {
			return ctx.Err()
		}
	}
	err = check()
	right = err == nil
	return err
}

// runCode runs the look-up of a code of 128 random bits, which nobody guesses: a right one
// does not wait, whatever others did at that address; wrong ones count, and take longer.
// Errors: those of the check; CodeRateLimitExceeded where too many tries wait.
func (g *guessLimiter) runCode(ctx context.Context, by guesser, check func() error) error {
	err := check()
	if app.CodeOf(err) != app.CodeForbidden {
		return err
	}
	return g.run(ctx, by, func() error { return err })
}

// beginSession counts a try, as wrong for now, and returns how long it has to wait.
func (g *guessLimiter) begin(names []string, limit func(source string) int, now time.Time) (wait time.Duration, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range names {
		if s := g.sources[name]; s != nil {
			wait = max(wait, s.delay(now))
			if s.tries >= limit(name) {
				return 0, errTooManyTries(max(wait, firstDelay))
			}
		}
	}
	if wait > 0 {
		if g.waiting >= maxWaiting {
			return 0, errTooManyTries(wait)
		}
		g.waiting++
	}
	for _, name := range names {
		s := g.sources[name]
		if s == nil {
			g.evict(now)
			s = &source{}
			g.sources[name] = s
		}
		if s.expired(now) {
			s.since, s.wrong = now, 0
		}
		s.wrong++
		s.tries++
	}
	return wait, nil
}

// end notes what became of a try.
func (g *guessLimiter) end(names []string, right bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, name := range names {
		s := g.sources[name]
		if s == nil {
			continue
		}
		s.tries = max(0, s.tries-1)
		switch {
		case right && i == 0:
			s.wrong = 0
		case right:
			s.wrong = max(0, s.wrong-1)
		}
		if s.wrong == 0 && s.tries == 0 {
			delete(g.sources, name)
		}
	}
}

// expired reports whether what was wrong counts no more. A clock that was set back ends it
// too.
func (s *source) expired(now time.Time) bool {
	age := now.Sub(s.since)
	return age < 0 || age >= guessWindow
}

// delay is how long the next try takes longer.
func (s *source) delay(now time.Time) time.Duration {
	if s.expired(now) || s.wrong < freeGuesses {
		return 0
	}
	return min(maxDelay, firstDelay<<min(s.wrong-freeGuesses, 10))
}

// evict forgets sources where there are too many: first those that count no more, then
// any, rather those that did little. To be forgotten does nobody harm but the guessed at.
func (g *guessLimiter) evict(now time.Time) {
	if len(g.sources) < maxSources {
		return
	}
	for _, evictable := range []func(*source) bool{
		func(s *source) bool { return s.expired(now) },
		func(s *source) bool { return s.wrong < freeGuesses },
		func(*source) bool { return true },
	} {
		visited := 0
		for name, s := range g.sources { // in no order
			if s.tries == 0 && evictable(s) {
				delete(g.sources, name)
			}
			if visited++; visited == maxSources/20 {
				break
			}
		}
		if len(g.sources) < maxSources {
			return
		}
	}
}

// errTooManyTries refuses a try that nobody has room for.
func errTooManyTries(wait time.Duration) error {
	return &app.Error{Code: app.CodeRateLimitExceeded, Message: "Too many tries to sign in; try again later", RetryAfter: wait}
}
