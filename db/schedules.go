package db

import (
	"time"

	"mailer/app"
)

// EmailHead returns an email without its addresses, subject and content: key,
// relay, Message-ID, schedule and last event.
func (r *Reader) EmailHead(teamID, id string) (app.Email, error) {
	e := app.Email{ID: id, TeamID: teamID}
	var key *string
	var scheduled *int64
	err := r.row(`SELECT key_id, relay, message_id, scheduled_at, last_event FROM emails WHERE team_id = ? AND id = ?`,
		[]any{teamID, id}, &key, &e.Relay, &e.MessageID, &scheduled, &e.LastEvent)
	if key != nil {
		e.KeyID = *key
	}
	if scheduled != nil {
		e.ScheduledAt = fromMilli(*scheduled)
	}
	return e, err
}

// MoveUnit has a waiting unit tried at another time, from the beginning: an
// attempt that is under way finds itself out of date. at must not be before
// tx.Now. Error: ErrNotFound when it is dotted or gone.
func (tx *Tx) MoveUnit(emailID string, at time.Time) error {
	n, err := tx.exec(`UPDATE units SET attempts = 0, next_at = ?, since = NULL WHERE email_id = ? AND state = 'queued'`, milli(at), emailID)
	return oneRow(n, err, ErrNotFound)
}

// SetScheduledAt notes the time that an email is scheduled for.
func (tx *Tx) SetScheduledAt(id string, at time.Time) error {
	_, err := tx.exec(`UPDATE emails SET scheduled_at = ? WHERE id = ?`, milli(at), id)
	return err
}

// WithdrawUnit ends the work on an email that waits. Error: ErrNotFound when it
// is dotted or gone.
func (tx *Tx) WithdrawUnit(emailID string) error {
	n, err := tx.exec(`DELETE FROM units WHERE email_id = ? AND state = 'queued'`, emailID)
	return oneRow(n, err, ErrNotFound)
}

// IsAttempt reports whether the attempt that u was read for is still the latest
// of its email: it was neither withdrawn nor moved since.
func (r *Reader) IsAttempt(u app.Unit) (bool, error) {
	var n int
	err := r.row(`SELECT count(*) FROM units WHERE email_id = ? AND attempts = ?`, []any{u.EmailID, u.Attempts}, &n)
	return n > 0, err
}

// IsDotted reports whether the final dot of an email may be on its way.
func (r *Reader) IsDotted(emailID string) (bool, error) {
	var n int
	err := r.row(`SELECT count(*) FROM units WHERE email_id = ? AND state = 'dotted'`, []any{emailID}, &n)
	return n > 0, err
}

// CancelRecipients ends the waiting of an email's recipients.
func (tx *Tx) CancelRecipients(emailID string) error {
	_, err := tx.exec(`UPDATE recipients SET state = 'canceled' WHERE email_id = ? AND state = 'queued'`, emailID)
	return err
}

// DeleteEmail removes an email with all that belongs to it.
func (tx *Tx) DeleteEmail(teamID, id string) error {
	n, err := tx.exec(`DELETE FROM emails WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM units WHERE email_id = ?`, id); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM events WHERE email_id = ?`, id); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM captures WHERE email_id = ?`, id); err != nil {
		return err
	}
	if _, err := tx.exec(`DELETE FROM provider_ids WHERE email_id = ?`, id); err != nil {
		return err
	}
	_, err = tx.exec(`DELETE FROM doubts WHERE email_id = ?`, id)
	return err
}
