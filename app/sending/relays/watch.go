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

// Load has the lanes be those of the flags and of the database, before they are set to
// work. A server that captures uses none of the database.
func (s *Service) Load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		states, err := tx.RelayStates()
		for _, st := range states { // of an earlier server
			if err := tx.DeleteRelayState(st.Region); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("forget how relays were: %w", err)
	}
	if err := s.follow(ctx); err != nil {
		return err
	}
	return s.tell() // commands may name them from now on
}

// LoadFollower is Load for a server beside one that leads, and that tells how relays are.
func (s *Service) LoadFollower(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.follow(ctx)
}

// TickFollower is Tick for one.
func (s *Service) TickFollower(changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed || s.ended() {
		if err := s.follow(s.Claiming); err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("follow the relays of the database", err)
		}
	}
}

// Tick is called each second: it has the lanes follow the database where that changed,
// and tells there how they are.
func (s *Service) Tick(changed bool) {
	s.TickFollower(changed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.tell(); err != nil && s.Claiming.Err() == nil {
		s.LogUnlessUnavailable("tell how relays are", err)
	}
}

// ended reports whether the time of a pause is over.
func (s *Service) ended() bool {
	for _, p := range s.pauses {
		if !p.Active(clock.Now()) {
			return true
		}
	}
	return false
}

// follow reads relays and pauses and has the lanes obey. s.mu is held.
func (s *Service) follow(ctx context.Context) error {
	var rows []db.Relay
	var paused []db.RelayPause
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if rows, err = r.Relays(); err != nil {
			return err
		}
		paused, err = r.RelayPauses()
		return err
	})
	if err != nil {
		return fmt.Errorf("read relays: %w", err)
	}
	if !slices.EqualFunc(rows, s.seen, func(a, b db.Relay) bool { return a.Region == b.Region && slices.Equal(a.Sealed, b.Sealed) }) {
		if err := s.use(ctx, rows); err != nil {
			return err
		}
		s.seen = rows
	}
	return s.obey(ctx, paused)
}

// use has the lanes be those of the flags, then of the database.
func (s *Service) use(ctx context.Context, rows []db.Relay) error {
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
	return s.delivery.Outlets.SetRelays(ctx, list)
}

// obey has the relays rest that are paused, and forgets pauses whose time is over.
func (s *Service) obey(ctx context.Context, paused []db.RelayPause) error {
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
	s.delivery.Outlets.SetPauses(next)
	if !over {
		return nil
	}
	if err := s.DB.WriteCritical(ctx, (*db.Tx).EndPauses); err != nil {
		return fmt.Errorf("end pauses: %w", err)
	}
	return nil
}

// tell writes how relays are, where that changed. s.mu is held.
func (s *Service) tell() error {
	if s.Settings.Capture {
		return nil
	}
	said := map[string]string{}
	var news []db.RelayState
	for _, st := range s.delivery.Outlets.States() {
		words := fmt.Sprint(st, s.lastTest(st.Relay.Region, hostOf(st.Relay)))
		if said[st.Relay.Region] = words; s.said[st.Relay.Region] == words {
			continue
		}
		row, err := s.stateOf(st)
		if err != nil {
			return err
		}
		news = append(news, row)
	}
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(s.said)), func(region string) bool { return said[region] != "" })
	if len(news)+len(gone) == 0 {
		return nil
	}
	err := s.DB.WriteCritical(s.Claiming, func(tx *db.Tx) error {
		for _, region := range gone {
			if err := tx.DeleteRelayState(region); err != nil {
				return err
			}
		}
		for _, row := range news {
			if err := tx.SetRelayState(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write how relays are: %w", err)
	}
	s.said = said
	return nil
}

// ReloadFiles has relays read the files that their URLs name again.
func (s *Service) ReloadFiles(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivery.Outlets.Reconnect(ctx)
}
