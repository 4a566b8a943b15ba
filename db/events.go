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

// InsertEvent adds an event to a timeline and counts it. Error: ErrNotFound if the email
// was deleted.
func (tx *Tx) InsertEvent(ev app.Event) error {
	detail, err := json.Marshal(ev.Detail)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if err := tx.countEvent(&ev); err != nil {
		return err
	}
	if !ev.Hidden {
		tx.publishEvent(ev.TeamID, ev.EmailID, ev.BroadcastID, string(ev.Type))
	}
	if ev.BroadcastID != "" { // the caller found the recipient, which has one address
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

// maxTimeline is the most events of one timeline that are read: the newest.
const maxTimeline = 2000

// Events returns the timeline of an email, newest first.
func (r *Reader) Events(emailID string) ([]app.Event, error) {
	return r.NewestEvents(emailID, maxTimeline)
}

// NewestEvents returns at most limit events of an email's timeline, newest first.
func (r *Reader) NewestEvents(emailID string, limit int) ([]app.Event, error) {
	return list(r, scanEvent, `SELECT email_id, id, type, recipient, detail, created_at FROM events
		WHERE email_id = ? ORDER BY id DESC LIMIT ?`, emailID, limit)
}

// NewestEventOf returns the newest event of a type in an email's timeline. Error:
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
	if ev.Detail.Rule != "" {
		ev.Detail.Message += "; by the rule: " + ev.Detail.Rule
		ev.Detail.Rule = ""
	}
	return ev, err
}

// OpenTrouble records that a relay accepts no mail of the team or domain in t from now on.
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

// InsertSwitch stores that mail of a region leaves through another relay from now on.
func (tx *Tx) InsertSwitch(region string, d app.EventDetail) error {
	tx.publishRelay(region)
	detail, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode a switch: %w", err)
	}
	return tx.Write(`INSERT INTO relay_troubles (id, relay, started_at, ended_at, failures, stops_clock, detail) VALUES (?1, ?2, ?3, ?3, 0, 0, ?4)`,
		app.NewID(), app.SwitchesOf(region), milli(tx.Now), string(detail))
}

// LastSwitch returns the last switch of a region up to a time. Error: ErrNotFound.
func (r *Reader) LastSwitch(region string, at time.Time) (app.RelayTrouble, error) {
	return one(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles WHERE relay = ? AND started_at <= ? ORDER BY started_at DESC LIMIT 1`,
		app.SwitchesOf(region), milli(at))
}

// CloseTrouble records the end of a trouble.
func (tx *Tx) CloseTrouble(id string) error {
	tx.publishRelay("")
	err := tx.Write(`UPDATE relay_troubles SET ended_at = ? WHERE id = ? AND ended_at IS NULL`, milli(tx.Now), id)
	return err
}

// CloseTroublesOf ends the troubles of a relay that dead nodes recorded; on SQLite, those
// of an earlier run.
func (tx *Tx) CloseTroublesOf(g engine.DeadNodes, relay string) error {
	open, err := list(&tx.Reader, func(s scanner) (t struct {
		id    string
		owner sql.NullString
	}, err error) {
		err = s.Scan(&t.id, &t.owner)
		return t, err
	}, `SELECT id, owner FROM relay_troubles WHERE relay = ? AND ended_at IS NULL`, relay)
	for _, t := range open {
		if !g.IsDead(t.owner.String) {
			continue
		}
		if err := tx.CloseTrouble(t.id); err != nil {
			return err
		}
	}
	return err
}

// CloseTroubles ends all troubles of a relay.
func (tx *Tx) CloseTroubles(relay string) error {
	tx.publishRelay(relay)
	err := tx.Write(`UPDATE relay_troubles SET ended_at = ? WHERE relay = ? AND ended_at IS NULL`, milli(tx.Now), relay)
	return err
}

const troubleColumns = `id, relay, team_id, domain, started_at, ended_at, failures, stops_clock, detail`

// Troubles returns the latest troubles of the relays of a region between two times that affect a
// team's domain, newest first, at most maxTroubles. Suspensions of the team and switches of the
// region are included.
func (r *Reader) Troubles(region, teamID, domain string, from, to time.Time) ([]app.RelayTrouble, error) {
	var out []app.RelayTrouble
	for _, name := range []string{region, app.SwitchesOf(region), ""} {
		some, err := r.troubles(name, teamID, domain, from, to)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	// Names of other relays of the region begin with it and "/" or "#", those of its queues with ">" or "@".
	for _, names := range [][2]string{{region + "#", region + "$"}, {region + "/", region + "0"}, {region + ">", region + "A"}} {
		some, err := r.troublesBetween(names[0], names[1], teamID, domain, from, to)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	slices.SortStableFunc(out, func(a, b app.RelayTrouble) int { return b.StartedAt.Compare(a.StartedAt) })
	return out[:min(len(out), maxTroubles)], nil
}

// maxTroubles is the most troubles that one timeline shows.
const maxTroubles = 200

func (r *Reader) troubles(relay, teamID, domain string, from, to time.Time) ([]app.RelayTrouble, error) {
	return list(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles
		WHERE relay = ? AND started_at <= ? AND (ended_at IS NULL OR ended_at >= ?)
		AND (team_id IS NULL OR team_id = ? AND (domain IS NULL OR domain = ?)) ORDER BY started_at DESC LIMIT ?`,
		relay, milli(to), milli(from), teamID, domain, maxTroubles)
}

