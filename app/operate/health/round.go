package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// roundTTL is how long a round of checks is shown again: each connects to relays and queries
	// the DNS.
	roundTTL = 15 * time.Second
	// stepTime is the timeout of one kind of checks in a round.
	stepTime = 40 * time.Second
)

// Round is the results of all checks at a time.
type Round struct {
	OK     bool      `json:"ok"`
	Checks []Check   `json:"checks"`
	At     time.Time `json:"-"` // end of the round
}

// rounds runs the rounds of a server, one at a time.
type rounds struct {
	mu      sync.Mutex
	last    *Stored // nil: none
	running *round  // nil: none
}

// round is a running round. Its other fields are set when done is closed.
type round struct {
	done   chan struct{}
	stored Stored
	err    error
}

// Stored is a round as it is stored for commands.
type Stored struct {
	At     time.Time `json:"at"`
	Asked  string    `json:"asked,omitzero"` // id of the last request of a command that it answers
	Checks []Check   `json:"checks"`         // deep checks
}

// storedSetting holds the last round of the server, askedSetting the id of the last request for
// one.
const (
	storedSetting = "health_round"
	askedSetting  = "health_asked"
	// maxStored is how many checks of a round are stored, failed ones first.
	maxStored = 500
)

// LastRound returns the last round, or makes one if it is older than roundTTL. Concurrent callers
// share it, and it continues if they leave.
func (s *Service) LastRound(ctx context.Context) (Round, error) {
	s.rounds.mu.Lock()
	last := s.rounds.last
	s.rounds.mu.Unlock()
	if last != nil && clock.Since(last.At) < roundTTL {
		return s.complete(ctx, last)
	}
	return s.NewRound(ctx)
}

// NewRound makes a round, or waits for the running one. It sends nothing and changes nothing
// except for the stored round.
func (s *Service) NewRound(ctx context.Context) (Round, error) {
	r := s.begin(true)
	select {
	case <-r.done:
		if r.err != nil {
			return Round{}, r.err
		}
		return s.complete(ctx, &r.stored)
	case <-ctx.Done():
		return Round{}, ctx.Err()
	case <-s.Claiming.Done():
		return Round{}, app.Errorf(app.CodeServiceUnavailable, "The server is shutting down")
	}
}

// complete adds the current known checks to a round of deep checks.
func (s *Service) complete(ctx context.Context, r *Stored) (Round, error) {
	checks, err := s.merge(ctx, r.Checks)
	return Round{OK: AllOK(checks), Checks: checks, At: r.At}, err
}

// begin starts a round unless one is running.
func (s *Service) begin(dns bool) *round {
	s.rounds.mu.Lock()
	defer s.rounds.mu.Unlock()
	r := s.rounds.running
	if r == nil {
		r = &round{done: make(chan struct{})}
		s.rounds.running = r
		s.Workers.Go(func() { s.make(r, dns) })
	}
	return r
}

func (s *Service) make(r *round, dns bool) {
	bounded := *s
	bounded.stepTimeout = stepTime
	asked, err := "", error(nil)
	if dns { // otherwise it does not answer a command
		asked, err = s.asked(s.Claiming)
	} else if s.rounds.last != nil { // only this goroutine writes it
		asked = s.rounds.last.Asked
	}
	if err == nil {
		r.stored.Checks, r.err = bounded.deepChecks(s.Claiming, dns)
	}
	r.err = errors.Join(err, r.err)
	r.stored.At, r.stored.Asked = clock.Now(), asked
	if r.err == nil {
		if err := s.store(&r.stored); err != nil && s.Claiming.Err() == nil { // a full disk is a finding of the round
			s.LogUnlessUnavailable("the findings of a round of checks are not stored", err)
		}
	}
	s.rounds.mu.Lock()
	defer s.rounds.mu.Unlock()
	if s.rounds.running = nil; r.err == nil {
		s.rounds.last = &r.stored
	}
	close(r.done)
}

func (s *Service) store(r *Stored) error {
	out := *r
	out.Checks = slices.Clone(r.Checks)
	slices.SortStableFunc(out.Checks, func(a, b Check) int {
		switch {
		case a.OK == b.OK:
			return 0
		case b.OK:
			return -1
		}
		return 1
	})
	if len(out.Checks) > maxStored {
		out.Checks = out.Checks[:maxStored]
	} else {
		out.Checks = r.Checks
	}
	value, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode findings: %w", err)
	}
	return s.DB.Write(s.Claiming, func(tx *db.Tx) error { return tx.SetSetting(storedSetting, value) })
}

// lastStored returns the last round of the server; zero: none.
func (s *Service) lastStored(ctx context.Context) (out Stored, err error) {
	value, err := s.setting(ctx, storedSetting)
	if err != nil || value == nil {
		return out, err
	}
	if json.Unmarshal(value, &out) != nil { // stored by another version
		return Stored{}, nil
	}
	return out, nil
}

func (s *Service) asked(ctx context.Context) (string, error) {
	value, err := s.setting(ctx, askedSetting)
	return string(value), err
}

func (s *Service) setting(ctx context.Context, name string) ([]byte, error) {
	value, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(name) })
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	return value, err
}

// Tick makes a round if a command has requested one. It is called each second. changed reports
// whether anything was committed.
func (s *Service) Tick(changed bool) {
	if !changed {
		return
	}
	s.rounds.mu.Lock()
	last, busy := s.rounds.last, s.rounds.running != nil
	s.rounds.mu.Unlock()
	if busy { // checked again when the running round is stored
		return
	}
	asked, err := s.asked(s.Claiming)
	if err != nil || asked == "" || last != nil && last.Asked == asked {
		return
	}
	if last == nil {
		if stored, err := s.lastStored(s.Claiming); err != nil || stored.Asked == asked { // answered by an earlier server
			return
		}
	}
	s.begin(true)
}

// RoundTimeout is how long a command waits for the server's round.
const RoundTimeout = 90 * time.Second

// RequestRound requests a round from the running server, with its resolver and network, and waits for it.
// ok is false if the server does not answer in time or can't be asked.
func (s *Service) RequestRound(ctx context.Context) (checks []Check, ok bool, err error) {
	id := app.NewID()
	if err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.SetSetting(askedSetting, []byte(id)) }); err != nil {
		return nil, false, ctx.Err()
	}
	for end := clock.Now().Add(RoundTimeout); clock.Now().Before(end); {
		stored, err := s.lastStored(ctx)
		if err == nil && stored.Asked == id {
			checks, err = s.merge(ctx, stored.Checks)
			return checks, err == nil, err
		}
		if !base.Sleep(ctx, 100*time.Millisecond, nil) {
			return nil, false, ctx.Err()
		}
	}
	return nil, false, nil
}
