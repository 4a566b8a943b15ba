package footprint

import "testing"

func TestOver(t *testing.T) {
	var w Watch
	for i, look := range []struct {
		allocated uint64
		over      bool
	}{
		{much / 2, false},              // a start: busy
		{much/2 + 1, false},            // quiet, but not much was done
		{much * 2, false},              // busy
		{much*2 + little, true},        // over
		{much*2 + 2*little, false},     // nothing since
		{much*3 + little - 1, false},   // busy
		{much*3 + little, true},        // over again
		{much*3 + 2*little, false},     // small work, a little between two looks,
		{much*3 + 3*little, false},     //
		{much*3 + 4*little, false},     //
		{much*3 + 5*little, true},      // sums up
		{much*3 + 5*little + 1, false}, //
	} {
		if over := w.over(look.allocated); over != look.over {
			t.Errorf("look %d: over is %t", i, over)
		}
	}
}