// troublesBetween is troubles for all relays whose names are after one name and before another.
func (r *Reader) troublesBetween(after, before, teamID, domain string, from, to time.Time) ([]app.RelayTrouble, error) {
	return list(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles
		WHERE relay > ? AND relay < ? AND started_at <= ? AND (ended_at IS NULL OR ended_at >= ?)
		AND (team_id IS NULL OR team_id = ? AND (domain IS NULL OR domain = ?)) ORDER BY relay DESC, started_at DESC LIMIT ?`,
		after, before, milli(to), milli(from), teamID, domain, maxTroubles)
}

// DomainTroubles returns the open troubles of a team's domain at all relays.
func (r *Reader) DomainTroubles(teamID, domain string) ([]app.RelayTrouble, error) {
	return list(r, scanTrouble, `SELECT `+troubleColumns+` FROM relay_troubles
		WHERE team_id = ? AND domain = ? AND ended_at IS NULL ORDER BY id`, teamID, domain)
}

// OpenTroubles returns the names of the relays with an open trouble.
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

// AddUsage counts n messages of a relay in the minute of at, of which bulk belong to
// broadcasts.
func (tx *Tx) AddUsage(relay string, at time.Time, n, bulk int64) error {
	err := tx.Write(`INSERT INTO relay_usage (relay, minute, sent, bulk) VALUES (?, ?, ?, ?)
		ON CONFLICT (relay, minute) DO UPDATE SET sent = relay_usage.sent + excluded.sent, bulk = relay_usage.bulk + excluded.bulk`,
		relay, at.Unix()/60, n, bulk)
	return err
}

// AddUsageWithin counts one message and returns true, unless the messages since the minute
// from have reached limit, or the broadcast messages bulkLimit. bulk is 1 for a broadcast
// message, else 0.
func (tx *Tx) AddUsageWithin(relay string, at time.Time, bulk, from, maxRows, bulkLimit int64) (bool, error) {
	n, err := tx.Exec(`INSERT INTO relay_usage (relay, minute, sent, bulk) SELECT ?1, ?2, 1, CAST(?3 AS bigint)
		WHERE (SELECT CAST(coalesce(sum(u.sent), 0) AS bigint) FROM relay_usage AS u WHERE u.relay = ?1 AND u.minute >= ?4) < ?5
			AND (CAST(?3 AS bigint) = 0 OR (SELECT CAST(coalesce(sum(u.bulk), 0) AS bigint) FROM relay_usage AS u WHERE u.relay = ?1 AND u.minute >= ?4) < ?6)
		ON CONFLICT (relay, minute) DO UPDATE SET sent = relay_usage.sent + excluded.sent, bulk = relay_usage.bulk + excluded.bulk`,
		relay, at.Unix()/60, bulk, from, maxRows, bulkLimit)
	return n > 0, err
}

// UsageMinute is the number of messages that a relay sent in one minute.
type UsageMinute struct {
	Minute int64 // Unix minutes
	Sent   int64
	Bulk   int64 // of Sent, messages of broadcasts
}

// Usage returns the usage of a relay since a minute, oldest first.
func (r *Reader) Usage(relay string, minute int64) ([]UsageMinute, error) {
	return list(r, func(s scanner) (UsageMinute, error) {
		var u UsageMinute
		err := s.Scan(&u.Minute, &u.Sent, &u.Bulk)
		return u, err
	}, `SELECT minute, sent, bulk FROM relay_usage WHERE relay = ? AND minute >= ? ORDER BY minute`, relay, minute)
}

// PurgeUsage deletes the usage before a minute.
func (tx *Tx) PurgeUsage(minute int64) error {
	err := tx.Write(`DELETE FROM relay_usage WHERE minute < ?`, minute)
	return err
}
