package smtpout

import (
	"sync"
	"time"
)

// raiseInterval is how long after a refused connection, or after the limit was raised, one more
// connection is tried.
const raiseInterval = time.Minute

// ceiling is the limit on concurrent connections: the configured number, until the relay refuses
// one while others work.
type ceiling struct {
	mu         sync.Mutex
	configured int
	current    int
	changedAt  time.Time // time of the last refusal or raise
}

func newCeiling(most int) *ceiling { return &ceiling{configured: most, current: most} }

func (c *ceiling) limit() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// lower records that the relay refused a connection while others worked.
func (c *ceiling) lower(working int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current, c.changedAt = max(1, min(c.current, working)), time.Now()
}

// raise allows one more connection if raiseInterval has passed.
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

// reset restores the configured number.
func (c *ceiling) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = c.configured
}
