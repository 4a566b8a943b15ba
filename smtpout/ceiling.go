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
	mu         sync.Mutex
	configured int // as configured
	current    int
	changedAt  time.Time // of the last refusal, or of the latest connection more
}

func newCeiling(most int) *ceiling { return &ceiling{configured: most, current: most} }

func (c *ceiling) limit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// lower notes that the relay refused one connection beside works others.
func (c *ceiling) lower(working int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.changedAt = max(1, min(c.current, working)), time.Now()
}

// raise makes room for one connection more after a quiet minute.
func (c *ceiling) raise() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current >= c.configured || time.Since(c.changedAt) < raiseInterval {
		return false
	}
	c.current++
	c.changedAt = time.Now()
	return true
}

// reset forgets what was known.
func (c *ceiling) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = c.configured
}
