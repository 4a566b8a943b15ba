package db

import (
	"time"

	"mailer/app"
)

// OpenUnits returns up to limit units that are not held, after an id in id order.
func (r *Reader) OpenUnits(after string, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units WHERE email_id > ? AND state <> 'held' ORDER BY email_id LIMIT ?`, after, limit)
}

// HoldOpenUnits is HoldUnit for all units that are not held or held by a pause of their
// broadcast. Their expiry clocks stop at since.
func (tx *Tx) HoldOpenUnits(why app.HoldReason, since time.Time) error {
	err := tx.Write(`UPDATE units SET held = ?, held_at = coalesce(held_at, ?), attempts = CASE WHEN state = 'begun' AND attempts > 0 THEN attempts - 1 ELSE attempts END, state = 'held'
		WHERE state <> 'held' OR held = 'paused'`, string(why), milli(since))
	return err
}

// HoldOpenBroadcasts is HoldBroadcast for all scheduled and queued broadcasts. It returns
// the number of their waiting recipients.
func (tx *Tx) HoldOpenBroadcasts(why app.HoldReason, since time.Time) (recipients int64, err error) {
	err = tx.Row(`SELECT coalesce(sum(open + CASE WHEN expanded = 1 OR written > audience THEN written ELSE audience END - begun), 0)
		FROM broadcasts WHERE status IN ('scheduled', 'queued') AND held IS NULL`, nil, &recipients)
	if err != nil {
		return 0, err
	}
	err = tx.Write(`UPDATE broadcasts SET held = ?, held_at = ? WHERE status IN ('scheduled', 'queued') AND held IS NULL`, string(why), milli(since))
	return recipients, err
}

// HoldDueOptIns holds the confirmations of opt-ins that are due, and returns how many.
func (tx *Tx) HoldDueOptIns() (int64, error) {
	return tx.Exec(`UPDATE opt_ins SET mail = 'held' WHERE mail = 'due'`)
}

// ReleaseOptIns makes the held confirmations of a team due again, or of all teams for "", and returns how
// many.
func (tx *Tx) ReleaseOptIns(teamID string) (int64, error) {
	return tx.Exec(`UPDATE opt_ins SET mail = 'due' WHERE mail = 'held' AND (CAST(?1 AS text) IS NULL OR team_id = ?1)`, nullText(teamID))
}

// DropHeldOptIns records that the held confirmations of a team, or of all teams for "", are not sent, and
// returns how many.
func (tx *Tx) DropHeldOptIns(teamID string) (int64, error) {
	return tx.Exec(`UPDATE opt_ins SET mail = 'none' WHERE mail = 'held' AND (CAST(?1 AS text) IS NULL OR team_id = ?1)`, nullText(teamID))
}
