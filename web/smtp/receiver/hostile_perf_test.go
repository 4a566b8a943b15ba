//go:build perf

package receiver

import (
	"runtime"
	"strings"
	"testing"
)

// TestPerfEndlessBodyMemory sends endless bodies: the second one needs no more memory than the
// first.
func TestPerfEndlessBodyMemory(t *testing.T) {
	w := newTestServer(t, nil)
	line := []byte(strings.Repeat("x", 998) + "\r\n")
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapInuse)
	}
	before := inUse()
	var sent, first int64
	for n := range 4 {
		c := w.open(t)
		sent = 0
		for err := error(nil); err == nil && sent < 200<<20; sent += int64(len(line)) {
			_, err = c.conn.Write(line)
		}
		grown := inUse() - before
		if t.Logf("after %d MB: %d KB", sent>>20, grown>>10); n == 0 {
			first = max(grown, 8<<20)
		}
		if grown > 2*first {
			t.Errorf("memory grew by %d bytes, after the first body by %d", grown, first)
		}
	}
}
