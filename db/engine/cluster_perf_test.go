//go:build perf

package engine

import (
	"testing"
	"time"
)

// TestPerfALeadThatWasGivenUpIsTakenBeforeItsHolderCountsAsDead compares the time until another
// server leads with the time after which a server that is not heard counts as dead.
func TestPerfALeadThatWasGivenUpIsTakenBeforeItsHolderCountsAsDead(t *testing.T) {
	g := newSeveral(t)
	first, second := g.open(), g.open()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	g.works(second)
	if took := time.Since(began); took >= deadAfter*g.heartbeat/2 {
		t.Errorf("it took %s, and one that is not heard counts as dead after %s", took, deadAfter*g.heartbeat)
	}
}
