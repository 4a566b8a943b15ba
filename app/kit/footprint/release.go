// Package footprint returns unused memory of this process to the system when the process is idle,
// and scales memory budgets to its limit. Every package may import it.
//
// Failure policy: memory that can't be returned is kept.
package footprint

import (
	"runtime/debug"
	"runtime/metrics"
)

// ReleaseMemory returns Go's unused memory to the system, and on Linux the pages of the program
// itself, which are read from the page cache again when they are needed. It runs a garbage
// collection, which takes milliseconds.
func ReleaseMemory() {
	debug.FreeOSMemory()
	releaseProgramPages()
}

const (
	// idleBytes is the most that is allocated between two checks while the process is idle.
	idleBytes = 4 << 20
	// minReleasable is how much must be allocated before a release is worth while. An idle process
	// needs minutes for it.
	minReleasable = 2 << 20
)

// IdleDetector detects the end of work by the bytes that were allocated. The zero value is ready
// to use, by one goroutine.
type IdleDetector struct {
	lastSeen uint64 // allocated at the last check
	lastIdle uint64 // allocated when the process last went idle
}

// WentIdle reports whether the process is idle now and was busy since the last true result. Call
// it once a minute.
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

// allocated returns the bytes that Go has allocated since the process started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
