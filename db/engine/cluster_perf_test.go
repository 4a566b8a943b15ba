//go:build perf

package engine

import (
	"testing"
	"time"
)

// TestPerfTakeoverAfterCleanShutdown compares the time until another server leads with the time
// after which a silent server counts as dead.
func TestPerfTakeoverAfterCleanShutdown(t *testing.T) {
	g := newTestCluster(t)
	first, second := g.open(), g.open()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	g.waitLeading(second)
	if took := time.Since(began); took >= deadHeartbeats*g.heartbeat/2 {
		t.Errorf("it took %s, and a silent server counts as dead after %s", took, deadHeartbeats*g.heartbeat)
	}
}
