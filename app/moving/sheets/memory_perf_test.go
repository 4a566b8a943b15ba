//go:build perf

package sheets

import (
	"runtime"
	"testing"
)

// TestPerfManyRowsUseLittleMemory reads ten times as many rows: the heap may be half as large
// again as for the smaller file, plus a megabyte.
func TestPerfManyRowsUseLittleMemory(t *testing.T) {
	grown := func(rows int) int64 {
		var before, after runtime.MemStats
		readRows(t, rows, func() {
			runtime.GC()
			runtime.ReadMemStats(&before)
		})
		runtime.GC()
		runtime.ReadMemStats(&after)
		return int64(after.HeapInuse) - int64(before.HeapInuse)
	}
	few, many := grown(20_000), grown(200_000)
	t.Logf("%d bytes of heap more after 20,000 rows, %d after 200,000", few, many)
	if many > few+few/2+1<<20 {
		t.Errorf("%d bytes of heap more after 20,000 rows, %d after 200,000", few, many)
	}
}
