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

func from(address string) netip.Prefix {
	addr := netip.MustParseAddr(address)
	return netip.PrefixFrom(addr, addr.BitLen())
}

var errWrong = errors.New("wrong")

func wrong() error { return errWrong }

// took is how long a guess took.
func took(t *testing.T, g *guesses, who guesser, check func() error) time.Duration {
	t.Helper()
	began := time.Now()
	if err := g.guess(t.Context(), who, check); err != nil && !errors.Is(err, errWrong) {
		t.Fatal(err)
	}
	return time.Since(began)
}

func TestFromTheFifthWrongGuessOnEachTakesLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuesses()
		eve := guesser{client: from("192.0.2.1"), account: "ann"}
		for i, want := range []time.Duration{0, 0, 0, 0, 1, 2, 4, 8, 16, 30, 30} {
			if d := took(t, g, eve, wrong); d != want*time.Second {
				t.Errorf("guess %d took %v", i+1, d)
			}
		}
		bob := guesser{client: from("192.0.2.1"), account: "bob"}
		if d := took(t, g, bob, wrong); d != 30*time.Second {
			t.Errorf("at another account from the same address: %v", d)
		}
		for name, who := range map[string]guesser{
			"another address": {client: from("192.0.2.2"), account: "ann"},
			"a known browser": {client: from("192.0.2.1"), known: "x", account: "ann"},
		} {
			if d := took(t, g, who, func() error { return nil }); d != 0 {
				t.Errorf("%s is slowed: %v", name, d)
			}
		}
		<-time.After(guessWindow)
		if d := took(t, g, eve, wrong); d != 0 {
			t.Errorf("after the window: %v", d)
		}
	})
}

func TestARightAnswerEndsWhatWasCountedOfItsAccountAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuesses()
		eve := guesser{client: from("192.0.2.1"), account: "ann"}
		for range 4 {
			took(t, g, eve, wrong)
		}
		own := guesser{client: from("192.0.2.1"), account: "eve"}
		took(t, g, own, func() error { return nil })
		if d := took(t, g, eve, wrong); d == 0 {
			t.Error("who signs in to his own account guesses on for nothing")
		}
		few := guesser{client: from("192.0.2.9"), account: "bob"}
		took(t, g, few, wrong)
		took(t, g, few, func() error { return nil })
		if n := len(g.sources); n != 3 { // eve's three
			t.Errorf("%d sources", n)
		}
	})
}

func TestCodesAreSlowedWhereverTheyAreGuessedFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuesses()
		for i := range 4 {
			took(t, g, guesser{client: from(fmt.Sprintf("192.0.2.%d", i)), account: "second", everywhere: true}, wrong)
		}
		if d := took(t, g, guesser{client: from("192.0.2.99"), account: "second", everywhere: true}, wrong); d != time.Second {
			t.Errorf("the fifth took %v", d)
		}
		for _, who := range []guesser{{client: from("192.0.2.50"), account: "second", everywhere: true}, {client: from("192.0.2.50"), known: "x", account: "second", everywhere: true}} {
			_ = g.guess(t.Context(), who, func() error {
				if err := g.guess(t.Context(), who, wrong); app.CodeOf(err) != app.CodeRateLimitExceeded {
					t.Errorf("two tries at a time: %v", err)
				}
				return nil
			})
			<-time.After(guessWindow)
		}
	})
}

func TestTenThousandGuessesAtOnceAreRefusedAndHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuesses()
		work := turns{free: hashesAtOnce}
		var hashed, refused atomic.Int64
		try := func(ctx context.Context, who guesser, first bool) error {
			return g.guess(ctx, who, func() error {
				if err := work.take(ctx, first); err != nil {
					return err
				}
				defer work.give()
				hashed.Add(1)
				<-time.After(40 * time.Millisecond) // what a hash takes
				return errWrong
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var crowd sync.WaitGroup
		for i := range 10_000 {
			who := guesser{client: from(fmt.Sprintf("198.51.100.%d", i%100)), account: "ann"}
			crowd.Go(func() {
				if err := try(ctx, who, false); app.CodeOf(err) == app.CodeRateLimitExceeded {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		if n := len(work.lines[1]); n > maxTurns {
			t.Errorf("%d wait for a hash", n)
		}
		if g.slowed > maxSlowed || refused.Load() < 9000 {
			t.Errorf("%d wait, %d were refused", g.slowed, refused.Load())
		}
		began := time.Now()
		if err := try(ctx, guesser{client: from("192.0.2.1"), known: "ann's", account: "ann"}, true); !errors.Is(err, errWrong) {
			t.Errorf("the honest one: %v", err)
		}
		if d := time.Since(began); d > 200*time.Millisecond {
			t.Errorf("the honest one waited %v", d)
		}
		<-time.After(time.Second)
		began = time.Now()
		if err := try(ctx, guesser{client: from("192.0.2.2"), account: "ann"}, false); !errors.Is(err, errWrong) || time.Since(began) > 2*time.Second {
			t.Errorf("one with a new browser: %v after %v", err, time.Since(began))
		}
		cancel()
		crowd.Wait()
		if g.slowed != 0 || work.free != hashesAtOnce {
			t.Errorf("left: %d slowed, %d turns free", g.slowed, work.free)
		}
	})
}

func TestManySourcesAreForgottenAndNotHeld(t *testing.T) {
	g := newGuesses()
	now := time.Now()
	for i := range 2 * maxSources {
		names := []string{fmt.Sprint(i)}
		if _, err := g.begin(names, (&guesser{}).most, now); err != nil {
			t.Fatal(err)
		}
		g.end(names, false)
	}
	if n := len(g.sources); n > maxSources {
		t.Errorf("%d sources", n)
	}
}
