package relays

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/failover"
	"mailer/app/rules/relayurl"
	"mailer/app/rules/webhook"
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
		if err := s.recordSwitch(tx, was, next); err != nil {
			return err
		}
		earlier := *was
		tx.AfterCommit(func() {
			s.logDecision(&earlier, next, switched)
			s.logDiverted(&earlier, next)
			was.state = next.state
		})
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the decision for region %s: %w", next.name, err)
	}
	return nil
}

// logDecision logs that a region switched, could switch, or stays where it is.
func (s *Service) logDecision(was, next *region, switched bool) {
	if switched {
		s.Log.Warn("a region switched to another relay", "region", next.name, "relay", next.active(), "before", was.active(), "reason", next.state.Reason)
	}
	if next.state.HeldUntil.After(was.state.HeldUntil) {
		s.Log.Warn("a region switched often and stays with its relay", "region", next.name, "relay", next.active(), "until", app.FormatTime(next.state.HeldUntil))
	}
	if to := next.state.Available; to != "" && was.state.Available == "" {
		s.Log.Warn("the mail of a region waits, and a reserve could send it", "region", next.name, "relay", to, "help", "mailer relays switch "+next.name+" "+app.ShortRelay(to))
	}
}

// recordSwitch stores for timelines that mail of a region leaves through another relay, and announces
// a switch to the operator's webhooks.
func (s *Service) recordSwitch(tx *db.Tx, was, next *region) error {
	if len(was.relays) < 2 && len(next.relays) < 2 {
		return nil
	}
	reason := next.state.Reason
	if next.active() == was.active() {
		if next.state.Emails == was.state.Emails || next.state.Emails == "" {
			return nil
		}
		reason = "the daily limit of " + app.ShortRelay(next.active()) + " is used up"
	}
	to := cmp.Or(next.state.Emails, next.active())
	short, _, _ := strings.Cut(reason, ": ") // replies in full are for operators
	text := fmt.Sprintf("Mail of %s leaves through %s now, because %s", next.name, app.ShortRelay(to), short)
	d := app.EventDetail{Relay: to, Message: text}
	if to != next.relays[0] {
		d.Because = short
	}
	if err := tx.InsertSwitch(next.name, d); err != nil || next.active() == was.active() {
		return err
	}
	tx.AfterCommit(func() { s.Metrics.Switch(next.name, 1) })
	if s.Announce == nil {
		return nil
	}
	return s.Announce(tx, webhook.RelaySwitch{Region: next.name, From: was.active(), To: next.active(), Reason: next.state.Reason, At: app.FormatTime(tx.Now)})
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
