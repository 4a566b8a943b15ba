package db

import (
	"database/sql"
	"time"

	"mailer/app"
)

// The recipients of an email may be in several queues, each with a transaction of its own. The
// email has one unit all the same, which goes from queue to queue: units.part is the queue whose
// recipients it is sent to next, and the queue in which it waits until its final dot.

// SplitRecipients puts the recipients of an email into queues, by address.
func (tx *Tx) SplitRecipients(emailID string, queues map[string]string) error {
	var args [][]any
	for address, queue := range queues {
		args = append(args, []any{queue, emailID, address})
	}
	_, err := tx.ExecAll(`UPDATE recipients SET queue = ? WHERE email_id = ? AND address = ?`, args)
	return err
}

// TransactionRecipients returns the waiting recipients of the next transaction of a unit, in
// envelope order.
func (r *Reader) TransactionRecipients(u app.Unit) ([]string, error) {
	if u.Part == "" {
		return r.OpenRecipients(u)
	}
	return list(r, scanText, `SELECT address FROM recipients WHERE email_id = ? AND queue = ? AND state = 'queued' ORDER BY n`, u.EmailID, u.Part)
}

// NextPart returns the first queue after another one in which recipients of an email wait. Error:
// ErrNotFound without one.
func (r *Reader) NextPart(emailID, after string) (queue string, err error) {
	var first sql.NullString
	err = r.Row(`SELECT min(queue) FROM recipients WHERE email_id = ? AND state = 'queued' AND queue > ?`, []any{emailID, after}, &first)
	if err == nil && !first.Valid {
		err = ErrNotFound
	}
	return first.String, err
}

// MovePart moves the waiting recipients of the part of a unit to another queue.
func (tx *Tx) MovePart(u app.Unit, queue string) error {
	return tx.Write(`UPDATE recipients SET queue = ? WHERE email_id = ? AND queue = ? AND state = 'queued'`, queue, u.EmailID, u.Part)
}

// RequeuePart is RequeueUnit for the recipients in another queue. The signature is dropped, since
// the message of another relay may have other header fields.
func (tx *Tx) RequeuePart(u app.Unit, part string, attempts int, next time.Time) error {
	return tx.WriteOne(`UPDATE units SET state = CASE WHEN CAST(?1 AS bigint) > ?2 THEN 'later' ELSE 'due' END, attempts = ?3, next_at = ?1, owner = NULL, relay = ?7, part = ?7, signature = NULL
		WHERE email_id = ?4 AND attempts = ?5 AND state <> 'held' AND (state NOT IN ('begun', 'committed') OR owner IS NOT DISTINCT FROM ?6)`, milli(next), milli(tx.Now), attempts, u.EmailID, u.Attempts, nullText(u.Owner), part)
}

// StuckParts returns at most limit units of a queue that were due before a time and whose emails
// have recipients in several queues. It scans the due units of emails in that queue.
func (r *Reader) StuckParts(queue string, before time.Time, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units WHERE relay = ? AND bulk = 0 AND state = 'due' AND next_at < ? AND part IS NOT NULL LIMIT ?`, queue, milli(before), limit)
}

// LastDoubt returns the time of the newest open doubt of an email at a relay. Error: ErrNotFound
// without one.
func (r *Reader) LastDoubt(emailID, relay string) (at time.Time, err error) {
	var created int64
	err = r.Row(`SELECT created_at FROM doubts WHERE email_id = ? AND relay = ? AND settled_at IS NULL ORDER BY id DESC LIMIT 1`, []any{emailID, relay}, &created)
	return fromMilli(created), err
}

// SettleDoubtsAt is SettleDoubts for the doubts of one relay.
func (tx *Tx) SettleDoubtsAt(emailID, relay, how string) error {
	return tx.Write(`UPDATE doubts SET settled_at = ?, settled = ? WHERE email_id = ? AND relay = ? AND settled_at IS NULL`, milli(tx.Now), how, emailID, relay)
}
