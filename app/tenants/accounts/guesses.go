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
	// firstSlow, and each further one twice as long, up to slowest.
	freeGuesses = 4
	firstSlow   = time.Second
	slowest     = 30 * time.Second
	// maxTries is how many tries of one source are at work or wait, and maxSlowed how many
	// wait of all. Those at few digits are tried one after the other.
	maxTries     = 8
	maxCodeTries = 1
	maxSlowed    = 1000
	// maxSources is how many sources are remembered.
	maxSources = 20_000
)

// guesses slow down those who guess at passwords and codes. A source is an address of the
// network, an account from there, or a browser that somebody signed in with before.
// Nobody is ever locked out, and what is remembered is bounded. It is safe for concurrent
// use.
type guesses struct {
	mu      sync.Mutex
	sources map[string]*source
	slowed  int
}

// source is what one source did lately.
type source struct {
	since time.Time // when the first of wrong came
	wrong int       // those at work count as wrong until they are through
	tries int       // at work, or waiting
}

func newGuesses() *guesses { return &guesses{sources: map[string]*source{}} }

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

// most is how many tries of a source of the guesser are at work or wait.
func (w *guesser) most(source string) int {
	if w.everywhere && !strings.HasPrefix(source, clientSource) {
		return maxCodeTries
	}
	return maxTries
}

// guess runs a check of what somebody knows, later the more was wrong lately. Errors:
// those of the check; CodeRateLimitExceeded where too many tries wait.
func (g *guesses) guess(ctx context.Context, who guesser, check func() error) error {
	names := who.sources()
	wait, err := g.begin(names, who.most, time.Now())
	if err != nil {
		return err
	}
	right := false
	defer func() { g.end(names, right) }()
	if wait > 0 {
		ok := base.Pause(ctx, wait, nil)
		g.mu.Lock()
		g.slowed--
		g.mu.Unlock()
		if !ok {
			return ctx.Err()
		}
	}
	err = check()
	right = err == nil
	return err
}

// open runs the look-up of a code of 128 random bits, which nobody guesses: a right one
// does not wait, whatever others did at that address; wrong ones count, and take longer.
// Errors: those of the check; CodeRateLimitExceeded where too many tries wait.
func (g *guesses) open(ctx context.Context, who guesser, check func() error) error {
	err := check()
	if app.CodeOf(err) != app.CodeForbidden {
		return err
	}
	return g.guess(ctx, who, func() error { return err })
}

// begin counts a try, as wrong for now, and returns how long it has to wait.
func (g *guesses) begin(names []string, most func(source string) int, now time.Time) (wait time.Duration, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range names {
		if s := g.sources[name]; s != nil {
			wait = max(wait, s.slow(now))
			if s.tries >= most(name) {
				return 0, tooManyTries(max(wait, firstSlow))
			}
		}
	}
	if wait > 0 {
		if g.slowed >= maxSlowed {
			return 0, tooManyTries(wait)
		}
		g.slowed++
	}
	for _, name := range names {
		s := g.sources[name]
		if s == nil {
			g.makeRoom(now)
			s = &source{}
			g.sources[name] = s
		}
		if s.over(now) {
			s.since, s.wrong = now, 0
		}
		s.wrong++
		s.tries++
	}
	return wait, nil
}

// end notes what became of a try.
func (g *guesses) end(names []string, right bool) {
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

// over reports whether what was wrong counts no more. A clock that was set back ends it
// too.
func (s *source) over(now time.Time) bool {
	age := now.Sub(s.since)
	return age < 0 || age >= guessWindow
}

// slow is how long the next try takes longer.
func (s *source) slow(now time.Time) time.Duration {
	if s.over(now) || s.wrong < freeGuesses {
		return 0
	}
	return min(slowest, firstSlow<<min(s.wrong-freeGuesses, 10))
}

// makeRoom forgets sources where there are too many: first those that count no more, then
// any, rather those that did little. To be forgotten does nobody harm but the guessed at.
func (g *guesses) makeRoom(now time.Time) {
	if len(g.sources) < maxSources {
		return
	}
	for _, spare := range []func(*source) bool{
		func(s *source) bool { return s.over(now) },
		func(s *source) bool { return s.wrong < freeGuesses },
		func(*source) bool { return true },
	} {
		looked := 0
		for name, s := range g.sources { // in no order
			if s.tries == 0 && spare(s) {
				delete(g.sources, name)
			}
			if looked++; looked == maxSources/20 {
				break
			}
		}
		if len(g.sources) < maxSources {
			return
		}
	}
}

// tooManyTries refuses a try that nobody has room for.
func tooManyTries(wait time.Duration) error {
	return &app.Error{Code: app.CodeRateLimitExceeded, Message: "Too many tries to sign in; try again later", RetryAfter: wait}
}
