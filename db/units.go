package db

import (
	"database/sql"
	"fmt"
	"time"

	"mailer/app"
)

// InsertUnit adds the open work of an email that was just accepted, or of a
// recipient of a broadcast whose turn it is.
func (tx *Tx) InsertUnit(u app.Unit) error {
	_, err := tx.exec(`INSERT INTO units (email_id, team_id, broadcast_id, topic_id, relay, bulk, state, attempts, next_at, since, size, dated, owed, late)
		VALUES (?1, ?2, ?3, ?4, ?5, ?3 IS NOT NULL, 'queued', ?6, ?7, ?8, ?9, ?10, ?11, ?12)`,
		u.EmailID, u.TeamID, nullText(u.BroadcastID), nullText(u.TopicID), u.Relay, u.Attempts, milli(u.NextAt), nullTime(u.Since), u.Size, nullTime(u.Dated), u.Owed, u.Late)
	return err
}

// TeamDue is the earliest open unit of a team at a relay.
type TeamDue struct {
	TeamID string
	NextAt time.Time
}

// DueTeams returns each team that has open units at a relay, of broadcasts (bulk) or
// of emails, and when its first is due: one probe of the index a team, however
// long the queues are.
func (r *Reader) DueTeams(relay string, bulk bool) ([]TeamDue, error) {
	return list(&r.session, func(s scanner) (TeamDue, error) {
		var t TeamDue
		var next int64
		err := s.Scan(&t.TeamID, &next)
		t.NextAt = fromMilli(next)
		return t, err
	}, `WITH RECURSIVE teams_open (team_id) AS (
			SELECT (SELECT team_id FROM units WHERE relay = ?1 AND bulk = ?2 ORDER BY team_id LIMIT 1)
			UNION ALL
			SELECT (SELECT u.team_id FROM units AS u WHERE u.relay = ?1 AND u.bulk = ?2 AND u.team_id > o.team_id ORDER BY u.team_id LIMIT 1)
			FROM teams_open AS o WHERE o.team_id IS NOT NULL)
		SELECT o.team_id, (SELECT min(u.next_at) FROM units AS u WHERE u.relay = ?1 AND u.bulk = ?2 AND u.team_id = o.team_id)
		FROM teams_open AS o WHERE o.team_id IS NOT NULL`, relay, bulk)
}

const unitColumns = `email_id, team_id, broadcast_id, topic_id, relay, attempts, next_at, since, size, dated, signature, owed, late`

// DueUnits returns a team's units, of broadcasts (bulk) or of emails, that are due
// at a relay, earliest first.
func (r *Reader) DueUnits(relay string, bulk bool, teamID string, now time.Time, limit int) ([]app.Unit, error) {
	return list(&r.session, scanUnit, `SELECT `+unitColumns+` FROM units
		WHERE relay = ? AND bulk = ? AND team_id = ? AND next_at <= ? ORDER BY next_at LIMIT ?`, relay, bulk, teamID, milli(now), limit)
}

// DottedUnits returns units whose final dot may have been sent without its reply
// being recorded. While a server runs these are transactions in progress. It
// reads all open units: it is asked at start and by the operator, and an index
// would cost every message.
func (r *Reader) DottedUnits() ([]app.Unit, error) {
	return list(&r.session, scanUnit, `SELECT `+unitColumns+` FROM units WHERE state = 'dotted' ORDER BY email_id`)
}

func scanUnit(s scanner) (app.Unit, error) {
	var u app.Unit
	var next int64
	var since, dated sql.NullInt64
	var broadcast, topic, signature sql.NullString
	err := s.Scan(&u.EmailID, &u.TeamID, &broadcast, &topic, &u.Relay, &u.Attempts, &next, &since, &u.Size, &dated, &signature, &u.Owed, &u.Late)
	u.BroadcastID, u.TopicID, u.NextAt, u.Since, u.Signature = broadcast.String, topic.String, fromMilli(next), fromMilli(since.Int64), signature.String
	u.Dated = fromMilli(dated.Int64)
	return u, err
}

// BeginAttempt stores that a unit's next attempt begins and when another one is
// due if this process dies in it. Error: ErrNotFound when the unit is gone or no
// longer as it was read, or its broadcast is canceled.
func (tx *Tx) BeginAttempt(u app.Unit, next time.Time) error {
	if u.BroadcastID != "" {
		n, err := tx.exec(`UPDATE units SET attempts = ?, next_at = ? WHERE email_id = ? AND state = 'queued' AND attempts = ? AND next_at = ?
			AND EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = units.broadcast_id AND b.status = 'queued')`,
			u.Attempts+1, milli(next), u.EmailID, u.Attempts, milli(u.NextAt))
		return oneRow(n, err, ErrNotFound)
	}
	n, err := tx.exec(`UPDATE units SET attempts = ?, next_at = ? WHERE email_id = ? AND state = 'queued' AND attempts = ? AND next_at = ?`,
		u.Attempts+1, milli(next), u.EmailID, u.Attempts, milli(u.NextAt))
	return oneRow(n, err, ErrNotFound)
}

