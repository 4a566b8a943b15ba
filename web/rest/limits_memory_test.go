package rest

import "testing"

func TestLimitsWithinMemory(t *testing.T) {
	all := func(l Limits) int64 {
		return l.SmallBudget + l.LargeBudget + 2*l.PublicBudget + l.Answers.Keyed + l.Answers.Public
	}
	unbounded := DefaultLimits()
	for _, memory := range []int64{0, 1 << 30} {
		if got := unbounded.Within(memory); got != unbounded {
			t.Errorf("with %d bytes: %+v", memory, got)
		}
	}
	for _, mb := range []int64{32, 64, 128, 256, 512, 700} {
		l := unbounded.Within(mb << 20)
		if got := all(l); got <= 0 || got > mb<<20*7/10 || got >= all(unbounded) {
			t.Errorf("with %d MB: all budgets have %d MB", mb, got>>20)
		}
		if l.Body < leastBody || l.Body > unbounded.Body || mb > 128 && l.Body > mb<<20/largestPart {
			t.Errorf("with %d MB: a body of %d MB", mb, l.Body>>20)
		}
	}
}
