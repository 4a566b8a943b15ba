package delivery

import (
	"sync"
	"sync/atomic"

	"mailer/app"
)

// claims are the units of a lane that somebody works on.
type claims struct {
	suspectInWork *atomic.Bool // a suspect is in work, in whichever lane

	mu     sync.Mutex
	emails map[string]sender // by id
}

// suspects is the number of crashes in a row from which on a unit that was in work at
// each of them leaves while no other such one does: it may be what ends the process.
const suspectCrashes = 2

func suspected(u app.Unit) bool { return u.Crashes >= suspectCrashes }

// maxCrashes is at how many crashes in a row a unit may have been in work that is to be
// claimed now.
func (c *claims) maxCrashes() int {
	if c.suspectInWork.Load() {
		return suspectCrashes - 1
	}
	return 1 << 30
}

// take claims up to n of the units that nobody works on, and one suspect at most.
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
		c.emails[u.EmailID] = senderOf(u)
		out = append(out, u)
	}
	return out
}

// add claims the units of jobs that were made just now.
func (c *claims) add(jobs []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, j := range jobs {
		c.emails[j.unit.EmailID] = senderOf(j.unit)
	}
}

// emailsOf returns the emails of a sender whose units are claimed; the zero one: of everybody.
func (c *claims) emailsOf(s sender) (emails []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, who := range c.emails {
		if s == (sender{}) || who == s || s.domain == "" && who.team == s.team {
			emails = append(emails, id)
		}
	}
	return emails
}

// release lets others claim units.
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
