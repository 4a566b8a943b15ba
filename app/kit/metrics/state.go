package metrics

import (
	"context"
	"sync"
	"time"
)

// State is the current state of the server.
type State struct {
	Relays  []Relay
	Waiting []Waiting
	Active  []Active
	// Listings are the last answers of block lists.
	Listings []Listing
	// DB, WAL, Images, Received and DiskFree are bytes; Images and Received are the parts of DB that images and received
	// mail take.
	DB, WAL, Images, Received, DiskFree int64
	OpenRuns                            int64     // of automations
	LastBackup                          time.Time // zero: no backup
}

// Relay is the state of a relay.
type Relay struct {
	Name   string
	Region string
	Up     bool          // it accepts mail
	Oldest time.Duration // waiting time of the oldest mail that could be sent
}

// Active says whether the mail of a region leaves through one of its relays.
type Active struct {
	Region, Relay string
	Active        bool
}

// Listing says whether an address that mail leaves from is on a block list.
type Listing struct {
	List, Address string
	Listed        bool
}

// Waiting is the number of emails that wait for a relay for a reason.
type Waiting struct {
	Relay, Reason string
	Count         int64
}

// The state is cached for at least minCache, and for cacheFactor times the duration of reading it,
// so that frequent requests do not keep the server busy with counting.
const (
	minCache    = 5 * time.Second
	cacheFactor = 20
)

// watch reads and caches the state.
type watch struct {
	read func(ctx context.Context) (State, error)

	mu      sync.Mutex
	cached  State
	expires time.Time // end of the cache's validity
}

// Watch sets the function that reads the state. If it fails, the state is left out. Watch is
// called before the first request.
func (m *Metrics) Watch(look func(ctx context.Context) (State, error)) {
	if m != nil {
		m.watch.read = look
	}
}

// state returns the cached state or reads it. Concurrent callers wait for one read.
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
