//go:build perf

package submission

import (
	"runtime"
	"testing"
)

// TestPerfLargeMessageMemory: while a message arrives, memory grows by less than half of its size.
func TestPerfLargeMessageMemory(t *testing.T) {
	w := newTestServer(t, nil)
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	c := w.dial(t, w.plain).signIn(w.key).begin()
	piece := lines(1000)
	c.send(piece)
	before := inUse()
	const pieces = 50 // 5 MB
	for range pieces {
		c.send(piece)
		c.conn.(*bufferedConn).drained()
	}
	grown := inUse() - before
	if came := int64(pieces * len(piece)); grown > came/2 {
		t.Errorf("while %d bytes arrive memory grows by %d", came, grown)
	}
	c.cmd(".", "250 ")
}
