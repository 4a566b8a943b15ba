// Package cache remembers what was read or made, for a time and up to a number of
// entries. It imports nothing of ours, so that any package may use it. It keeps no
// failure: what could not be loaded is asked for again by the next who wants it.
package cache

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Cache is a map whose entries live for a time. One that would grow over its bound
// is emptied first: that costs a few reads, and no bookkeeping of what was used
// last. It is safe for concurrent use, and no lock is held while a value is loaded.
type Cache[K ~string, V any] struct {
	// Now tells the time; New sets time.Now. A test may set another before use.
	Now func() time.Time

	maxEntries int
	ttl        time.Duration

	mu      sync.Mutex
	entries map[K]entry[V]
	era     uint64              // grows with each Forget and Clear
	flight  *singleflight.Group // of this era
}

type entry[V any] struct {
	value V
	since time.Time
}

// Mark is when, and in which era of a Cache, a value began to be read.
type Mark struct {
	era uint64
	at  time.Time
}

// New makes a Cache of at most that many entries (above 0), each good for life
// from the moment on at which its value began to be read; 0: until it is forgotten.
func New[K ~string, V any](most int, life time.Duration) *Cache[K, V] {
	return &Cache[K, V]{Now: time.Now, maxEntries: most, ttl: life, entries: map[K]entry[V]{}, flight: new(singleflight.Group)}
}

// Get returns the value of a key, and reports whether there is one that is still
// good.
func (c *Cache[K, V]) Get(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok && c.fresh(e) {
		return e.value, true
	}
	return v, false
}

func (c *Cache[K, V]) fresh(e entry[V]) bool {
	return c.ttl == 0 || c.Now().Sub(e.since) < c.ttl
}

// Last returns the value that a key had last, whether it is still good or not, and
// reports whether one is known.
func (c *Cache[K, V]) Last(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	return e.value, ok
}

// Load returns the value of a key, from fn where none is good. Of callers that want
// the same key at once one runs fn and all get its answer; what began before a
// Forget answers nobody who came after it. fn gets a ctx without its end, since it
// works for others too, so it must end by itself; all wait for it. Errors: ctx's,
// where it has ended before; fn's, which are not kept.
func (c *Cache[K, V]) Load(ctx context.Context, key K, fn func(context.Context) (V, error)) (v V, err error) {
	if v, ok := c.Get(key); ok {
		return v, nil
	}
	if err := ctx.Err(); err != nil {
		return v, err
	}
	c.mu.Lock()
	flight := c.flight
	c.mu.Unlock()
	loaded, err, _ := flight.Do(string(key), func() (any, error) {
		if v, ok := c.Get(key); ok { // a flight that has just landed brought it
			return v, nil
		}
		mark := c.Mark()
		v, err := fn(context.WithoutCancel(ctx))
		if err == nil {
			c.Put(key, v, mark)
		}
		return v, err
	})
	if err != nil {
		return v, err
	}
	v, _ = loaded.(V) // the zero value of an interface is no V
	return v, nil
}

// Mark is taken before what Put shall keep is read.
func (c *Cache[K, V]) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark{era: c.era, at: c.Now()}
}

// Put keeps a value that was read after a Mark; not where something was forgotten
// in between, since it may have been read before the change that this was for.
func (c *Cache[K, V]) Put(key K, v V, since Mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since.era != c.era {
		return
	}
	if _, known := c.entries[key]; !known && len(c.entries) >= c.maxEntries {
		clear(c.entries)
	}
	c.entries[key] = entry[V]{value: v, since: since.at}
}

// Forget has the next who wants a key load it anew.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
	c.nextEra()
}

// Clear has all keys loaded anew.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
	c.nextEra()
}

func (c *Cache[K, V]) nextEra() {
	c.era++
	c.flight = new(singleflight.Group)
}