// MarkDotted notes that the final dot of a unit's attempt is about to be sent,
// with the signature of these bytes. Error: ErrNotFound when the unit was
// withdrawn, or moved to another time, since the attempt began, or its broadcast
// canceled.
func (tx *Tx) MarkDotted(u app.Unit, signature string) error {
	if u.BroadcastID != "" {
		n, err := tx.exec(`UPDATE units SET state = 'dotted', signature = ? WHERE email_id = ? AND state = 'queued' AND attempts = ?
			AND EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = units.broadcast_id AND b.status = 'queued')`,
			nullText(signature), u.EmailID, u.Attempts)
		return oneRow(n, err, ErrNotFound)
	}
	n, err := tx.exec(`UPDATE units SET state = 'dotted', signature = ? WHERE email_id = ? AND state = 'queued' AND attempts = ?`,
		nullText(signature), u.EmailID, u.Attempts)
	return oneRow(n, err, ErrNotFound)
}

// RequeueUnit ends an attempt and has the unit tried again at next, with
// attempts counted. Error: ErrNotFound when the unit is gone, or was moved to
// another time since the attempt began.
func (tx *Tx) RequeueUnit(u app.Unit, attempts int, next time.Time) error {
	n, err := tx.exec(`UPDATE units SET state = 'queued', attempts = ?, next_at = ? WHERE email_id = ? AND attempts = ?`,
		attempts, milli(next), u.EmailID, u.Attempts)
	return oneRow(n, err, ErrNotFound)
}

// BeginTrying notes when a unit was first put off.
func (tx *Tx) BeginTrying(emailID string) error {
	_, err := tx.exec(`UPDATE units SET since = ? WHERE email_id = ? AND since IS NULL`, milli(tx.Now), emailID)
	return err
}

// DeleteUnit ends the work on a unit. Error: ErrNotFound when it was over.
func (tx *Tx) DeleteUnit(u app.Unit) error {
	n, err := tx.exec(`DELETE FROM units WHERE email_id = ?`, u.EmailID)
	if err := oneRow(n, err, ErrNotFound); err != nil || u.BroadcastID == "" {
		return err
	}
	return tx.endBroadcastUnit(u.BroadcastID)
}

// HasUnit reports whether an email has open work.
func (r *Reader) HasUnit(emailID string) (bool, error) {
	var n int
	err := r.row(`SELECT count(*) FROM units WHERE email_id = ?`, []any{emailID}, &n)
	return n > 0, err
}

// OpenRecipients returns the recipients of a unit that still wait, in the order of
// the envelope.
func (r *Reader) OpenRecipients(u app.Unit) ([]string, error) {
	if u.BroadcastID != "" {
		return list(&r.session, scanText, `SELECT email FROM broadcast_recipients WHERE id = ? AND seen & ? = 0`, u.EmailID, int64(app.SeenEnded))
	}
	return list(&r.session, scanText, `SELECT address FROM recipients WHERE email_id = ? AND state = 'queued' ORDER BY n`, u.EmailID)
}

// SettleRecipient notes what became of a waiting recipient. Error: ErrNotFound
// for one that does not wait.
func (tx *Tx) SettleRecipient(u app.Unit, address string, state app.LastEvent) error {
	if u.BroadcastID != "" {
		return tx.settleBroadcastRecipient(u, app.SeenOf(state))
	}
	n, err := tx.exec(`UPDATE recipients SET state = ? WHERE email_id = ? AND address = ? AND state = 'queued'`, string(state), u.EmailID, address)
	return oneRow(n, err, ErrNotFound)
}

// Outgoing returns an email as a relay needs it: bodies, attachments with their
// content, and the recipients that still wait.
func (r *Reader) Outgoing(teamID, emailID string) (*app.Email, []string, error) {
	e, err := r.Email(teamID, emailID)
	if err != nil {
		return nil, nil, err
	}
	for i := range e.Attachments {
		a := &e.Attachments[i]
		if err := r.row(`SELECT content FROM attachments WHERE id = ?`, []any{a.ID}, &a.Content); err != nil {
			return nil, nil, fmt.Errorf("attachment %s: %w", a.ID, err)
		}
	}
	open, err := r.OpenRecipients(app.Unit{EmailID: emailID})
	return e, open, err
}

// UnitRelays returns the names of relays that have open units.
func (r *Reader) UnitRelays() ([]string, error) {
	return list(&r.session, scanText, `WITH RECURSIVE relays_open (relay) AS (
			SELECT (SELECT relay FROM units ORDER BY relay LIMIT 1)
			UNION ALL
			SELECT (SELECT u.relay FROM units AS u WHERE u.relay > o.relay ORDER BY u.relay LIMIT 1)
			FROM relays_open AS o WHERE o.relay IS NOT NULL)
		SELECT relay FROM relays_open WHERE relay IS NOT NULL`)
}

// CountUnits returns how many units are open at a relay, counting up to limit.
func (r *Reader) CountUnits(relay string, limit int) (n int, err error) {
	err = r.row(`SELECT count(*) FROM (SELECT 1 FROM units WHERE relay = ? LIMIT ?) AS units_open`, []any{relay, limit}, &n)
	return n, err
}
