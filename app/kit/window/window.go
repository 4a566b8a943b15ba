// Package window counts what happens in windows of a fixed length. It is pure:
// it is told the time, keeps nothing but its counts, and imports nothing of
// ours, so that any package may use it. It can't fail.
package window

import (
	"sync"
	"time"
)

// Counter counts in windows that begin with the first event after the one before
// has passed. The zero value is ready. It is not safe for concurrent use.
type Counter struct {
	start time.Time
	n     int
}

// Add counts an event and returns how many there were in its window of that
// length, this one included. A clock that was set back begins a new window.
func (c *Counter) Add(now time.Time, length time.Duration) int {
	if c.Left(now, length) == 0 {
		c.start, c.n = now, 0
	}
	c.n++
	return c.n
}

// Left returns how long the window of that length still lasts; 0 where none is
// open.
func (c *Counter) Left(now time.Time, length time.Duration) time.Duration {
	if age := now.Sub(c.start); age < 0 || age >= length {
		return 0
	}
	return c.start.Add(length).Sub(now)
}

// Keyed counts by key in windows that all keys share, aligned to their length
// (each second, each minute). It holds the keys of one window alone, so that it
// can't grow. It is safe for concurrent use.
type Keyed struct {
	length time.Duration
	mu     sync.Mutex
	start  time.Time
	counts map[string]int
}

// NewKeyed makes a Keyed with windows of a length above 0.
func NewKeyed(length time.Duration) *Keyed {
	return &Keyed{length: length, counts: map[string]int{}}
}

// Add counts an event of a key and returns how many that key had in this window,
// this one included.
func (k *Keyed) Add(key string, now time.Time) int {
	start := now.Truncate(k.length)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !start.Equal(k.start) {
		k.start = start
		clear(k.counts)
	}
	k.counts[key]++
	return k.counts[key]
}

// Left returns how long the window of now still lasts: above 0, and at most its
// length.
func (k *Keyed) Left(now time.Time) time.Duration {
	return now.Truncate(k.length).Add(k.length).Sub(now)
}
