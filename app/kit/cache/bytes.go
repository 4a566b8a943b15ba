package cache

import (
	"container/list"
	"context"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Bytes caches values that never change, up to a number of bytes: the values that were not used for
// longest are dropped. It is safe for concurrent use and holds no lock while a value is loaded.
type Bytes struct {
	max    int64
	flight singleflight.Group

	mu      sync.Mutex
	size    int64
	entries map[string]*list.Element
	recent  *list.List // of *bytesEntry, the last used one first
}

type bytesEntry struct {
	key   string
	value []byte
}

// entryCost is what an entry takes besides its value, in bytes.
const entryCost = 256

// NewBytes returns a cache of at most max bytes.
func NewBytes(max int64) *Bytes {
	return &Bytes{max: max, entries: map[string]*list.Element{}, recent: list.New()}
}

// Load returns the value of a key, and calls fn if it is not known. Concurrent callers with the same
// key share one call of fn, which gets ctx without its cancellation. Callers must not change the
// value. Errors are those of fn, and are not cached; ctx's if it was done before.
func (c *Bytes) Load(ctx context.Context, key string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	if v, ok := c.get(key); ok {
		return v, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	loaded, err, _ := c.flight.Do(key, func() (any, error) {
		v, err := fn(context.WithoutCancel(ctx))
		if err == nil {
			c.put(key, v)
		}
		return v, err
	})
	if err != nil {
		return nil, err
	}
	return loaded.([]byte), nil
}

// Size returns the bytes of all entries.
func (c *Bytes) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

func (c *Bytes) get(key string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	if e == nil {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*bytesEntry).value, true
}

func (c *Bytes) put(key string, value []byte) {
	cost := int64(len(value)) + entryCost
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil || cost > c.max {
		return
	}
	for c.size+cost > c.max {
		oldest := c.recent.Remove(c.recent.Back()).(*bytesEntry)
		delete(c.entries, oldest.key)
		c.size -= int64(len(oldest.value)) + entryCost
	}
	c.entries[key] = c.recent.PushFront(&bytesEntry{key, value})
	c.size += cost
}
