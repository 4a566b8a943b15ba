// Package cache caches values for a time and up to a number of entries. Every package may import
// it. Errors are not cached: the next caller loads again.
package cache

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// Cache is a map with expiring entries. When it is full it is emptied, which costs a few loads but
// needs no record of recent use. It is safe for concurrent use and holds no lock while a value is
// loaded.
type Cache[K ~string, V any] struct {
	// Now returns the current time; New sets time.Now. A test may replace it before use.
	Now func() time.Time

	maxEntries int
	ttl        time.Duration

	mu      sync.Mutex
	entries map[K]entry[V]
	era     uint64              // incremented by Forget and Clear
	flight  *singleflight.Group // of the current era
}

type entry[V any] struct {
	value V
	since time.Time
}

// Mark is the time, and the era of a Cache, at which loading of a value began.
type Mark struct {
	era uint64
	at  time.Time
}

// New returns a Cache of at most maxEntries entries (above 0). An entry is valid for ttl after its
// loading began; a ttl of 0 means until it is forgotten.
func New[K ~string, V any](maxEntries int, ttl time.Duration) *Cache[K, V] {
	return &Cache[K, V]{Now: time.Now, maxEntries: maxEntries, ttl: ttl, entries: map[K]entry[V]{}, flight: new(singleflight.Group)}
}

// Get returns the value of a key if it is valid.
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

// Last returns the last value of a key, valid or not.
func (c *Cache[K, V]) Last(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	return e.value, ok
}

// Load returns the value of a key and calls fn if there is no valid one. Concurrent callers with
// the same key share one call of fn. A call that began before a Forget does not serve callers that
// came later. fn gets ctx without its cancellation, since it works for other callers too, so fn
// must limit its own duration. Errors: ctx's if it was done before; fn's, which are not cached.
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
		if v, ok := c.Get(key); ok { // a concurrent call has just stored it
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
	v, _ = loaded.(V) // a nil interface is not of type V
	return v, nil
}

// Mark returns the mark to pass to Put. Call it before reading the value.
func (c *Cache[K, V]) Mark() Mark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mark{era: c.era, at: c.Now()}
}

// Put stores a value that was read after a Mark. It does nothing if a Forget or Clear came in
// between: the value may be older than the change that caused it.
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

// Forget removes a key, so that the next caller loads it again.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
	c.nextEra()
}

// Clear removes all keys.
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
