//go:build perf

package rekey_test

import (
	"slices"
	"testing"
	"time"
)

// TestPerfAcceptDuringReseal compares the 99th percentile of accepts before and during resealing.
func TestPerfAcceptDuringReseal(t *testing.T) {
	p99 := func(took []time.Duration) time.Duration {
		slices.Sort(took)
		return took[len(took)*99/100]
	}
	before, during := resealing(t, 10_000, 5*time.Second)
	t.Logf("the 99th percentile of accepts is %s, and was %s", p99(during), p99(before))
	if p99(during) > 10*p99(before) {
		t.Errorf("the 99th percentile of accepts is %s, and was %s", p99(during), p99(before))
	}
}
