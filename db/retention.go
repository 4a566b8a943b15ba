package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/db/engine"
)

// AgedKind is the kind of object whose age retention checks.
type AgedKind string

// The kinds.
const (
	AgedContent   AgedKind = "content"
	AgedEmail     AgedKind = "email"
	AgedRecipient AgedKind = "recipient"
)

// Aged is an email or broadcast recipient with its age.
type Aged struct {
	ID   string
	Last time.Time // time of its last result
	Open bool      // it has open work or an open doubt
	// Deleted: its content is marked as deleted. Left: some of the content still exists.
	Deleted, Left bool
	Found         time.Time // its time in too_young
}

// agedEmail selects the columns of Aged for emails.
const agedEmail = `e.id, coalesce((SELECT max(v.created_at) FROM events AS v WHERE v.email_id = e.id), e.created_at),
	EXISTS (SELECT 1 FROM units AS u WHERE u.email_id = e.id) OR EXISTS (SELECT 1 FROM doubts AS d WHERE d.email_id = e.id AND d.settled_at IS NULL),
	e.content_deleted_at IS NOT NULL, EXISTS (SELECT 1 FROM contents AS c WHERE c.email_id = e.id), 0 FROM emails AS e`

// agedRecipient selects the columns of Aged for broadcast recipients. A recipient with an
// empty timeline has the age of its broadcast.
const agedRecipient = `r.id, coalesce((SELECT max(v.created_at) FROM events AS v WHERE v.email_id = r.id), b.sent_at, b.canceled_at, b.created_at),
	EXISTS (SELECT 1 FROM units AS u WHERE u.email_id = r.id) OR EXISTS (SELECT 1 FROM doubts AS d WHERE d.email_id = r.id AND d.settled_at IS NULL),
	0, 0, 0 FROM broadcasts AS b CROSS JOIN broadcast_recipients AS r ON true`

func scanAged(s scanner) (Aged, error) {
	var a Aged
	var last, found int64
	err := s.Scan(&a.ID, &last, &a.Open, &a.Deleted, &a.Left, &found)
	a.Last, a.Found = fromMilli(last), fromMilli(found)
	return a, err
}

// AgedEmails returns at most limit emails of a team with ids after after and below before,
// oldest first.
func (r *Reader) AgedEmails(teamID, after, before string, limit int) ([]Aged, error) {
	return list(r, scanAged, `SELECT `+agedEmail+` WHERE e.team_id = ? AND e.id > ? AND e.id < ? ORDER BY e.id LIMIT ?`, teamID, after, before, limit)
}

// Aged returns the current state of one email or broadcast recipient of a team. Error:
// ErrNotFound.
func (r *Reader) Aged(teamID string, kind AgedKind, id string) (Aged, error) {
	if kind == AgedRecipient {
		return one(r, scanAged, `SELECT `+agedRecipient+` WHERE b.mails = ? AND b.team_id = ? AND r.id = ?`, app.EmailIDPrefixOf(id), teamID, id)
	}
	return one(r, scanAged, `SELECT `+agedEmail+` WHERE e.id = ? AND e.team_id = ?`, id, teamID)
}

// AgingBroadcast is a finished broadcast with recipients that retention has not checked.
type AgingBroadcast struct {
	ID, Mails string
	After     string // the last checked recipient
}

// AgingBroadcasts returns at most limit broadcasts of a team that were finished at a time
// and have unchecked recipients.
func (r *Reader) AgingBroadcasts(teamID string, before time.Time, limit int) ([]AgingBroadcast, error) {
	return list(r, func(s scanner) (AgingBroadcast, error) {
		var b AgingBroadcast
		err := s.Scan(&b.ID, &b.Mails, &b.After)
		return b, err
	}, `SELECT id, coalesce(mails, ''), coalesce(aged_id, mails, '') FROM broadcasts
		WHERE team_id = ? AND status IN ('sent', 'canceled') AND aged = 0 AND open = 0 AND coalesce(sent_at, canceled_at, created_at) <= ?
		ORDER BY id LIMIT ?`, teamID, milli(before), limit)
}

// AgedRecipients returns the next recipients of a broadcast, at most limit.
func (r *Reader) AgedRecipients(b AgingBroadcast, limit int) ([]Aged, error) {
	if b.Mails == "" {
		return nil, nil
	}
	return list(r, scanAged, `SELECT `+agedRecipient+` WHERE b.id = ? AND r.id > ? AND r.id < ? ORDER BY r.id LIMIT ?`,
		b.ID, b.After, b.Mails+"g", limit)
}

// AdvanceAging records the last checked recipient of a broadcast, and whether all are
// checked.
func (tx *Tx) AdvanceAging(broadcastID, recipientID string, all bool) error {
	err := tx.Write(`UPDATE broadcasts SET aged_id = ?, aged = ? WHERE id = ?`, nullText(recipientID), all, broadcastID)
	return err
}

