package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"mailer/app/kit/clock"
)

func TestFollow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		if got := clock.Until(time.Now()); got != 0 {
			t.Fatalf("before it keeps to one, it is off by %s", got)
		}
		wantMoved(t, time.Hour, time.Hour)
		wantNow(t, time.Hour)
		time.Sleep(10 * time.Minute)
		wantNow(t, time.Hour)
		if got := clock.Ahead(); got != -time.Hour {
			t.Errorf("this machine is ahead by %s", got)
		}
		wantMoved(t, time.Hour, 0) // no more than it is already
		wantMoved(t, -time.Hour, -2*time.Hour)
		wantNow(t, -time.Hour)
	})
}

func TestFollowIgnoresSmallDifferences(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, off := range []time.Duration{0, clock.Tolerance, -clock.Tolerance} {
			wantMoved(t, off, 0)
			wantNow(t, 0)
		}
	})
}

// TestFollowIgnoresSlowAnswers: the clock was read at some moment during the answer, so a slow
// answer says less.
func TestFollowIgnoresSlowAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := time.Now()
		time.Sleep(5 * time.Second)
		for after, want := range map[time.Duration]time.Duration{0: 0, 5 * time.Second: 0, 9 * time.Second: 4 * time.Second, -2 * time.Second: -2 * time.Second} {
			clock.Unfollow()
			if got := clock.Follow(asked.Add(after), asked, time.Now()); got != want {
				t.Errorf("one that shows %s after the question moves it by %s, want %s", after, got, want)
			}
		}
	})
}

func TestMarkElapsed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := clock.Begin()
		time.Sleep(time.Minute)
		wantMoved(t, time.Hour, time.Hour)
		time.Sleep(time.Minute)
		if moved, passed := m.Elapsed(); moved != time.Hour+2*time.Minute || passed != 2*time.Minute {
			t.Errorf("it moved by %s in %s", moved, passed)
		}
	})
}

func bubble(t *testing.T, fn func(*testing.T)) {
	synctest.Test(t, func(t *testing.T) {
		defer clock.Unfollow()
		fn(t)
	})
}

// wantMoved follows a clock that is ahead of this machine's.
func wantMoved(t *testing.T, ahead, want time.Duration) {
	t.Helper()
	if got := clock.Follow(time.Now().Add(ahead).Round(0), time.Now(), time.Now()); got != want {
		t.Errorf("a clock that is ahead by %s moves it by %s, want %s", ahead, got, want)
	}
}

func wantNow(t *testing.T, ahead time.Duration) {
	t.Helper()
	if got := time.Until(clock.Now()); got != ahead {
		t.Errorf("it is ahead by %s, want %s", got, ahead)
	}
	if got := clock.Now().Round(0).Sub(time.Now().Round(0)); got != ahead {
		t.Errorf("by the wall it is ahead by %s, want %s", got, ahead)
	}
}

func TestAdjustIgnoresClockStep(t *testing.T) {
	at := time.Date(2026, 11, 25, 5, 36, 16, 0, time.UTC)
	const ahead = 50 * time.Hour
	for _, c := range []struct {
		began time.Time
		want  time.Time
	}{
		{at.Add(-ahead - time.Hour), at.Add(-ahead)},
		{at.Add(-ahead), at.Add(-ahead)},
		{at.Add(-ahead + 5*time.Millisecond), at.Add(-ahead)}, // clocks drift
		{at.Add(-ahead + time.Hour), at},
		{at, at},
	} {
		if got := clock.Steady(c.began, at, ahead); !got.Equal(c.want) {
			t.Errorf("began %s: %s, want %s", c.began, got, c.want)
		}
	}
	if got := clock.Steady(at.Add(-time.Hour), at, -ahead); !got.Equal(at) {
		t.Errorf("a clock that was put back: %s", got)
	}
}
