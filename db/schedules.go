package db

import (
	"time"

	"mailer/app"
)

// MoveUnit has a waiting unit tried at another time, from the beginning: an
// attempt that is under way finds itself out of date. at must not be before
// tx.Now. One that is held stays so. Error: ErrNotFound when it is committed or gone.
func (tx *Tx) MoveUnit(emailID string, at time.Time) error {
	return tx.WriteOne(`UPDATE units SET state = CASE state WHEN 'held' THEN 'held' ELSE 'later' END, attempts = 0, next_at = ?, since = NULL, deferred_at = NULL WHERE email_id = ? AND state <> 'committed'`, milli(at), emailID)
}

// SetScheduledAt notes the time that an email is scheduled for.
func (tx *Tx) SetScheduledAt(id string, at time.Time) error {
	err := tx.Write(`UPDATE emails SET scheduled_at = ? WHERE id = ?`, milli(at), id)
	return err
}

// WithdrawUnit ends the work on a unit that waits. Error: ErrNotFound when it is committed
// or gone.
func (tx *Tx) WithdrawUnit(u app.Unit) error {
	n, err := tx.Exec(`DELETE FROM units WHERE email_id = ? AND state <> 'committed'`, u.EmailID)
	if err := oneRow(n, err, ErrNotFound); err != nil || u.BroadcastID == "" {
		return err
	}
	tx.endBroadcastUnit(u.BroadcastID)
	return nil
}

// IsAttempt reports whether the attempt that u was read for is still the latest
// of its email: it was neither withdrawn nor moved since.
func (r *Reader) IsAttempt(u app.Unit) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM units WHERE email_id = ? AND attempts = ? AND `+notOwnedByOther, []any{u.EmailID, u.Attempts, nullText(u.Owner)}, &n)
	return n > 0, err
}

// IsCommitted reports whether the final dot of an email may be on its way.
func (r *Reader) IsCommitted(emailID string) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM units WHERE email_id = ? AND state = 'committed'`, []any{emailID}, &n)
	return n > 0, err
}

// CancelRecipients ends the waiting of an email's recipients.
func (tx *Tx) CancelRecipients(emailID string) error {
	err := tx.Write(`UPDATE recipients SET state = 'canceled' WHERE email_id = ? AND state = 'queued'`, emailID)
	return err
}
