package smtpout

import (
	"sync"
	"time"
)

// raiseInterval is how long after a refusal, or after the connection before, one
// more connection is tried.
const raiseInterval = time.Minute

// ceiling is how many connections a relay lets us have, as far as we know: what is
// configured until it refuses one while others work.
type ceiling struct {
	mu    sync.Mutex
	most  int // as configured
	now   int
	since time.Time // of the last refusal, or of the latest connection more
}

func newCeiling(most int) *ceiling { return &ceiling{most: most, now: most} }

func (c *ceiling) limit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// lower notes that the relay refused one connection beside works others.
func (c *ceiling) lower(works int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.since = max(1, min(c.now, works)), time.Now()
}

// raise makes room for one connection more after a quiet minute.
func (c *ceiling) raise() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now >= c.most || time.Since(c.since) < raiseInterval {
		return false
	}
	c.now++
	c.since = time.Now()
	return true
}

// reset forgets what was known.
func (c *ceiling) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.most
}
