//go:build perf

package smtpout

import (
	"testing"
)

func TestPerfFreeSlotAllocatesNothing(t *testing.T) {
	s := shared(2)
	if n := testing.AllocsPerRun(100, func() {
		p, err := s.take(t.Context(), teamA)
		if err != nil {
			t.Fatal(err)
		}
		s.give(p)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
