package rest

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/kit/fair"
)

func team(name string) memoryOwner { return memoryOwner{team: name} }

// newTestSemaphore returns a semaphore with capacity 120 and a share of 40, and its log.
func newTestSemaphore(maxWait time.Duration) (*timedSemaphore, *bytes.Buffer) {
	var log bytes.Buffer
	return newTimedSemaphore("test bodies", 120, 40, maxWait, slog.New(slog.NewTextHandler(&log, nil))), &log
}

// used returns how many bytes of a semaphore are held.
func used(l *timedSemaphore) int64 { return l.Usage(memoryOwner{}).Used }

func mustTake(t *testing.T, l *timedSemaphore, owner string, n int64) {
	t.Helper()
	if _, err := l.acquire(t.Context(), team(owner), n); err != nil {
		t.Fatalf("%s does not get %d: %v", owner, n, err)
	}
}

// wantFull proves that a holder gets no more.
func wantFull(t *testing.T, l *timedSemaphore, owner string) error {
	t.Helper()
	_, err := l.acquire(t.Context(), team(owner), 1)
	if app.CodeOf(asKnown(err)) != app.CodeServiceUnavailable {
		t.Errorf("%s gets one more: %v", owner, err)
	}
	return err
}

// asKnown is a refusal as an error of the vocabulary.
func asKnown(err error) error {
	if e, ok := err.(*Error); ok {
		return app.Errorf(e.Name, "%s", e.Message)
	}
	return err
}

func TestShareOfOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newTestSemaphore(time.Second)
		mustTake(t, l, "a", 40) // alone: its share
		err := wantFull(t, l, "a")
		if !strings.Contains(err.Error(), "Your team") {
			t.Errorf("a team that used up its share hears %q", err)
		}
		mustTake(t, l, "b", 40)
		wantFull(t, l, "b")
		if l.starved() {
			t.Error("shares that are used up are taken for a lane that is short")
		}
		mustTake(t, l, "c", 20) // half of the rest
		wantFull(t, l, "c")
		mustTake(t, l, "d", 10)
		if !l.starved() {
			t.Error("what a third one lacks is not told")
		}
		l.Release(team("a"), 40)
		mustTake(t, l, "c", 5)
		for owner, n := range map[string]int64{"b": 40, "c": 25, "d": 10} {
			l.Release(team(owner), n)
		}
		if u := l.Usage(team("a")); u != (fair.Usage[memoryOwner]{}) {
			t.Errorf("after all was given back %+v", u)
		}
	})
}

func TestShortageIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, log := newTestSemaphore(10 * time.Second)
		for i := range 100 {
			mustTake(t, l, fmt.Sprint("t", i), 1)
		}
		for i := range 60 {
			owner := fmt.Sprint("n", i)
			go func() { _, _ = l.acquire(t.Context(), team(owner), 25) }()
		}
		synctest.Wait()
		if l.starved() {
			t.Error("short at once")
		}
		time.Sleep(shortageAfter)
		synctest.Wait()
		if !l.starved() || strings.Count(log.String(), "level=WARN") != 1 || !strings.Contains(log.String(), "capacity_bytes=120") {
			t.Errorf("short: %v, log %s", l.starved(), log)
		}
		for i := range 100 {
			l.Release(team(fmt.Sprint("t", i)), 1)
		}
		time.Sleep(10*time.Second + shortageEnds)
		synctest.Wait()
		if l.starved() || strings.Count(log.String(), "level=WARN") != 1 || strings.Count(log.String(), "there is room") != 1 {
			t.Errorf("after it: short %v, log %s", l.starved(), log)
		}
	})
}
