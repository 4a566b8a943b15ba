//go:build perf

package smtpout

import (
	"testing"
)

func TestPerfFreeSlotAllocatesNothing(t *testing.T) {
	s := newSharedSlots(2)
	if n := testing.AllocsPerRun(100, func() {
		p, err := s.acquire(t.Context(), teamA)
		if err != nil {
			t.Fatal(err)
		}
		s.release(p)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
