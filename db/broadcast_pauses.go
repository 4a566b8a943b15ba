package db

import "mailer/app"

// PauseBroadcast stops a queued broadcast until ResumeBroadcast. While it is paused, no
// unit can begin or be committed. Error: ErrNotFound if it is not queued or already
// paused.
func (tx *Tx) PauseBroadcast(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET paused_at = ? WHERE team_id = ? AND id = ? AND status = 'queued' AND paused_at IS NULL`, milli(tx.Now), teamID, id)
}

// ResumeBroadcast ends the pause of a broadcast. ReleasePaused then releases its units.
// Error: ErrNotFound if it is not paused.
func (tx *Tx) ResumeBroadcast(teamID, id string) error {
	tx.publishBroadcast(teamID, id)
	return tx.WriteOne(`UPDATE broadcasts SET paused_at = NULL WHERE team_id = ? AND id = ? AND status = 'queued' AND paused_at IS NOT NULL`, teamID, id)
}

// PauseUnit holds a unit until its broadcast is resumed, and does not count a begun
// attempt. It returns false and changes nothing if the broadcast is not paused or the unit
// changed since it was read.
func (tx *Tx) PauseUnit(u app.Unit) (paused bool, err error) {
	n, err := tx.Exec(`UPDATE units SET held = 'paused', held_at = ?, attempts = CASE WHEN state = 'begun' AND attempts > 0 THEN attempts - 1 ELSE attempts END, state = 'held', owner = NULL
		WHERE email_id = ? AND attempts = ? AND (state = 'due' OR state = 'begun' AND owner IS NOT DISTINCT FROM ?)
		AND EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = units.broadcast_id AND b.status = 'queued' AND b.paused_at IS NOT NULL)`,
		milli(tx.Now), u.EmailID, u.Attempts, nullText(u.Owner))
	return n > 0, err
}

// HasPausedUnits reports whether a broadcast has units held by a pause.
func (r *Reader) HasPausedUnits(broadcastID string) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM units WHERE broadcast_id = ? AND held = 'paused')`, []any{broadcastID}, &has)
	return has, err
}

// ReleasePaused releases up to limit paused units of a resumed broadcast, and returns
// their number. The time they were held does not count toward their expiry.
func (tx *Tx) ReleasePaused(broadcastID string, limit int) (int64, error) {
	return tx.Exec(`UPDATE units SET state = CASE WHEN next_at > ?1 THEN 'later' ELSE 'due' END,
		stood = CASE WHEN held_at IS NULL OR held_at >= ?1 THEN stood ELSE coalesce(stood || ',', '') || CAST(held_at AS TEXT) || '-' || CAST(?1 AS TEXT) END,
		held = NULL, held_at = NULL
		WHERE email_id IN (SELECT email_id FROM units WHERE broadcast_id = ?2 AND held = 'paused' LIMIT ?3)
		AND EXISTS (SELECT 1 FROM broadcasts AS b WHERE b.id = ?2 AND b.status = 'queued' AND b.paused_at IS NULL)`, milli(tx.Now), broadcastID, limit)
}
