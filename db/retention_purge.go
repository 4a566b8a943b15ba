package db

import (
	"fmt"
	"time"

	"mailer/app"
)

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
