package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/rules/verdict"
	"mailer/db"
)

// queueStatus is the state of relays and teams at one time, from which follows why due mail is not
// sent.
type queueStatus struct {
	now       time.Time
	missing   func(queue string) string
	relayOf   func(queue string) string // through which its mail leaves
	noRelay   bool                      // no relay is configured
	paused    []db.RelayPause
	suspended map[string]db.Suspension
	troubles  map[string][]app.RelayTrouble // by relay
	blocks    map[routeKey]blockReason
}

// routeKey is a queue of units and a sender.
type routeKey struct{ queue, team, domain string }

// blockReason is why mail of a routeKey is not sent. Without a state it is sent.
type blockReason struct {
	state   State
	reason  string
	blocker verdict.Blocker
}

// newStatus returns the queue status without what the database knows.
func (s *Service) newStatus(now time.Time) *queueStatus {
	return &queueStatus{now: now, missing: s.Settings.MissingRelay, relayOf: s.Settings.RelayOf, noRelay: s.Settings.Relays().NoRelay, suspended: map[string]db.Suspension{},
		troubles: map[string][]app.RelayTrouble{}, blocks: map[routeKey]blockReason{}}
}

// readStatus reads the status of all relays and teams.
func (s *Service) readStatus(r *db.Reader, now time.Time) (*queueStatus, error) {
	st := s.newStatus(now)
	open, err := r.OpenTroubleRows()
	if err != nil {
		return nil, fmt.Errorf("read troubles: %w", err)
	}
	for _, t := range open {
		st.troubles[t.Relay] = append(st.troubles[t.Relay], t)
	}
	teams, err := r.SuspendedTeams()
	if err != nil {
		return nil, fmt.Errorf("read suspended teams: %w", err)
	}
	for _, team := range teams {
		if err := st.readSuspension(r, team); err != nil {
			return nil, err
		}
	}
	return st, st.readPauses(r)
}

// readSenderStatus reads the status for one sender at one relay.
func (s *Service) readSenderStatus(r *db.Reader, now time.Time, k routeKey) (*queueStatus, error) {
	st := s.newStatus(now)
	var err error
	for _, name := range []string{st.relayOf(k.queue), app.QueueRegion(k.queue)} {
		if st.troubles[name], err = r.OpenTroublesOf(name, k.team, k.domain); err != nil {
			return nil, fmt.Errorf("read troubles: %w", err)
		}
	}
	if err := st.readSuspension(r, k.team); err != nil {
		return nil, err
	}
	return st, st.readPauses(r)
}

func (st *queueStatus) readSuspension(r *db.Reader, team string) error {
	why, err := r.Suspension(team)
	if err != nil {
		return fmt.Errorf("read why team %s is suspended: %w", team, err)
	}
	if !why.Since.IsZero() {
		st.suspended[team] = why
	}
	return nil
}

func (st *queueStatus) readPauses(r *db.Reader) (err error) {
	if st.paused, err = r.RelayPauses(); err != nil {
		return fmt.Errorf("read paused relays: %w", err)
	}
	st.paused = slices.DeleteFunc(st.paused, func(p db.RelayPause) bool { return !p.Until.IsZero() && !p.Until.After(st.now) })
	return nil
}

// Reasons of mail that waits normally, and of paused relays and suspended teams.
const (
	reasonLeaving   = "leaving"
	reasonDue       = "due"
	reasonScheduled = "scheduled"
	reasonRetry     = "retry"
	reasonPaced     = "paced"
	reasonQuota     = "the day's quota of the team is used"
	reasonPaused    = "the relay is paused"
	reasonSuspended = "the team is suspended"
)

// unit returns what a unit waits for, and the reason as text.
func (st *queueStatus) unit(u *db.QueuedUnit) (State, string) {
	switch {
	case u.State == "held":
		return Held, string(u.Held)
	case u.State == "begun" || u.State == "committed":
		return Due, reasonLeaving
	case u.State == "due" || !u.NextAt.After(st.now):
	case u.QuotaDelayed && u.QuotaOwed > 0:
		return Quota, reasonQuota
	case u.Attempts > 0 || u.Crashes > 0 || !u.Since.IsZero():
		return Retry, reasonRetry
	default:
		return Scheduled, reasonScheduled
	}
	if g := st.block(routeKey{u.Relay, u.TeamID, u.Domain}); g.state != "" {
		return g.state, g.reason
	}
	return Due, reasonDue
}

// broadcast returns what the recipients of a broadcast that have not begun wait for.
func (st *queueStatus) broadcast(b *app.Broadcast) (State, string) {
	switch {
	case b.Held != "":
		return Held, string(b.Held)
	case !b.PausedAt.IsZero():
		return Held, string(app.HoldPaused)
	case b.Status == app.ScheduledBroadcast && b.ScheduledAt.After(st.now):
		return Scheduled, reasonScheduled
	}
	if g := st.block(routeKey{b.Relay, b.TeamID, b.From.Domain}); g.state != "" {
		return Paced, g.reason
	}
	return Paced, reasonPaced
}

// block returns why mail of a sender is not sent through a relay.
func (st *queueStatus) block(k routeKey) blockReason {
	g, known := st.blocks[k]
	if !known {
		g = st.findBlock(k)
		st.blocks[k] = g
	}
	return g
}

func (st *queueStatus) findBlock(k routeKey) blockReason {
	if why, suspended := st.suspended[k.team]; suspended {
		reason := reasonSuspended
		if why.Reason != "" {
			reason += ": " + why.Reason
		}
		return blockReason{Relay, reason, verdict.Blocker{Kind: verdict.Suspended, Reason: why.Reason, Since: why.Since}}
	}
	if missing := st.missing(k.queue); missing != "" {
		blocker := verdict.Blocker{Kind: verdict.NoRegion}
		if st.noRelay && k.queue != app.CaptureRegion {
			blocker.Kind = verdict.NoRelay
		}
		return blockReason{Relay, missing, blocker}
	}
	relay := st.relayOf(k.queue)
	for _, p := range st.paused {
		if p.Region == relay {
			return blockReason{Relay, reasonPaused, verdict.Blocker{Kind: verdict.Paused, Since: p.PausedAt, Until: p.Until}}
		}
	}
	for _, t := range st.troubles[app.QueueRegion(k.queue)] { // what the domain lacks for a reserve matters while the primary fails
		if t.Failures == 0 && t.TeamID == k.team && t.Domain != "" && t.Domain == k.domain {
			return blockReason{Relay, t.Detail.Message, verdict.Blocker{Kind: verdict.Unaligned, Trouble: t}}
		}
	}
	for _, t := range st.troubles[relay] {
		text := strings.TrimSuffix(t.Detail.Message, "; no attempt is counted")
		switch {
		case t.TeamID != "" && t.TeamID != k.team, t.Domain != "" && t.Domain != k.domain:
		case strings.Contains(text, dailyLimit):
			return blockReason{Quota, text, verdict.Blocker{Kind: verdict.LimitReached, Trouble: t}}
		case t.Failures > 0: // 0: the trouble of a missing relay
			return blockReason{Relay, text, verdict.Blocker{Kind: verdict.BreakerOpen, Trouble: t}}
		}
	}
	return blockReason{}
}

// dailyLimit is part of the trouble text when a relay's daily limit, or a team's share of it, is
// used up.
const dailyLimit = "messages in 24 hours"
