package delivery

import (
	"sync"
	"sync/atomic"

	"mailer/app"
	"mailer/app/rules/outcome"
)

// claims holds the units of a relay that this process works on.
type claims struct {
	suspectInWork *atomic.Bool // a suspect is in work, at any relay

	mu     sync.Mutex
	emails map[string]sender // senders by email id
}

// suspectCrashes is the number of crashes in a row after which a unit that was in work at each of
// them is a suspect: it may crash the process, so it is sent while no other suspect is.
const suspectCrashes = 2

func suspected(u app.Unit) bool { return u.Crashes >= suspectCrashes }

// maxCrashes is the limit on crashes in a row of units that may be claimed now.
func (c *claims) maxCrashes() int {
	if c.suspectInWork.Load() {
		return suspectCrashes - 1
	}
	return 1 << 30
}

// take claims up to n of the units that are not claimed yet, and at most one suspect.
func (c *claims) take(units []app.Unit, n int) []app.Unit {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []app.Unit
	for _, u := range units {
		if len(out) == n {
			break
		}
		if _, busy := c.emails[u.EmailID]; busy || suspected(u) && !c.suspectInWork.CompareAndSwap(false, true) {
			continue
		}
		c.emails[u.EmailID] = outcome.SenderOf(u)
		out = append(out, u)
	}
	return out
}

// add claims the units of new jobs.
func (c *claims) add(jobs []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		c.emails[j.unit.EmailID] = outcome.SenderOf(j.unit)
	}
}

// emailsOf returns the ids of a sender's emails whose units are claimed. The zero sender means all
// senders.
func (c *claims) emailsOf(s sender) (emails []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, claimed := range c.emails {
		if s == (sender{}) || claimed == s || s.Domain == "" && claimed.Team == s.Team {
			emails = append(emails, id)
		}
	}
	return emails
}

// release ends the claims of units.
func (c *claims) release(units ...app.Unit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range units {
		delete(c.emails, u.EmailID)
		if suspected(u) {
			c.suspectInWork.Store(false)
		}
	}
}
