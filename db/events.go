package db

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/db/engine"
)

// InsertEvent adds a line to a timeline, and counts what it says. Error: ErrNotFound for an email that is
// gone.
func (tx *Tx) InsertEvent(ev app.Event) error {
	detail, err := json.Marshal(ev.Detail)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if err := tx.countEvent(&ev); err != nil {
		return err
	}
	tx.publishEvent(ev.TeamID, ev.EmailID, ev.BroadcastID, string(ev.Type))
	if ev.BroadcastID != "" { // who adds it has just found its recipient, which is one address
		if ev.Type == app.EventType(app.Opened) || ev.Type == app.EventType(app.Clicked) {
			tx.noteEvent(activity{teamID: ev.TeamID, emailID: ev.EmailID}, ev.Type, ev.CreatedAt)
		}
		err = tx.Write(`INSERT INTO events (email_id, id, type, detail, created_at) VALUES (?, ?, ?, ?, ?)`,
			ev.EmailID, ev.ID, string(ev.Type), string(detail), milli(ev.CreatedAt))
		return err
	}
	return tx.WriteOne(`INSERT INTO events (email_id, id, type, recipient, detail, created_at) SELECT id, ?, ?, ?, ?, ? FROM emails WHERE id = ?`,
		ev.ID, string(ev.Type), nullText(ev.Recipient), string(detail), milli(ev.CreatedAt), ev.EmailID)
}

// maxTimeline bounds what is read of one email's timeline: the newest lines.
const maxTimeline = 2000

// Events returns the timeline of an email, newest first.
func (r *Reader) Events(emailID string) ([]app.Event, error) {
	return r.NewestEvents(emailID, maxTimeline)
}

// NewestEvents returns the newest lines of an email's timeline, at most limit, newest first.
func (r *Reader) NewestEvents(emailID string, limit int) ([]app.Event, error) {
	return list(r, scanEvent, `SELECT email_id, id, type, recipient, detail, created_at FROM events
		WHERE email_id = ? ORDER BY id DESC LIMIT ?`, emailID, limit)
}

// NewestEventOf returns the newest line of a type in an email's timeline. Error:
// ErrNotFound.
func (r *Reader) NewestEventOf(emailID string, of app.EventType) (app.Event, error) {
	return one(r, scanEvent, `SELECT email_id, id, type, recipient, detail, created_at FROM events
		WHERE email_id = ? AND type = ? ORDER BY id DESC LIMIT 1`, emailID, string(of))
}

func scanEvent(s scanner) (app.Event, error) {
	var ev app.Event
	var recipient, detail sql.NullString
	var created int64
	if err := s.Scan(&ev.EmailID, &ev.ID, &ev.Type, &recipient, &detail, &created); err != nil {
		return ev, err
	}
	ev.Recipient, ev.CreatedAt = recipient.String, fromMilli(created)
	err := fromJSON(detail, &ev.Detail)
	if ev.Detail.Message == "" {
		ev.Detail.Message = ev.Detail.Description(ev.Detail.Relay)
	}
	return ev, err
}

// OpenTrouble notes that a relay takes nothing from now on of whom t is about.
func (tx *Tx) OpenTrouble(t app.RelayTrouble) error {
	tx.publishRelay(t.Relay)
	detail, err := json.Marshal(t.Detail)
	if err != nil {
		return fmt.Errorf("encode trouble: %w", err)
	}
	err = tx.Write(`INSERT INTO relay_troubles (id, relay, team_id, domain, started_at, failures, stops_clock, detail, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET failures = excluded.failures, detail = excluded.detail`,
		t.ID, t.Relay, nullText(t.TeamID), nullText(t.Domain), milli(t.StartedAt), t.Failures, t.StopsClock, string(detail), tx.Owner())
	return err
}

// CloseTrouble notes that a trouble is over.
func (tx *Tx) CloseTrouble(id string) error {
	tx.publishRelay("")
	err := tx.Write(`UPDATE relay_troubles SET ended_at = ? WHERE id = ? AND ended_at IS NULL`, milli(tx.Now), id)
	return err
}

// CloseTroublesOf notes that troubles of a relay are over that a server met which is gone, or,
// of a file, an earlier one.
func (tx *Tx) CloseTroublesOf(g engine.DeadNodes, relay string) error {
	open, err := list(&tx.Reader, func(s scanner) (t struct {
		id    string
		owner sql.NullString
	}, err error) {
		err = s.Scan(&t.id, &t.owner)
		return t, err
	}, `SELECT id, owner FROM relay_troubles WHERE relay = ? AND ended_at IS NULL`, relay)
	for _, t := range open {
		if !g.HasLeft(t.owner.String) {
			continue
		}
		if err := tx.CloseTrouble(t.id); err != nil {
			return err
		}
	}
	return err
}

// CloseTroubles notes that all troubles of a relay are over.
func (tx *Tx) CloseTroubles(relay string) error {
	tx.publishRelay(relay)
	err := tx.Write(`UPDATE relay_troubles SET ended_at = ? WHERE relay = ? AND ended_at IS NULL`, milli(tx.Now), relay)
	return err
}

