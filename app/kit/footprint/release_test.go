package footprint

import "testing"

// TestIdleDetector looks each minute at what was allocated until then.
func TestIdleDetector(t *testing.T) {
	var w IdleDetector
	var now uint64
	for i, minute := range []struct {
		allocated uint64
		over      bool
	}{
		{idleBytes + 1, false}, // a start
		{0, true},
		{minReleasable - 1, false}, // too little to hand back,
		{1, true},                  // until it has come together
		{100 * idleBytes, false},
		{100 * idleBytes, false},
		{idleBytes, true}, // a few requests, after work
		{idleBytes + 1, false},
		{1, true},
		{0, false}, // nothing
	} {
		now += minute.allocated
		if over := w.wentIdleAt(now); over != minute.over {
			t.Errorf("minute %d: over is %t", i, over)
		}
	}
}
