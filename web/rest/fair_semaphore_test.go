package rest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

func team(name string) memoryOwner { return memoryOwner{team: name} }

// newTestSemaphore returns a semaphore with capacity 120 and a share of 40, and its log.
func newTestSemaphore(maxWait time.Duration) (*fairSemaphore, *bytes.Buffer) {
	var log bytes.Buffer
	return newFairSemaphore("test bodies", 120, 40, maxWait, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func mustTake(t *testing.T, l *fairSemaphore, owner string, n int64) {
	t.Helper()
	if _, err := l.acquire(t.Context(), team(owner), n); err != nil {
		t.Fatalf("%s does not get %d: %v", owner, n, err)
	}
}

// wantFull proves that a holder gets no more.
func wantFull(t *testing.T, l *fairSemaphore, owner string) error {
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
		l.release(team("a"), 40)
		mustTake(t, l, "c", 5)
		for owner, n := range map[string]int64{"b": 40, "c": 25, "d": 10} {
			l.release(team(owner), n)
		}
		if l.used != 0 || len(l.held) != 0 {
			t.Errorf("%d are held by %d after all was given back", l.used, len(l.held))
		}
	})
}

func TestWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newTestSemaphore(time.Minute)
		mustTake(t, l, "a", 40)
		var order []string
		ask := func(owner string, n int64) {
			go func() {
				mustTake(t, l, owner, n)
				order = append(order, fmt.Sprint(owner, n))
			}()
			synctest.Wait()
		}
		ask("a", 30)
		ask("a", 20) // waits behind its own
		ask("b", 10)
		if fmt.Sprint(order) != "[b10]" {
			t.Fatalf("before anything is free: %v", order)
		}
		l.release(team("a"), 20) // enough for the second of them
		synctest.Wait()
		if fmt.Sprint(order) != "[b10]" {
			t.Errorf("one that wants less goes ahead: %v", order)
		}
		l.release(team("a"), 20)
		synctest.Wait()
		if fmt.Sprint(order) != "[b10 a30]" {
			t.Errorf("order %v", order)
		}
		l.release(team("a"), 30)
		synctest.Wait()
		if fmt.Sprint(order) != "[b10 a30 a20]" || len(l.waiting) != 0 {
			t.Errorf("order %v, %d wait", order, len(l.waiting))
		}
	})
}

func TestCanceledWaiterHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newTestSemaphore(time.Minute)
		mustTake(t, l, "a", 40)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() { _, err := l.acquire(ctx, team("a"), 40); failed <- err }()
		synctest.Wait()
		small := make(chan error, 1)
		go func() { _, err := l.acquire(t.Context(), team("a"), 0); small <- err }()
		synctest.Wait()
		cancel()
		if err := <-failed; err != context.Canceled {
			t.Errorf("got %v", err)
		}
		if err := <-small; err != nil { // was behind it
			t.Error(err)
		}
		if l.used != 40 || len(l.waiting) != 0 {
			t.Errorf("%d used, %d wait", l.used, len(l.waiting))
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
			l.release(team(fmt.Sprint("t", i)), 1)
		}
		time.Sleep(10*time.Second + shortageEnds)
		synctest.Wait()
		if l.starved() || strings.Count(log.String(), "level=WARN") != 1 || strings.Count(log.String(), "there is room") != 1 {
			t.Errorf("after it: short %v, log %s", l.starved(), log)
		}
	})
}