const troubleColumns = `id, relay, team_id, domain, started_at, ended_at, failures, stops_clock, detail`

// Troubles returns the latest troubles of a relay that touch the time from from
// to to and concern a team's domain, newest first, at most 200; when the team was
// suspended too.
func (r *Reader) Troubles(relay, teamID, domain string, from, to time.Time) ([]app.RelayTrouble, error) {
	var out []app.RelayTrouble
	for _, relay := range []string{relay, ""} {
		some, err := r.troubles(relay, teamID, domain, from, to)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	slices.SortStableFunc(out, func(a, b app.RelayTrouble) int { return b.StartedAt.Compare(a.StartedAt) })
	return out[:min(len(out), maxTroubles)], nil
}

// maxTroubles is how many troubles one timeline shows.
const maxTroubles = 200

func (r *Reader) troubles(relay, teamID, domain string, from, to time.Time) ([]app.RelayTrouble, error) {
	return list(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles
		WHERE relay = ? AND started_at <= ? AND (ended_at IS NULL OR ended_at >= ?)
		AND (team_id IS NULL OR team_id = ? AND (domain IS NULL OR domain = ?)) ORDER BY started_at DESC LIMIT ?`,
		relay, milli(to), milli(from), teamID, domain, maxTroubles)
}

// DomainTroubles returns the troubles of a team's domain that are not over, at all
// relays.
func (r *Reader) DomainTroubles(teamID, domain string) ([]app.RelayTrouble, error) {
	return list(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles
		WHERE team_id = ? AND domain = ? AND ended_at IS NULL ORDER BY id`, teamID, domain)
}

// OpenTroubles returns the names of the relays that have an open trouble.
func (r *Reader) OpenTroubles() ([]string, error) {
	return list(r, scanText, `SELECT DISTINCT relay FROM relay_troubles WHERE ended_at IS NULL AND relay <> ''`)
}

func scanTrouble(s scanner) (app.RelayTrouble, error) {
	var t app.RelayTrouble
	var started int64
	var ended sql.NullInt64
	var team, domain, detail sql.NullString
	if err := s.Scan(&t.ID, &t.Relay, &team, &domain, &started, &ended, &t.Failures, &t.StopsClock, &detail); err != nil {
		return t, err
	}
	t.TeamID, t.Domain = team.String, domain.String
	t.StartedAt, t.EndedAt = fromMilli(started), fromMilli(ended.Int64)
	return t, fromJSON(detail, &t.Detail)
}

// AddUsage counts n messages of a relay in the minute of at, bulk of them of
// broadcasts.
func (tx *Tx) AddUsage(relay string, at time.Time, n, bulk int64) error {
	err := tx.Write(`INSERT INTO relay_usage (relay, minute, sent, bulk) VALUES (?, ?, ?, ?)
		ON CONFLICT (relay, minute) DO UPDATE SET sent = relay_usage.sent + excluded.sent, bulk = relay_usage.bulk + excluded.bulk`,
		relay, at.Unix()/60, n, bulk)
	return err
}

// AddUsageWithin is AddUsage for one message, unless the messages from a minute on are as many
// as most already, or those of broadcasts as many as mostBulk; bulk is 1 for one of them. It
// reports whether it was added.
func (tx *Tx) AddUsageWithin(relay string, at time.Time, bulk, from, maxRows, bulkLimit int64) (bool, error) {
	n, err := tx.Exec(`INSERT INTO relay_usage (relay, minute, sent, bulk) SELECT ?1, ?2, 1, CAST(?3 AS bigint)
		WHERE (SELECT CAST(coalesce(sum(u.sent), 0) AS bigint) FROM relay_usage AS u WHERE u.relay = ?1 AND u.minute >= ?4) < ?5
			AND (CAST(?3 AS bigint) = 0 OR (SELECT CAST(coalesce(sum(u.bulk), 0) AS bigint) FROM relay_usage AS u WHERE u.relay = ?1 AND u.minute >= ?4) < ?6)
		ON CONFLICT (relay, minute) DO UPDATE SET sent = relay_usage.sent + excluded.sent, bulk = relay_usage.bulk + excluded.bulk`,
		relay, at.Unix()/60, bulk, from, maxRows, bulkLimit)
	return n > 0, err
}

// UsageMinute is what a relay sent in one minute.
type UsageMinute struct {
	Minute int64 // Unix minutes
	Sent   int64
	Bulk   int64 // of Sent, those of broadcasts
}

// Usage returns the counts of a relay from a minute on, oldest first.
func (r *Reader) Usage(relay string, minute int64) ([]UsageMinute, error) {
	return list(r, func(s scanner) (UsageMinute, error) {
		var u UsageMinute
		err := s.Scan(&u.Minute, &u.Sent, &u.Bulk)
		return u, err
	}, `SELECT minute, sent, bulk FROM relay_usage WHERE relay = ? AND minute >= ? ORDER BY minute`, relay, minute)
}

// PurgeUsage deletes counts from before a minute.
func (tx *Tx) PurgeUsage(minute int64) error {
	err := tx.Write(`DELETE FROM relay_usage WHERE minute < ?`, minute)
	return err
}
