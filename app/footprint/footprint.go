// Package footprint hands memory back to the system that this process does not need
// while it has little to do. Everything may import it.
//
// Failure policy: what can't be handed back stays.
package footprint

import (
	"runtime/debug"
	"runtime/metrics"
)

// Shrink hands back what is unused of Go's memory, and on Linux the pages of the program
// itself: whatever runs next takes them from the system's cache again. It collects
// garbage, so it takes milliseconds.
func Shrink() {
	debug.FreeOSMemory()
	forgetProgram()
}

const (
	// little is how many bytes are allocated between two looks, at most, where not much
	// happens.
	little = 8 << 20
	// much is how many bytes are allocated, at least, until it is worth to shrink again.
	much = 32 << 20
)

// Watch tells when work is over, by what was allocated for it. The zero Watch is ready;
// one goroutine uses it at a time.
type Watch struct {
	seen   uint64 // allocated until the last look
	shrunk uint64 // until work was over
}

// Over reports whether much was done since it last was over, and little since the last
// look. It is asked again and again, at even intervals.
func (w *Watch) Over() bool { return w.over(allocated()) }

func (w *Watch) over(now uint64) bool {
	busy := now-w.seen > little
	w.seen = now
	if busy || now-w.shrunk < much {
		return false
	}
	w.shrunk = now
	return true
}

// allocated is how many bytes Go ever allocated in this process.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
