package db

import (
	"time"

	"mailer/app"
)

// MoveUnit reschedules a waiting unit to at and resets its attempts. A running attempt
// becomes invalid. at must not be before tx.Now. A held unit stays held. Error:
// ErrNotFound if the unit is committed or gone.
func (tx *Tx) MoveUnit(emailID string, at time.Time) error {
	return tx.WriteOne(`UPDATE units SET state = CASE state WHEN 'held' THEN 'held' ELSE 'later' END, attempts = 0, next_at = ?, since = NULL, deferred_at = NULL WHERE email_id = ? AND state <> 'committed'`, milli(at), emailID)
}

// SetScheduledAt stores the scheduled time of an email.
func (tx *Tx) SetScheduledAt(id string, at time.Time) error {
	err := tx.Write(`UPDATE emails SET scheduled_at = ? WHERE id = ?`, milli(at), id)
	return err
}

// WithdrawUnit deletes a waiting unit. Error: ErrNotFound if the unit is committed or
// gone.
func (tx *Tx) WithdrawUnit(u app.Unit) error {
	n, err := tx.Exec(`DELETE FROM units WHERE email_id = ? AND state <> 'committed'`, u.EmailID)
	if err := oneRow(n, err, ErrNotFound); err != nil || u.BroadcastID == "" {
		return err
	}
	tx.endBroadcastUnit(u.BroadcastID)
	return nil
}

// IsAttempt reports whether the attempt that u was read for is still the latest of its
// email: the unit was not withdrawn or moved.
func (r *Reader) IsAttempt(u app.Unit) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM units WHERE email_id = ? AND attempts = ? AND `+notOwnedByOther, []any{u.EmailID, u.Attempts, nullText(u.Owner)}, &n)
	return n > 0, err
}

// IsCommitted reports whether the final dot of an email may have been sent.
func (r *Reader) IsCommitted(emailID string) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM units WHERE email_id = ? AND state = 'committed'`, []any{emailID}, &n)
	return n > 0, err
}

// CancelRecipients marks the waiting recipients of an email as canceled.
func (tx *Tx) CancelRecipients(emailID string) error {
	err := tx.Write(`UPDATE recipients SET state = 'canceled' WHERE email_id = ? AND state = 'queued'`, emailID)
	return err
}
