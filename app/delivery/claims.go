package delivery

import (
	"sync"

	"mailer/app"
)

// claims are the units of a lane that somebody works on.
type claims struct {
	mu     sync.Mutex
	emails map[string]bool // by id
}

// busy is how many units are claimed.
func (c *claims) busy() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.emails)
}

// take claims up to n of the units that nobody works on.
func (c *claims) take(units []app.Unit, n int) []app.Unit {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []app.Unit
	for _, u := range units {
		if len(out) < n && !c.emails[u.EmailID] {
			c.emails[u.EmailID] = true
			out = append(out, u)
		}
	}
	return out
}

// hold claims the units of jobs that were made just now.
func (c *claims) hold(jobs []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		c.emails[j.unit.EmailID] = true
	}
}

// release lets others claim units.
func (c *claims) release(units ...app.Unit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range units {
		delete(c.emails, u.EmailID)
	}
}
