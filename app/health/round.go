package health

import (
	"context"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/clock"
)

const (
	// roundKept is how long a round of checks is shown again: each dials relays and asks
	// the DNS.
	roundKept = 15 * time.Second
	// stepTime bounds one kind of checks in a round.
	stepTime = 40 * time.Second
)

// Round is what the checks came to at a time.
type Round struct {
	OK     bool      `json:"ok"`
	Checks []Check   `json:"checks"`
	At     time.Time `json:"-"` // when they were done
}

// rounds are the rounds of a server, one at a time.
type rounds struct {
	mu      sync.Mutex
	last    *Round // nil: none was made
	running *round // nil: none is made
}

// round is one under way. done is closed when the rest is there.
type round struct {
	done  chan struct{}
	round Round
	err   error
}

// LastRound returns the last round of checks, made anew where it is older than a few
// seconds. It is made for all who ask meanwhile, and goes on where they leave.
func (s *Service) LastRound(ctx context.Context) (Round, error) {
	s.rounds.mu.Lock()
	if last := s.rounds.last; last != nil && clock.Since(last.At) < roundKept {
		s.rounds.mu.Unlock()
		return *last, nil
	}
	s.rounds.mu.Unlock()
	return s.NewRound(ctx)
}

// NewRound makes a round of checks, or waits for the one under way. Nothing is sent and
// nothing is changed.
func (s *Service) NewRound(ctx context.Context) (Round, error) {
	s.rounds.mu.Lock()
	r := s.rounds.running
	if r == nil {
		r = &round{done: make(chan struct{})}
		s.rounds.running = r
		s.Workers.Go(func() { s.make(r) })
	}
	s.rounds.mu.Unlock()
	select {
	case <-r.done:
		return r.round, r.err
	case <-ctx.Done():
		return Round{}, ctx.Err()
	case <-s.Taking.Done():
		return Round{}, app.Errorf(app.CodeServiceUnavailable, "The server is shutting down")
	}
}

func (s *Service) make(r *round) {
	bounded := *s
	bounded.patience = stepTime
	checks, err := bounded.Doctor(s.Taking)
	r.round, r.err = Round{OK: AllOK(checks), Checks: checks, At: clock.Now()}, err
	s.rounds.mu.Lock()
	defer s.rounds.mu.Unlock()
	if s.rounds.running = nil; err == nil {
		s.rounds.last = &r.round
	}
	close(r.done)
}