// AgedUntil returns the last checked email of a team; empty if there is none.
func (r *Reader) AgedUntil(teamID string, kind AgedKind) (id string, err error) {
	err = r.Row(`SELECT email_id FROM aged WHERE team_id = ? AND kind = ?`, []any{teamID, string(kind)}, &id)
	return id, ignoreNotFound(err)
}

// SetAgedUntil records the last checked email of a team.
func (tx *Tx) SetAgedUntil(teamID string, kind AgedKind, id string) error {
	err := tx.Write(`INSERT INTO aged (team_id, kind, email_id) VALUES (?, ?, ?) ON CONFLICT (team_id, kind) DO UPDATE SET email_id = excluded.email_id`,
		teamID, string(kind), id)
	return err
}

// TooYoung returns at most limit objects that were too young or not finished when checked,
// and may be old enough now: those with a time up to until.
func (r *Reader) TooYoung(teamID string, kind AgedKind, until time.Time, limit int) ([]Aged, error) {
	return list(r, func(s scanner) (a Aged, err error) {
		var at int64
		err = s.Scan(&a.ID, &at)
		a.Found = fromMilli(at)
		return a, err
	}, `SELECT email_id, at FROM too_young WHERE team_id = ? AND kind = ? AND at <= ? ORDER BY at, email_id LIMIT ?`, teamID, string(kind), milli(until), limit)
}

// PutTooYoung schedules another check of an object, with the time of its last result.
func (tx *Tx) PutTooYoung(teamID string, kind AgedKind, id string, at time.Time) error {
	err := tx.Write(`INSERT INTO too_young (team_id, kind, at, email_id) VALUES (?, ?, ?, ?) ON CONFLICT (team_id, kind, at, email_id) DO NOTHING`,
		teamID, string(kind), milli(at), id)
	return err
}

// DropTooYoung deletes the scheduled check of an object at a time.
func (tx *Tx) DropTooYoung(teamID string, kind AgedKind, id string, at time.Time) error {
	err := tx.Write(`DELETE FROM too_young WHERE team_id = ? AND kind = ? AND at = ? AND email_id = ?`, teamID, string(kind), milli(at), id)
	return err
}

// SharedUnsubscribePage returns the recipients of an email with one unsubscribe link for
// all of them; none for any other email.
func (r *Reader) SharedUnsubscribePage(emailID string) ([]string, error) {
	return list(r, scanText, `SELECT r.address FROM recipients AS r WHERE r.email_id = ?1
		AND EXISTS (SELECT 1 FROM contents AS c WHERE c.email_id = ?1 AND c.unsubscribe IS NOT NULL)
		AND (SELECT count(*) FROM recipients AS o WHERE o.email_id = ?1) > 1 ORDER BY r.n`, emailID)
}

// KeepEnvelope stores the addresses that the unsubscribe link of an email applies to.
func (tx *Tx) KeepEnvelope(teamID, emailID string, addresses []app.AddressHash) error {
	for _, a := range addresses {
		if err := tx.Write(`INSERT INTO former_envelopes (email_id, team_id, address) VALUES (?, ?, ?) ON CONFLICT (email_id, address) DO NOTHING`, emailID, teamID, a[:]); err != nil {
			return fmt.Errorf("keep envelope: %w", err)
		}
	}
	return nil
}

// FormerEnvelope returns the addresses that the unsubscribe link of a deleted email
// applies to.
func (r *Reader) FormerEnvelope(teamID, emailID string) ([]app.AddressHash, error) {
	return list(r, func(s scanner) (a app.AddressHash, err error) {
		var raw []byte
		err = s.Scan(&raw)
		copy(a[:], raw)
		return a, err
	}, `SELECT address FROM former_envelopes WHERE email_id = ? AND team_id = ?`, emailID, teamID)
}

// MarkContentDeleted marks the content of an email as deleted. Nothing reads the content
// from then on.
func (tx *Tx) MarkContentDeleted(emailID string) error {
	err := tx.Write(`UPDATE emails SET content_deleted_at = ? WHERE id = ? AND content_deleted_at IS NULL`, milli(tx.Now), emailID)
	return err
}

