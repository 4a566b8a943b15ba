package footprint

import "testing"

// TestIdleDetector checks once a minute with the given allocations.
func TestIdleDetector(t *testing.T) {
	var w IdleDetector
	var now uint64
	for i, minute := range []struct {
		allocated uint64
		over      bool
	}{
		{idleBytes + 1, false}, // start of the process
		{0, true},
		{minReleasable - 1, false}, // too little to release,
		{1, true},                  // until enough has accumulated
		{100 * idleBytes, false},
		{100 * idleBytes, false},
		{idleBytes, true}, // a few requests after work
		{idleBytes + 1, false},
		{1, true},
		{0, false}, // no allocation
	} {
		now += minute.allocated
		if over := w.wentIdleAt(now); over != minute.over {
			t.Errorf("minute %d: over is %t", i, over)
		}
	}
}
