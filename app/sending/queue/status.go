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

// standing is how relays and teams stand at a time: why mail that is due does not leave.
type standing struct {
	now       time.Time
	lack      func(relay string) string
	bare      bool // there is no relay at all
	paused    []db.RelayPause
	suspended map[string]db.Suspension
	troubles  map[string][]app.RelayTrouble // by relay
	gates     map[routeKey]gate
}

// routeKey is whose mail it is, and where it is to leave.
type routeKey struct{ relay, team, domain string }

// gate says why nothing of somebody leaves; without a state it does.
type gate struct {
	state  State
	reason string
	door   verdict.Blocker
}

// standing is how things stand at a time, as far as the settings tell.
func (s *Service) standing(now time.Time) *standing {
	return &standing{now: now, lack: s.Settings.MissingRelay, bare: s.Settings.Relays().NoRelay, suspended: map[string]db.Suspension{},
		troubles: map[string][]app.RelayTrouble{}, gates: map[routeKey]gate{}}
}

// look reads how relays and teams stand.
func (s *Service) look(r *db.Reader, now time.Time) (*standing, error) {
	st := s.standing(now)
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

// readSenderStatus reads how things stand for one sender at one relay.
func (s *Service) readSenderStatus(r *db.Reader, now time.Time, k routeKey) (*standing, error) {
	st := s.standing(now)
	var err error
	if st.troubles[k.relay], err = r.OpenTroublesOf(k.relay, k.team, k.domain); err != nil {
		return nil, fmt.Errorf("read troubles: %w", err)
	}
	if err := st.readSuspension(r, k.team); err != nil {
		return nil, err
	}
	return st, st.readPauses(r)
}

func (st *standing) readSuspension(r *db.Reader, team string) error {
	why, err := r.Suspension(team)
	if err != nil {
		return fmt.Errorf("read why team %s is suspended: %w", team, err)
	}
	if !why.Since.IsZero() {
		st.suspended[team] = why
	}
	return nil
}

func (st *standing) readPauses(r *db.Reader) (err error) {
	if st.paused, err = r.RelayPauses(); err != nil {
		return fmt.Errorf("read paused relays: %w", err)
	}
	st.paused = slices.DeleteFunc(st.paused, func(p db.RelayPause) bool { return !p.Until.IsZero() && !p.Until.After(st.now) })
	return nil
}

// Reasons of mail that nothing is wrong with.
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

// unit says what a unit waits for, and why in words.
func (st *standing) unit(u *db.QueuedUnit) (State, string) {
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
	if g := st.gate(routeKey{u.Relay, u.TeamID, u.Domain}); g.state != "" {
		return g.state, g.reason
	}
	return Due, reasonDue
}

// broadcast says what the recipients of a broadcast wait for that have not begun.
func (st *standing) broadcast(b *app.Broadcast) (State, string) {
	switch {
	case b.Held != "":
		return Held, string(b.Held)
	case !b.PausedAt.IsZero():
		return Held, string(app.HoldPaused)
	case b.Status == app.ScheduledBroadcast && b.ScheduledAt.After(st.now):
		return Scheduled, reasonScheduled
	}
	if g := st.gate(routeKey{b.Relay, b.TeamID, b.From.Domain}); g.state != "" {
		return Paced, g.reason
	}
	return Paced, reasonPaced
}

// gate says why nothing of somebody leaves now.
func (st *standing) gate(k routeKey) gate {
	g, known := st.gates[k]
	if !known {
		g = st.findBlock(k)
		st.gates[k] = g
	}
	return g
}

func (st *standing) findBlock(k routeKey) gate {
	if why, suspended := st.suspended[k.team]; suspended {
		reason := reasonSuspended
		if why.Reason != "" {
			reason += ": " + why.Reason
		}
		return gate{Relay, reason, verdict.Blocker{Kind: verdict.Suspended, Reason: why.Reason, Since: why.Since}}
	}
	if lack := st.lack(k.relay); lack != "" {
		door := verdict.Blocker{Kind: verdict.NoRegion}
		if st.bare && k.relay != app.CaptureRegion {
			door.Kind = verdict.NoRelay
		}
		return gate{Relay, lack, door}
	}
	for _, p := range st.paused {
		if p.Region == k.relay {
			return gate{Relay, reasonPaused, verdict.Blocker{Kind: verdict.Paused, Since: p.PausedAt, Until: p.Until}}
		}
	}
	for _, t := range st.troubles[k.relay] {
		words := strings.TrimSuffix(t.Detail.Message, "; no attempt is counted")
		switch {
		case t.TeamID != "" && t.TeamID != k.team, t.Domain != "" && t.Domain != k.domain:
		case strings.Contains(words, dailyLimit):
			return gate{Quota, words, verdict.Blocker{Kind: verdict.LimitReached, Trouble: t}}
		case t.Failures > 0: // else there was no relay
			return gate{Relay, words, verdict.Blocker{Kind: verdict.BreakerOpen, Trouble: t}}
		}
	}
	return gate{}
}

// dailyLimit stands in the words of a relay's limit that is used up, and of a team's
// share of it.
const dailyLimit = "messages in 24 hours"