// DeleteContentPiece deletes part of the content of an email, about AttachmentPiece bytes
// or one body, and reports whether there is more. Call MarkContentDeleted first.
func (tx *Tx) DeleteContentPiece(emailID string) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM attachment_pieces WHERE (attachment_id, n) IN (SELECT p.attachment_id, p.n
		FROM attachments AS a CROSS JOIN attachment_pieces AS p ON p.attachment_id = a.id WHERE a.email_id = ? LIMIT 1)`, emailID)
	if err != nil || n > 0 {
		return n > 0, err
	}
	if n, err = tx.deleteRawPieces(emailID, 1); err != nil || n > 0 {
		return n > 0, err
	}
	if err := tx.Write(`DELETE FROM attachments WHERE email_id = ?`, emailID); err != nil {
		return false, err
	}
	if n, err = tx.Exec(`DELETE FROM captures WHERE email_id = ?`, emailID); err != nil || n > 0 {
		return n > 0, err
	}
	err = tx.Write(`DELETE FROM contents WHERE email_id = ?`, emailID)
	return false, err
}

// DeleteAgedEmail deletes an email without content, with envelope and timeline. Its
// settled doubts stay without their recipients, until PurgeDoubts.
func (tx *Tx) DeleteAgedEmail(teamID, id string) error {
	n, err := tx.Exec(`DELETE FROM emails WHERE team_id = ? AND id = ?`, teamID, id)
	if err != nil || n == 0 {
		return err
	}
	return tx.deleteTimeline(id)
}

// DeleteAgedRecipient deletes a broadcast recipient with clicks, timeline and captured
// message. The counts of the broadcast stay.
func (tx *Tx) DeleteAgedRecipient(id string) error {
	if err := tx.Write(`DELETE FROM broadcast_recipients WHERE id = ?`, id); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM captures WHERE email_id = ?`, id); err != nil {
		return err
	}
	return tx.deleteTimeline(id)
}

func (tx *Tx) deleteTimeline(id string) error {
	if err := tx.Write(`DELETE FROM events WHERE email_id = ?`, id); err != nil {
		return err
	}
	if err := tx.deleteAttempts(id); err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM provider_ids WHERE email_id = ?`, id); err != nil {
		return err
	}
	err := tx.Write(`UPDATE doubts SET recipients = '[]' WHERE email_id = ?`, id)
	return err
}

// Retentions returns the retention settings of all teams, oldest team first.
func (r *Reader) Retentions() ([]app.TeamRetention, error) {
	return list(r, scanRetention, `SELECT id, name, keep_content, keep_emails, keep_broadcasts FROM teams ORDER BY id`)
}

// Retention returns the retention settings of a team. Error: ErrNotFound.
func (r *Reader) Retention(teamID string) (app.TeamRetention, error) {
	return one(r, scanRetention, `SELECT id, name, keep_content, keep_emails, keep_broadcasts FROM teams WHERE id = ?`, teamID)
}

func scanRetention(s scanner) (app.TeamRetention, error) {
	var t app.TeamRetention
	var content, emails, broadcasts sql.NullInt64
	err := s.Scan(&t.TeamID, &t.Team, &content, &emails, &broadcasts)
	for _, f := range []struct {
		from sql.NullInt64
		to   **time.Duration
	}{{content, &t.Content}, {emails, &t.Emails}, {broadcasts, &t.Broadcasts}} {
		if f.from.Valid {
			d := time.Duration(f.from.Int64) * time.Millisecond
			*f.to = &d
		}
	}
	return t, err
}

// SetRetention stores the retention settings of a team.
func (tx *Tx) SetRetention(t app.TeamRetention) error {
	tx.Changed(engine.Control)
	var columns [3]any
	for i, d := range []*time.Duration{t.Content, t.Emails, t.Broadcasts} {
		if d != nil {
			columns[i] = d.Milliseconds()
		}
	}
	return tx.WriteOne(`UPDATE teams SET keep_content = ?, keep_emails = ?, keep_broadcasts = ? WHERE id = ?`, columns[0], columns[1], columns[2], t.TeamID)
}

// AgedOut reports whether retention may have deleted a missing email of a team: its id is
// below the last checked email, and the team has a domain.
func (r *Reader) AgedOut(teamID, emailID string) (bool, error) {
	err := r.Exists(`SELECT 1 FROM aged WHERE team_id = ? AND kind = 'email' AND email_id >= ?
		AND EXISTS (SELECT 1 FROM domains AS d WHERE d.team_id = aged.team_id)`, teamID, emailID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// PurgeDoubts deletes at most limit doubts settled before a time, and reports whether
// there may be more.
func (tx *Tx) PurgeDoubts(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM doubts WHERE id IN (SELECT id FROM doubts WHERE id < ? AND settled_at <= ? ORDER BY id LIMIT ?)`,
		app.FirstID(before), milli(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge doubts: %w", err)
	}
	return n == int64(limit), nil
}

// PurgeTroubles deletes at most limit relay troubles that ended before a time, and reports
// whether there may be more.
func (tx *Tx) PurgeTroubles(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM relay_troubles WHERE id IN (SELECT id FROM relay_troubles WHERE id < ? AND ended_at <= ? ORDER BY id LIMIT ?)`,
		app.FirstID(before), milli(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge troubles: %w", err)
	}
	return n == int64(limit), nil
}

// PurgeDays deletes a team's daily counts before a day.
func (tx *Tx) PurgeDays(teamID string, before int64) error {
	if err := tx.Write(`DELETE FROM team_days WHERE team_id = ? AND day < ?`, teamID, before); err != nil {
		return fmt.Errorf("purge days: %w", err)
	}
	return nil
}
