// Package footprint hands memory back to the system that this process does not need
// while it has little to do. Everything may import it.
//
// Failure policy: what can't be handed back stays.
package footprint

import (
	"runtime/debug"
	"runtime/metrics"
)

// ReleaseMemory hands back what is unused of Go's memory, and on Linux the pages of the program
// itself: whatever runs next takes them from the system's cache again. It collects
// garbage, so it takes milliseconds.
func ReleaseMemory() {
	debug.FreeOSMemory()
	releaseProgramPages()
}

const (
	// idleBytes is how many bytes are allocated between two looks, at most, while there is
	// little to do.
	idleBytes = 4 << 20
	// minReleasable is how many bytes are allocated, at least, until there is something to hand
	// back. Who has nothing to do needs minutes for so many.
	minReleasable = 2 << 20
)

// IdleDetector tells when work is over, by what was allocated for it. The zero Watch is ready;
// one goroutine uses it at a time.
type IdleDetector struct {
	lastSeen uint64 // allocated until the last look
	lastIdle uint64 // allocated until work was over
}

// WentIdle reports whether there is little to do, and was more since the last time that it
// said so. It is asked each minute.
func (w *IdleDetector) WentIdle() bool { return w.wentIdleAt(allocated()) }

func (w *IdleDetector) wentIdleAt(now uint64) bool {
	busy := now-w.lastSeen > idleBytes
	w.lastSeen = now
	if busy || now-w.lastIdle < minReleasable {
		return false
	}
	w.lastIdle = now
	return true
}

// allocated is how many bytes Go ever allocated in this process.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
