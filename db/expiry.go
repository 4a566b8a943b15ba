package db

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"

	"mailer/app"
)

// spansOf parses units.stood. It ignores malformed parts, so that a unit always stays
// readable.
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

// Pause is a time when the expiry clocks of mail at a relay stopped: for a suspended team,
// or for all teams while there was no relay.
type Pause struct {
	TeamID string // empty: all teams
	app.Span
}

// Pauses are the pauses of a relay, including suspensions of teams.
type Pauses []Pause

// Of returns the pauses that affect a team's mail.
func (s Pauses) Of(teamID string) (out []app.Span) {
	for _, one := range s {
		if one.TeamID == "" || one.TeamID == teamID {
			out = append(out, one.Span)
		}
	}
	return out
}

// PausesOf returns the pauses of a relay.
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

// ClockStopsOf returns the pauses of a relay for all teams in the format of units.stood;
// empty without pauses. A unit that moves to another relay takes them along.
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

// BegunBefore returns at most limit units of a team that are due again at a relay and
// whose expiry clock began at began or before, oldest first. Units with their own expiry
// are excluded.
func (r *Reader) BegunBefore(relay, teamID string, began time.Time, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND team_id = ? AND state = 'due' AND since IS NOT NULL AND since <= ? AND expires_in IS NULL ORDER BY since, email_id LIMIT ?`,
		relay, teamID, milli(began), limit)
}

// DueBefore is BegunBefore for units of a domain without any attempt.
func (r *Reader) DueBefore(relay string, bulk bool, teamID, domain string, began time.Time, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND bulk = ? AND state = 'due' AND team_id = ? AND domain = ? AND next_at <= ? AND since IS NULL AND expires_in IS NULL ORDER BY next_at, email_id LIMIT ?`,
		relay, bulk, teamID, domain, milli(began), limit)
}

// ExpiredBy returns at most limit units of a team that are due at a relay and whose own
// expiry is at or before at, ignoring pauses: first to expire first.
func (r *Reader) ExpiredBy(relay, teamID string, at time.Time, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND team_id = ? AND state = 'due' AND expires_in IS NOT NULL AND coalesce(since, next_at) + expires_in <= ?
		ORDER BY coalesce(since, next_at) + expires_in LIMIT ?`, relay, teamID, milli(at), limit)
}

// IsDue reports whether a unit is due and unchanged since it was read.
func (r *Reader) IsDue(u app.Unit) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM units WHERE email_id = ? AND state = 'due' AND attempts = ? AND next_at = ?`, []any{u.EmailID, u.Attempts, milli(u.NextAt)}, &n)
	return n > 0, err
}
