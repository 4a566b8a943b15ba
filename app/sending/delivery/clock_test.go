package delivery

import (
	"testing"
	"time"

	"mailer/app/rules/relayurl"
)

func TestDailyLimitAfterClockMovedBack(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	ahead := now.Add(100 * 24 * time.Hour)
	l := newLimits(relayurl.Relay{Region: "r", Daily: 3}, 0)
	take := func(at time.Time, want bool) int64 {
		t.Helper()
		minute, _, ok := l.reserve(at, "team", false)
		if ok != want {
			t.Errorf("reserve at %s: %v, want %v", at, ok, want)
		}
		return minute
	}
	take(now.Add(-time.Hour), true)
	early := take(ahead.Add(-time.Hour), true) // after the first has left the window
	take(ahead, true)
	l.clockMovedBack(now)
	take(now, true)
	take(now, false)
	take(now.Add(24*time.Hour), false)
	take(now.Add(24*time.Hour+time.Minute), true)
	l.unreserve(early, "team", false) // of a minute that is in the future now
	sum := usage{}
	for _, u := range l.minutes {
		sum.sent += u.sent
	}
	if sum.sent != l.total.sent {
		t.Errorf("minutes hold %d, the total is %d", sum.sent, l.total.sent)
	}
}
