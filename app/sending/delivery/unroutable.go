package delivery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mailer/app"
	"mailer/db"
)

// Counts of waiting mail stop at these limits: a log line of each minute need not be exact, and
// a refusal to capture need not count millions.
const (
	maxLoggedCount  = 10_000
	maxCaptureCount = 1_000_000
)

// waitingMail is the mail that waits for a relay.
type waitingMail struct {
	relay      string
	emails     int64 // open units: emails, and begun recipients of broadcasts
	broadcasts int   // scheduled or queued
}

// String describes the waiting mail.
func (w waitingMail) String() string {
	return fmt.Sprintf("%d emails and %d broadcasts wait for the relay %s", w.emails, w.broadcasts, app.QueueName(w.relay))
}

// waitingUnroutable returns the mail that waits for relays other than those that are carried,
// counting up to limit emails for each.
func waitingUnroutable(r *db.Reader, carried func(relay string) bool, limit int) ([]waitingMail, error) {
	relays, err := r.UnitRelays()
	if err != nil {
		return nil, err
	}
	broadcasts, err := r.BroadcastRelays()
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	for _, name := range relays {
		all[name] = 0
	}
	for _, name := range broadcasts {
		all[name]++
	}
	var found []waitingMail
	for name, n := range all {
		if carried(name) {
			continue
		}
		w := waitingMail{relay: name, broadcasts: n}
		if w.emails, err = r.CountOpen(name, limit); err != nil {
			return nil, err
		}
		found = append(found, w)
	}
	slices.SortStableFunc(found, func(a, b waitingMail) int { return strings.Compare(a.relay, b.relay) })
	return found, nil
}

// ReportUnroutable logs the mail that waits for relays that this server does not have, records a
// trouble for its timelines, and closes such troubles when no mail waits. It moves no mail: after a
// mistyped relay name, mail must not go through another relay.
func (s *Service) ReportUnroutable(ctx context.Context) error {
	var found []waitingMail
	var open []string
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if found, err = waitingUnroutable(r, s.SendsRegion, maxLoggedCount); err != nil {
			return err
		}
		open, err = r.OpenTroubles()
		return err
	})
	if err != nil {
		return fmt.Errorf("find mail without a relay: %w", err)
	}
	if ended := slices.DeleteFunc(slices.Clone(found), func(w waitingMail) bool { return !s.RelayQueues.routeEnded(w.relay) }); len(ended) > 0 {
		if err := s.DB.WriteCritical(ctx, s.RelayQueues.endRoutes); err != nil {
			return fmt.Errorf("move the mail of routes that ended: %w", err)
		}
		found = slices.DeleteFunc(found, func(w waitingMail) bool { return slices.Contains(ended, w) })
	}
	over := slices.DeleteFunc(open, func(name string) bool {
		return s.SendsRegion(name) || s.RelayQueues.now().endpoint(name) != nil || slices.ContainsFunc(found, func(w waitingMail) bool { return w.relay == name })
	})
	for _, w := range found {
		s.Log.Error(s.Settings.MissingRelay(w.relay), "relay", app.QueueName(w.relay), "waiting", countText(w.emails, maxLoggedCount), "broadcasts", w.broadcasts, "help", s.unroutableHelp(w.relay))
	}
	if len(found)+len(over) == 0 {
		return nil
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		for _, w := range found {
			if err := s.MarkUnroutable(tx, w.relay); err != nil {
				return err
			}
		}
		for _, name := range over {
			if err := tx.CloseTroubles(name); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store that mail has no relay: %w", err)
	}
	return nil
}

// countText formats a count that stops at a limit.
func countText(n, limit int64) string {
	if n >= limit {
		return "at least " + strconv.FormatInt(limit, 10)
	}
	return strconv.FormatInt(n, 10)
}

// unroutableHelp says how an operator gets the mail of a missing relay sent.
func (s *Service) unroutableHelp(queue string) string {
	relay := app.QueueName(queue)
	if app.FixedRelay(queue) != "" {
		return fmt.Sprintf("it may have left through that relay: add it again with mailer relays add %[1]s --reserve --url-file FILE, or send it through another one with mailer queue release --doubts --relay %[1]s --to-relay RELAY", relay)
	}
	switch relay {
	case app.CaptureRegion:
		return "it was accepted while mail was captured and leaves through no real relay: cancel it, or start with --capture once more"
	case app.DefaultRegion:
		return "mailer relays add URL, or restart with --relay URL or MAILER_RELAY"
	}
	if only := app.QueueRelay(relay); only != "" {
		return fmt.Sprintf("mailer relays add %s --url-file FILE --reserve, or mailer queue move has it leave through another", only)
	}
	return fmt.Sprintf("mailer relays add %[1]s=URL, or restart with --relay %[1]s=URL or MAILER_RELAY; mailer queue move has it leave through another", relay)
}

// MarkUnroutable implements mail.Delivery.
func (s *Service) MarkUnroutable(tx *db.Tx, relay string) error {
	lack := s.Settings.MissingRelay(relay)
	if lack == "" { // a command, while the server has the relay
		return nil
	}
	troubles, err := tx.Troubles(relay, "", "", tx.Now, tx.Now)
	if err != nil {
		return err
	}
	for _, t := range troubles {
		if t.EndedAt.IsZero() && t.Detail.Message == lack {
			return nil
		}
	}
	if err := tx.CloseTroubles(relay); err != nil { // troubles of an earlier server
		return err
	}
	return tx.OpenTrouble(app.RelayTrouble{ID: app.NewID(), Relay: relay, StartedAt: tx.Now, StopsClock: true, Detail: app.EventDetail{Relay: app.QueueName(relay), Message: lack}})
}

// countInProgress counts the units that an earlier process left in work, by relay.
func countInProgress(r *db.Reader) (map[string]int64, error) {
	begun, err := r.BegunUnits()
	if err != nil {
		return nil, err
	}
	committed, err := r.CommittedUnits()
	if err != nil {
		return nil, err
	}
	n := map[string]int64{}
	for _, u := range append(begun, committed...) {
		if u.Relay != app.CaptureRegion {
			n[u.Relay]++
		}
	}
	return n, nil
}

// MayCapture refuses to capture while mail waits for a real relay: that mail would be counted as
// sent and never arrive.
func (s *Service) MayCapture(ctx context.Context) error {
	if !s.Settings.Capture {
		return nil
	}
	var lines []string
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		lines = nil
		found, err := waitingUnroutable(r, func(relay string) bool { return relay == app.CaptureRegion }, maxCaptureCount)
		if err != nil {
			return err
		}
		left, err := countInProgress(r)
		for _, w := range found {
			w.emails += left[w.relay]
			delete(left, w.relay)
			lines = append(lines, w.String())
		}
		for _, relay := range slices.Sorted(maps.Keys(left)) {
			lines = append(lines, waitingMail{relay: relay, emails: left[relay]}.String())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read waiting mail: %w", err)
	}
	if len(lines) == 0 {
		return nil
	}
	return fmt.Errorf("%s, and capturing would keep them from ever leaving: start with --relay, or without --capture and --dev, or capture on another --db", strings.Join(lines, ", "))
}
