//go:build perf

package apptest

import (
	"math"
	"testing"
	"time"
)

// Fastest returns the shortest of five runs of work: other load on the machine only adds.
func Fastest(work func()) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 5 {
		start := time.Now()
		work()
		best = min(best, time.Since(start))
	}
	return best
}

// Linear fails t if work on an input of eight times the size takes more than 24 times as
// long: linear work takes 8 times, quadratic work 64 times. prepare makes the work for an
// input of size n. The smaller size is doubled from n until its work takes 0.3 ms, at most
// six times.
func Linear(t *testing.T, name string, n int, prepare func(n int) func()) {
	t.Helper()
	small := Fastest(prepare(n))
	for range 6 {
		if small >= 300*time.Microsecond {
			break
		}
		n *= 2
		small = Fastest(prepare(n))
	}
	large := Fastest(prepare(8 * n))
	for range 20 { // a busy machine interrupts the longer one
		if large > 24*small {
			large = min(large, Fastest(prepare(8*n)))
		}
	}
	if large > 24*small {
		t.Errorf("%.40q: size %d takes %v, size %d takes %v", name, n, small, 8*n, large)
	}
}
