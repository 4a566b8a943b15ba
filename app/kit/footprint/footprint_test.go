package footprint

import "testing"

// TestWorkIsOver looks each minute at what was allocated until then.
func TestWorkIsOver(t *testing.T) {
	var w Watch
	var now uint64
	for i, minute := range []struct {
		allocated uint64
		over      bool
	}{
		{calm + 1, false}, // a start
		{0, true},
		{worth - 1, false}, // too little to hand back,
		{1, true},          // until it has come together
		{100 * calm, false},
		{100 * calm, false},
		{calm, true}, // a few requests, after work
		{calm + 1, false},
		{1, true},
		{0, false}, // nothing
	} {
		now += minute.allocated
		if over := w.overAt(now); over != minute.over {
			t.Errorf("minute %d: over is %t", i, over)
		}
	}
}
