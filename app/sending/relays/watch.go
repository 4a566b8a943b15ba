package relays

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"mailer/app/kit/clock"
	"mailer/app/sending/delivery"
	"mailer/db"
)

// Load sets the relay queues to the relays of the flags and of the database, before they start. A
// server that captures ignores those of the database.
func (s *Service) Load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		states, err := tx.RelayStates()
		for _, st := range states { // stored by an earlier server
			if err := tx.DeleteRelayState(st.Region); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("delete old relay states: %w", err)
	}
	if err := s.sync(ctx); err != nil {
		return err
	}
	return s.publishStates() // from now on commands know the relays
}

// LoadFollower is Load for a server that is not the leader and does not store relay states.
func (s *Service) LoadFollower(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sync(ctx)
}

// TickFollower is Tick for a server that is not the leader.
func (s *Service) TickFollower(changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed || s.pauseEnded() {
		if err := s.sync(s.Claiming); err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("follow the relays of the database", err)
		}
	}
}

// Tick is called each second. It updates the relay queues if the database changed, and stores their
// states.
func (s *Service) Tick(changed bool) {
	s.TickFollower(changed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.decide(); err != nil && s.Claiming.Err() == nil {
		s.LogUnlessUnavailable("decide which relays carry mail", err)
	}
	if err := s.publishStates(); err != nil && s.Claiming.Err() == nil {
		s.LogUnlessUnavailable("store the states of relays", err)
	}
}

// pauseEnded reports whether the time of a pause is over.
func (s *Service) pauseEnded() bool {
	for _, p := range s.pauses {
		if !p.Active(clock.Now()) {
			return true
		}
	}
	return false
}

// sync reads relays and pauses and applies them. s.mu is held.
func (s *Service) sync(ctx context.Context) error {
	var rows []db.Relay
	var regions []db.RegionRow
	var paused []db.RelayPause
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if rows, err = r.Relays(); err != nil {
			return err
		}
		if regions, err = r.RegionRows(); err != nil {
			return err
		}
		paused, err = r.RelayPauses()
		return err
	})
	if err != nil {
		return fmt.Errorf("read relays: %w", err)
	}
	same := slices.EqualFunc(rows, s.lastRows, func(a, b db.Relay) bool { return a.Region == b.Region && slices.Equal(a.Sealed, b.Sealed) }) &&
		slices.EqualFunc(regions, s.lastRegions, func(a, b db.RegionRow) bool {
			return a.Name == b.Name && slices.Equal(a.Settings, b.Settings) && slices.Equal(a.State, b.State)
		})
	if !same {
		if err := s.applyRelays(ctx, rows, regions); err != nil {
			return err
		}
		s.lastRows, s.lastRegions = rows, regions
	}
	return s.applyPauses(ctx, paused)
}

// applyRelays sets the relay queues to the relays of the flags, then of the database.
func (s *Service) applyRelays(ctx context.Context, rows []db.Relay, stored []db.RegionRow) error {
	if s.Settings.Capture {
		s.Log.Warn("relays of the database are not used, since this server captures", "relays", len(rows))
		return nil
	}
	list := slices.Clone(s.Flags)
	for _, row := range rows {
		if s.isFlag(row.Region) {
			s.Log.Warn("a relay of the database is not used, since a flag has its name", "relay", row.Region)
			continue
		}
		relay, err := s.unseal(row)
		if err != nil {
			s.Log.Error("a relay of the database can't be used", "relay", row.Region, "err", err, "help", "mailer relays add "+row.Region+" --url-file F")
			continue
		}
		list = append(list, relay)
	}
	regions, err := groupRegions(list, stored)
	if err != nil {
		return err
	}
	s.regions = regions
	out := make([]delivery.Region, len(regions))
	for i := range regions {
		out[i] = regions[i].delivery()
	}
	return s.delivery.RelayQueues.SetRelays(ctx, list, out)
}

// applyPauses pauses relays and deletes pauses whose time is over.
func (s *Service) applyPauses(ctx context.Context, paused []db.RelayPause) error {
	next, over := map[string]delivery.Pause{}, false
	for _, row := range paused {
		p := delivery.Pause{Since: row.PausedAt, Until: row.Until}
		if !p.Active(clock.Now()) {
			over = true
			continue
		}
		next[row.Region] = p
	}
	s.pauses = next
	s.delivery.RelayQueues.SetPauses(next)
	if !over {
		return nil
	}
	if err := s.DB.WriteCritical(ctx, (*db.Tx).EndPauses); err != nil {
		return fmt.Errorf("end pauses: %w", err)
	}
	return nil
}

// publishedState is what publishStates stores of a relay.
type publishedState struct {
	delivery.State
	test LastTest
}

// publishStates stores the relay states that changed. s.mu is held.
func (s *Service) publishStates() error {
	if s.Settings.Capture {
		return nil
	}
	published := map[string]publishedState{}
	var changed []db.RelayState
	for _, st := range s.delivery.RelayQueues.States() {
		state := publishedState{st, s.lastTest(st.Relay.FullName(), hostOf(st.Relay))}
		if published[st.Relay.FullName()] = state; s.published[st.Relay.FullName()] == state {
			continue
		}
		row, err := s.stateOf(st)
		if err != nil {
			return err
		}
		changed = append(changed, row)
	}
	removed := slices.DeleteFunc(slices.Collect(maps.Keys(s.published)), func(region string) bool { _, ok := published[region]; return ok })
	if len(changed)+len(removed) == 0 {
		return nil
	}
	err := s.DB.WriteCritical(s.Claiming, func(tx *db.Tx) error {
		for _, region := range removed {
			if err := tx.DeleteRelayState(region); err != nil {
				return err
			}
		}
		for _, row := range changed {
			if err := tx.SetRelayState(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store relay states: %w", err)
	}
	s.published = published
	return nil
}

// ReloadFiles makes relays read the CA files in their URLs again.
func (s *Service) ReloadFiles(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivery.RelayQueues.Reconnect(ctx)
}
