package automations

import (
	"sync"
	"time"
)

// The bounds of pace.window.
const (
	minWindow = 50
	maxWindow = 5000
	// paceEvery is how often a window is judged.
	paceEvery = time.Second
)

// pace bounds the emails of a team's automations that wait in the queues of relays, so that the team's other
// mail does not wait behind many of them. The window follows the rate at which relays take them: it holds
// about one to two seconds of mail.
type pace struct {
	mu       sync.Mutex
	window   int
	judgedAt time.Time
	accepted int       // emails since judgedAt
	openThen int       // emails that waited at judgedAt
	resting  time.Time // no emails until then
}

// paceOf returns the pace of a team.
func (s *Service) paceOf(teamID string) *pace {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.paces[teamID]
	if p == nil {
		p = &pace{window: minWindow}
		s.paces[teamID] = p
	}
	return p
}

// ClockMoved forgets what was measured by the old time after a step of the wall clock.
func (s *Service) ClockMoved() {
	s.mu.Lock()
	clear(s.paces)
	s.mu.Unlock()
	s.wake.Notify()
}

// state returns the window, and until when the team rests.
func (p *pace) state(now time.Time) (window int, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.window, p.resting
}

func (p *pace) rest(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.resting = until
}

// accept counts emails that were accepted.
func (p *pace) accept(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted += n
}

// spare returns how many emails may certainly be accepted now, without counting those that wait: the window is not
// full even if none left since it was judged.
func (p *pace) spare(now time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.judgedAt) >= paceEvery {
		return 0
	}
	return max(p.window-p.openThen-p.accepted, 0)
}

// allow returns how many emails may be accepted now, if open ones wait.
func (p *pace) allow(now time.Time, open int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	passed, drained := now.Sub(p.judgedAt), open == 0 && p.accepted >= p.window
	if passed >= paceEvery || drained {
		sent := max(p.openThen+p.accepted-open, 0)
		switch {
		case drained: // all left: the relays may take more
			p.window *= 2
		case p.accepted > 0 || p.openThen > 0:
			p.window = int(2 * float64(sent) / passed.Seconds())
		}
		p.window = min(max(p.window, minWindow), maxWindow)
		p.judgedAt, p.accepted, p.openThen = now, 0, open
	}
	return max(p.window-open, 0)
}
