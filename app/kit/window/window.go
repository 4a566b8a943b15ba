// Package window counts events in time windows of a fixed length. Callers pass the time; the only
// state is the counts. Every package may import it. It can't fail.
package window

import (
	"sync"
	"time"
)

// Counter counts in windows that start at the first event after the previous window ended. The
// zero value is ready to use. It is not safe for concurrent use.
type Counter struct {
	start time.Time
	n     int
}

// Add counts an event and returns the number of events in its window, including this one. A clock
// that was set back starts a new window.
func (c *Counter) Add(now time.Time, length time.Duration) int {
	if c.Left(now, length) == 0 {
		c.start, c.n = now, 0
	}
	c.n++
	return c.n
}

// Left returns the remaining time of the current window, 0 if there is none.
func (c *Counter) Left(now time.Time, length time.Duration) time.Duration {
	if age := now.Sub(c.start); age < 0 || age >= length {
		return 0
	}
	return c.start.Add(length).Sub(now)
}

// Keyed counts by key in windows shared by all keys and aligned to their length (each second, each
// minute). It holds the keys of one window only, so it can't grow without limit. It is safe for
// concurrent use.
type Keyed struct {
	length time.Duration
	mu     sync.Mutex
	start  time.Time
	counts map[string]int
}

// NewKeyed returns a Keyed with windows of a length above 0.
func NewKeyed(length time.Duration) *Keyed {
	return &Keyed{length: length, counts: map[string]int{}}
}

// Add counts an event of a key and returns the number of events of the key in this window,
// including this one.
func (k *Keyed) Add(key string, now time.Time) int { return k.AddN(key, now, 1) }

// AddN counts n events of a key, 0 or more, and returns the number of events of the key in this
// window, including these.
func (k *Keyed) AddN(key string, now time.Time, n int) int {
	start := now.Truncate(k.length)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !start.Equal(k.start) {
		k.start = start
		clear(k.counts)
	}
	k.counts[key] += n
	return k.counts[key]
}

// Left returns the remaining time of the window of now: above 0, at most its length.
func (k *Keyed) Left(now time.Time) time.Duration {
	return now.Truncate(k.length).Add(k.length).Sub(now)
}
