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
	// freeGuesses is how many wrong guesses of a source cause no delay. The next one takes
	// firstDelay, and each further one twice as long, up to maxDelay.
	freeGuesses = 4
	firstDelay  = time.Second
	maxDelay    = 30 * time.Second
	// maxTries bounds the running and delayed tries of one source, maxWaiting the delayed tries of
	// all sources. maxCodeTries is maxTries for one-time passwords, which have few digits.
	maxTries     = 8
	maxCodeTries = 1
	maxWaiting   = 1000
	// maxSources bounds the remembered sources.
	maxSources = 20_000
)

// guessLimiter slows down guesses of passwords and codes. A source is a client network, an account
// as tried from a client network, or a browser that was used to sign in before. It never locks out
// an account, and its memory is bounded. It is safe for concurrent use.
type guessLimiter struct {
	mu      sync.Mutex
	sources map[string]*source
	waiting int
}

// source holds the recent tries of one source.
type source struct {
	since time.Time // time of the first wrong try that counts
	wrong int       // running tries count as wrong until they end
	tries int       // running or delayed
}

func newGuessLimiter() *guessLimiter { return &guessLimiter{sources: map[string]*source{}} }

// guesser identifies who tries what.
type guesser struct {
	client  netip.Prefix
	known   string // the browser, if this user signed in with it before; empty: no
	account string // the account that is tried; empty: none
	// everywhere makes tries at the account count from all clients together. It is set for one-time
	// passwords: they have few digits, and whoever tries them has the password.
	everywhere bool
}

// clientSource is the prefix of sources that are a client network.
const clientSource = "client "

// sources returns the names of the guesser's sources. A success resets the first one.
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

// maxTries returns how many tries of a source may run or wait.
func (w *guesser) maxTries(source string) int {
	if w.everywhere && !strings.HasPrefix(source, clientSource) {
		return maxCodeTries
	}
	return maxTries
}

// run runs check, after a delay that grows with the recent wrong guesses. Errors: those of check;
// CodeRateLimitExceeded if too many tries wait.
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

// runCode runs the lookup of a random code of 128 bits, which can't be guessed. A valid code is not
// delayed, whatever others did from the same network; invalid ones count and are delayed. Errors:
// those of check; CodeRateLimitExceeded if too many tries wait.
func (g *guessLimiter) runCode(ctx context.Context, by guesser, check func() error) error {
	err := check()
	if app.CodeOf(err) != app.CodeForbidden {
		return err
	}
	return g.run(ctx, by, func() error { return err })
}

// begin counts a try, as wrong for now, and returns its delay.
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

// end records the outcome of a try.
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

// expired reports whether the wrong tries count no longer, also because the clock was set back.
func (s *source) expired(now time.Time) bool {
	age := now.Sub(s.since)
	return age < 0 || age >= guessWindow
}

// delay returns the delay of the next try.
func (s *source) delay(now time.Time) time.Duration {
	if s.expired(now) || s.wrong < freeGuesses {
		return 0
	}
	return min(maxDelay, firstDelay<<min(s.wrong-freeGuesses, 10))
}

// evict removes sources if there are too many: first expired ones, then those without a delay, then
// any. An evicted source only loses its delay.
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
		for name, s := range g.sources { // in random order
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

// errTooManyTries refuses a try.
func errTooManyTries(wait time.Duration) error {
	return &app.Error{Code: app.CodeRateLimitExceeded, Message: "Too many tries to sign in; try again later", RetryAfter: wait}
}
