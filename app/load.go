package app

import (
	"runtime"
	"sync/atomic"
)

// Load counts requests for which a client is waiting, so that background work that needs much
// processor time (signing) can yield to them. The zero Load is ready to use; a nil Load is never
// busy.
type Load struct{ waiting atomic.Int64 }

// Enter counts a waiting client until leave is called.
func (l *Load) Enter() (leave func()) {
	if l == nil {
		return func() {}
	}
	l.waiting.Add(1)
	return func() { l.waiting.Add(-1) }
}

// Busy reports whether a client is waiting.
func (l *Load) Busy() bool { return l != nil && l.waiting.Load() > 0 }

// ComposeWorkers returns the default number of messages that are composed and signed at the same
// time: GOMAXPROCS.
func ComposeWorkers() int { return runtime.GOMAXPROCS(0) }
