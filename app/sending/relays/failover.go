package relays

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"mailer/app/kit/clock"
	"mailer/app/rules/failover"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/delivery"
	"mailer/db"
)

// probing is the test of a relay that a region may switch to.
type probing struct {
	running bool
	failover.Probe
}

// decide lets each region with reserves switch if it has to. It stores changes, which all servers
// follow. s.mu is held.
func (s *Service) decide() error {
	if s.Settings.Capture || s.Probe == nil {
		return nil
	}
	var known map[string]delivery.State
	for i := range s.regions {
		r := &s.regions[i]
		if len(r.relays) < 2 && r.state.Active == "" {
			continue
		}
		if known == nil {
			known = map[string]delivery.State{}
			for _, st := range s.delivery.RelayQueues.States() {
				known[st.Relay.FullName()] = st
			}
		}
		if err := s.decideRegion(r, known); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) decideRegion(r *region, known map[string]delivery.State) error {
	relays := make([]failover.Relay, len(r.relays))
	for i, name := range r.relays {
		st := known[name]
		relays[i] = failover.Relay{Name: name, Paused: st.State == delivery.RelayPaused, UnusableSince: st.UnusableSince, Why: st.UnusableWhy, FullUntil: st.FullUntil, Probe: s.probeOf(name)}
	}
	policy := r.policy()
	d := failover.Next(policy.rules(), relays, r.routed(), r.state, clock.Now())
	for _, name := range d.Probe {
		s.probe(known[name])
	}
	next := *r
	next.state = d.State
	return s.storeDecision(r, &next, d.Switched)
}

// storeDecision stores a decision if it changed.
func (s *Service) storeDecision(was, next *region, switched bool) error {
	before, err := was.row()
	if err != nil {
		return err
	}
	after, err := next.row()
	if err != nil || bytes.Equal(before.State, after.State) {
		return err
	}
	err = s.DB.WriteCritical(s.Claiming, func(tx *db.Tx) error {
		stored, err := tx.RegionRow(next.name)
		switch {
		case errors.Is(err, db.ErrNotFound):
		case err != nil:
			return err
		case !bytes.Equal(stored.State, before.State): // an operator chose meanwhile; the next tick sees it
			return nil
		default:
			after.Settings = stored.Settings
		}
		if err := tx.SetRegion(after); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			if switched {
				s.logSwitch(was, next)
			}
			s.logDiverted(was, next)
			was.state = next.state
		})
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the decision for region %s: %w", next.name, err)
	}
	return nil
}

// logSwitch logs that a region switched.
func (s *Service) logSwitch(was, next *region) {
	s.Log.Warn("a region switched to another relay", "region", next.name, "relay", next.active(), "before", was.active(), "reason", next.state.Reason)
}

// logDiverted logs that the active relay takes over the mail of a route, or gives it back.
func (s *Service) logDiverted(was, next *region) {
	for _, name := range next.relays {
		_, before := was.state.Down[name]
		_, now := next.state.Down[name]
		switch {
		case now && !before:
			s.Log.Warn("the relay of a route can't be used: its mail leaves through the active relay", "region", next.name, "relay", name, "active", next.active())
		case before && !now:
			s.Log.Info("the mail of a route leaves through its relay again", "region", next.name, "relay", name)
		}
	}
}

// probeOf returns the result of the latest probes of a relay.
func (s *Service) probeOf(name string) failover.Probe {
	s.testing.Lock()
	defer s.testing.Unlock()
	if p := s.probes[name]; p != nil {
		return p.Probe
	}
	return failover.Probe{}
}

// probe tests a relay in the background, unless a test runs: it sends no message. A relay that
// passes is not unusable any more.
func (s *Service) probe(st delivery.State) {
	name := st.Relay.FullName()
	s.testing.Lock()
	defer s.testing.Unlock()
	p := s.probes[name]
	if p == nil {
		p = &probing{}
		s.probes[name] = p
	}
	if p.running {
		return
	}
	p.running = true
	s.Workers.Go(func() {
		ok := s.passes(st)
		now := clock.Now()
		s.testing.Lock()
		defer s.testing.Unlock()
		p.running = false
		switch {
		case !ok:
			p.Probe = failover.Probe{At: now}
		case !p.OK:
			p.Probe = failover.Probe{At: now, OK: true, OKSince: now}
		default:
			p.At = now
		}
	})
}

// passes reports whether a relay passes a probe: a session up to RSET, with a verified domain as the
// sender if there is one.
func (s *Service) passes(st delivery.State) bool {
	m, err := s.testMessage(s.Claiming, TestInput{Region: st.Relay.FullName()})
	if err != nil {
		s.LogUnlessUnavailable("test a relay that a region may switch to", err, "relay", st.Relay.FullName())
		return false
	}
	steps := s.Probe(s.Claiming, st.Relay, m, false)
	return len(steps) > 0 && !slices.ContainsFunc(steps, func(step relayurl.Step) bool { return !step.OK })
}
