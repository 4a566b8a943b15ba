package accounts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

func clientPrefix(address string) netip.Prefix {
	addr := netip.MustParseAddr(address)
	return netip.PrefixFrom(addr, addr.BitLen())
}

var errWrong = errors.New("wrong")

func failGuess() error { return errWrong }

// guessTime returns how long a guess took.
func guessTime(t *testing.T, g *guessLimiter, by guesser, check func() error) time.Duration {
	t.Helper()
	began := time.Now()
	if err := g.run(t.Context(), by, check); err != nil && !errors.Is(err, errWrong) {
		t.Fatal(err)
	}
	return time.Since(began)
}

func TestWrongGuessesAreSlowedFromTheFifth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuessLimiter()
		eve := guesser{client: clientPrefix("192.0.2.1"), account: "ann"}
		for i, want := range []time.Duration{0, 0, 0, 0, 1, 2, 4, 8, 16, 30, 30} {
			if d := guessTime(t, g, eve, failGuess); d != want*time.Second {
				t.Errorf("guess %d took %v", i+1, d)
			}
		}
		bob := guesser{client: clientPrefix("192.0.2.1"), account: "bob"}
		if d := guessTime(t, g, bob, failGuess); d != 30*time.Second {
			t.Errorf("at another account from the same address: %v", d)
		}
		for name, by := range map[string]guesser{
			"another address": {client: clientPrefix("192.0.2.2"), account: "ann"},
			"a known browser": {client: clientPrefix("192.0.2.1"), known: "x", account: "ann"},
		} {
			if d := guessTime(t, g, by, func() error { return nil }); d != 0 {
				t.Errorf("%s is slowed: %v", name, d)
			}
		}
		<-time.After(guessWindow)
		if d := guessTime(t, g, eve, failGuess); d != 0 {
			t.Errorf("after the window: %v", d)
		}
	})
}

func TestSuccessResetsOnlyItsAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuessLimiter()
		eve := guesser{client: clientPrefix("192.0.2.1"), account: "ann"}
		for range 4 {
			guessTime(t, g, eve, failGuess)
		}
		own := guesser{client: clientPrefix("192.0.2.1"), account: "eve"}
		guessTime(t, g, own, func() error { return nil })
		if d := guessTime(t, g, eve, failGuess); d == 0 {
			t.Error("who signs in to his own account guesses on for nothing")
		}
		few := guesser{client: clientPrefix("192.0.2.9"), account: "bob"}
		guessTime(t, g, few, failGuess)
		guessTime(t, g, few, func() error { return nil })
		if n := len(g.sources); n != 3 { // the three sources of eve
			t.Errorf("%d sources", n)
		}
	})
}

func TestCodeGuessesAreSlowedFromAllClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuessLimiter()
		for i := range 4 {
			guessTime(t, g, guesser{client: clientPrefix(fmt.Sprintf("192.0.2.%d", i)), account: "second", everywhere: true}, failGuess)
		}
		if d := guessTime(t, g, guesser{client: clientPrefix("192.0.2.99"), account: "second", everywhere: true}, failGuess); d != time.Second {
			t.Errorf("the fifth took %v", d)
		}
		for _, by := range []guesser{{client: clientPrefix("192.0.2.50"), account: "second", everywhere: true}, {client: clientPrefix("192.0.2.50"), known: "x", account: "second", everywhere: true}} {
			_ = g.run(t.Context(), by, func() error {
				if err := g.run(t.Context(), by, failGuess); app.CodeOf(err) != app.CodeRateLimitExceeded {
					t.Errorf("two tries at a time: %v", err)
				}
				return nil
			})
			<-time.After(guessWindow)
		}
	})
}

func TestTenThousandGuessesDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuessLimiter()
		work := newHasher()
		var hashed, refused atomic.Int64
		try := func(ctx context.Context, by guesser, first bool) error {
			return g.run(ctx, by, func() error {
				if err := work.acquire(ctx, first); err != nil {
					return err
				}
				defer work.slots.Release(first, 1)
				hashed.Add(1)
				<-time.After(40 * time.Millisecond) // the time of a hash
				return errWrong
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var attempts sync.WaitGroup
		for i := range 10_000 {
			by := guesser{client: clientPrefix(fmt.Sprintf("198.51.100.%d", i%100)), account: "ann"}
			attempts.Go(func() {
				if err := try(ctx, by, false); app.CodeOf(err) == app.CodeRateLimitExceeded {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := work.slots.Usage(false).Waiting; n > maxHashQueue {
			t.Errorf("%d wait for a hash", n)
		}
		if g.waiting > maxWaiting || refused.Load() < 9000 {
			t.Errorf("%d wait, %d were refused", g.waiting, refused.Load())
		}
		began := time.Now()
		if err := try(ctx, guesser{client: clientPrefix("192.0.2.1"), known: "ann's", account: "ann"}, true); !errors.Is(err, errWrong) {
			t.Errorf("the honest one: %v", err)
		}
		if d := time.Since(began); d > 200*time.Millisecond {
			t.Errorf("the honest one waited %v", d)
		}
		<-time.After(time.Second)
		began = time.Now()
		if err := try(ctx, guesser{client: clientPrefix("192.0.2.2"), account: "ann"}, false); !errors.Is(err, errWrong) || time.Since(began) > 2*time.Second {
			t.Errorf("one with a new browser: %v after %v", err, time.Since(began))
		}
		cancel()
		attempts.Wait()
		if u := work.slots.Usage(false); g.waiting != 0 || u.Used != 0 {
			t.Errorf("left: %d slowed, %+v", g.waiting, u)
		}
	})
}

func TestGuessLimiterEvictsSources(t *testing.T) {
	g := newGuessLimiter()
	now := time.Now()
	for i := range 2 * maxSources {
		names := []string{fmt.Sprint(i)}
		if _, err := g.begin(names, (&guesser{}).maxTries, now); err != nil {
			t.Fatal(err)
		}
		g.end(names, false)
	}
	if n := len(g.sources); n > maxSources {
		t.Errorf("%d sources", n)
	}
}
