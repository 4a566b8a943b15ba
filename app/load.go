package app

import (
	"runtime"
	"sync/atomic"
)

// Load counts the requests that a caller is waiting for, so that background
// work which costs much processor time (signing) can leave them their share.
// The zero Load is ready; a nil one is never busy.
type Load struct{ waiting atomic.Int64 }

// Enter notes that a caller waits, until leave is called.
func (l *Load) Enter() (leave func()) {
	if l == nil {
		return func() {}
	}
	l.waiting.Add(1)
	return func() { l.waiting.Add(-1) }
}

// Busy reports whether any caller waits.
func (l *Load) Busy() bool { return l != nil && l.waiting.Load() > 0 }

// ComposeWorkers returns how many messages are composed and signed at once where nobody
// says how many: one for each of Go's processors.
func ComposeWorkers() int { return runtime.GOMAXPROCS(0) }
