package window

import (
	"testing"
	"time"
)

var noon = time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)

func TestCounterStartsAtFirstEvent(t *testing.T) {
	var c Counter
	if left := c.Left(noon, time.Minute); left != 0 {
		t.Errorf("a window of %v is open before anything happened", left)
	}
	for _, tt := range []struct {
		after time.Duration
		n     int
		left  time.Duration
	}{
		{30 * time.Second, 1, time.Minute},
		{89 * time.Second, 2, time.Second},
		{90 * time.Second, 1, time.Minute},
		{80 * time.Second, 1, time.Minute}, // clock set back
		{81 * time.Second, 2, 59 * time.Second},
	} {
		now := noon.Add(tt.after)
		if n, left := c.Add(now, time.Minute), c.Left(now, time.Minute); n != tt.n || left != tt.left {
			t.Errorf("after %v: %d with %v left, want %d with %v", tt.after, n, left, tt.n, tt.left)
		}
	}
}

func TestKeyedWindowsAreAligned(t *testing.T) {
	k := NewKeyed(time.Minute)
	now := noon.Add(59500 * time.Millisecond)
	if a, b, again := k.Add("a", now), k.Add("b", now), k.Add("a", now); a != 1 || b != 1 || again != 2 {
		t.Errorf("counted %d, %d, %d", a, b, again)
	}
	if left := k.Left(now); left != 500*time.Millisecond {
		t.Errorf("%v left", left)
	}
	now = noon.Add(time.Minute)
	if left := k.Left(now); left != time.Minute {
		t.Errorf("%v left at its begin", left)
	}
	if n := k.Add("a", now); n != 1 || len(k.counts) != 1 {
		t.Errorf("%d in the next minute, of %d keys", n, len(k.counts))
	}
}
