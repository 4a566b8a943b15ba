package metrics

import (
	"context"
	"sync"
	"time"
)

// State is what somebody who looks finds.
type State struct {
	Relays  []Relay
	Waiting []Waiting
	// DB, WAL and DiskFree are bytes.
	DB, WAL, DiskFree int64
	LastBackup        time.Time // zero: none was made
}

// Relay is how a relay is.
type Relay struct {
	Name   string
	Up     bool          // it takes mail
	Oldest time.Duration // how long what could leave waits
}

// Waiting is how much waits for a relay, and why.
type Waiting struct {
	Relay, Reason string
	Count         int64
}

// How long a look holds: at least minCache, and cacheFactor times what it took, so that
// nobody who asks often has the server do nothing but count.
const (
	minCache    = 5 * time.Second
	cacheFactor = 20
)

// watch is how the state is looked at, and what was seen last.
type watch struct {
	read func(ctx context.Context) (State, error)

	mu      sync.Mutex
	cached  State
	expires time.Time // how long seen holds
}

// Watch has whoever asks see what look finds; what fails is missing. It is called
// before anybody asks.
func (m *Metrics) Watch(look func(ctx context.Context) (State, error)) {
	if m != nil {
		m.watch.read = look
	}
}

// state returns what was seen a moment ago, or is seen now. Those who ask at once wait
// for one look.
func (w *watch) state(ctx context.Context) (State, error) {
	if w.read == nil {
		return State{}, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	began := time.Now()
	if began.Before(w.expires) {
		return w.cached, nil
	}
	seen, err := w.read(ctx)
	if err != nil {
		return State{}, err
	}
	w.cached, w.expires = seen, time.Now().Add(max(minCache, cacheFactor*time.Since(began)))
	return seen, nil
}
