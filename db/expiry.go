package db

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app"
)

// spansOf reads units.stood. A part that is none is left out: a unit must never be
// unreadable for the sake of its clock.
func spansOf(clockStops string) (out []app.Span) {
	if clockStops == "" {
		return nil
	}
	for part := range strings.SplitSeq(clockStops, ",") {
		from, to, _ := strings.Cut(part, "-")
		a, errA := strconv.ParseInt(from, 10, 64)
		b, errB := strconv.ParseInt(to, 10, 64)
		if errA == nil && errB == nil {
			out = append(out, app.Span{From: time.UnixMilli(a), To: time.UnixMilli(b)})
		}
	}
	return out
}

// Pause is a time when the clocks of mail at a relay stood: of a suspended team's, or of
// everybody's, since there was no relay.
type Pause struct {
	TeamID string // empty: everybody's
	app.Span
}

// Pauses are those of a relay, with the times when teams were suspended.
type Pauses []Pause

// Of returns those that touch a team's mail.
func (s Pauses) Of(teamID string) (out []app.Span) {
	for _, one := range s {
		if one.TeamID == "" || one.TeamID == teamID {
			out = append(out, one.Span)
		}
	}
	return out
}

// Pauses returns when the clocks of mail at a relay stood.
func (r *Reader) PausesOf(relay string) (Pauses, error) {
	return list(r, func(s scanner) (one Pause, err error) {
		var team sql.NullString
		var started int64
		var ended sql.NullInt64
		err = s.Scan(&team, &started, &ended)
		one.TeamID, one.From, one.To = team.String, fromMilli(started), fromMilli(ended.Int64)
		return one, err
	}, `SELECT team_id, started_at, ended_at FROM relay_troubles WHERE relay IN (?, '') AND stops_clock = 1`, relay)
}

// ClockStopsOf is when the clocks of everybody's mail at a relay stood, in the form of
// units.stood; empty: never. Mail that moves to another relay takes it along.
func (tx *Tx) ClockStopsOf(relay string) (string, error) {
	pauses, err := tx.PausesOf(relay)
	var out []string
	for _, s := range pauses.Of("") {
		if s.To.IsZero() {
			s.To = tx.Now
		}
		out = append(out, strconv.FormatInt(s.From.UnixMilli(), 10)+"-"+strconv.FormatInt(s.To.UnixMilli(), 10))
	}
	slices.Sort(out)
	return strings.Join(out, ","), err
}

// BegunBefore returns units of a team, of emails and of broadcasts, that are due again at
// a relay and whose clock began at a time or before, at most limit, the oldest first.
// Those with an expiry of their own are left out.
func (r *Reader) BegunBefore(relay, teamID string, began time.Time, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND team_id = ? AND state = 'due' AND since IS NOT NULL AND since <= ? AND expires_in IS NULL ORDER BY since, email_id LIMIT ?`,
		relay, teamID, milli(began), limit)
}

// DueBefore is BegunBefore for units of a domain of which nothing was begun.
func (r *Reader) DueBefore(relay string, bulk bool, teamID, domain string, began time.Time, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND bulk = ? AND state = 'due' AND team_id = ? AND domain = ? AND next_at <= ? AND since IS NULL AND expires_in IS NULL ORDER BY next_at, email_id LIMIT ?`,
		relay, bulk, teamID, domain, milli(began), limit)
}

// ExpiredBy returns units of a team that are due at a relay and whose own expiry had
// come at a time, had their clock never stood: at most limit, the first to expire first.
func (r *Reader) ExpiredBy(relay, teamID string, at time.Time, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND team_id = ? AND state = 'due' AND expires_in IS NOT NULL AND coalesce(since, next_at) + expires_in <= ?
		ORDER BY coalesce(since, next_at) + expires_in LIMIT ?`, relay, teamID, milli(at), limit)
}

// IsDue reports whether a unit is as it was read, and due.
func (r *Reader) IsDue(u app.Unit) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM units WHERE email_id = ? AND state = 'due' AND attempts = ? AND next_at = ?`, []any{u.EmailID, u.Attempts, milli(u.NextAt)}, &n)
	return n > 0, err
}
