package db

import (
	"fmt"
	"time"

	"mailer/app"
)

// InsertHappening notes what webhooks will carry.
func (tx *Tx) InsertHappening(h *app.Happening) error {
	_, err := tx.exec(`INSERT INTO happenings (id, team_id, type, payload, created_at) VALUES (?, ?, ?, ?, ?)`,
		h.ID, h.TeamID, string(h.Type), string(h.Payload), milli(h.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert happening: %w", err)
	}
	return nil
}

// PurgeHappenings deletes at most limit happenings from before a time and tells
// whether there may be more. Ids are in the order of time, so the oldest come
// first.
func (tx *Tx) PurgeHappenings(before time.Time, limit int) (more bool, err error) {
	n, err := tx.exec(`DELETE FROM happenings WHERE id IN (SELECT id FROM happenings ORDER BY id LIMIT ?1) AND created_at < ?2`, limit, milli(before))
	if err != nil {
		return false, fmt.Errorf("purge happenings: %w", err)
	}
	return n == int64(limit), nil
}
