package db

import (
	"fmt"
	"time"

	"mailer/app"
)

// Refused sends have emails.unsent = 1. They have an envelope and a timeline, but no
// content and no open work, and only lists that ask for them include them.

// InsertUnsent stores a record of a send that was refused because all of its recipients
// are suppressed.
func (tx *Tx) InsertUnsent(e *app.Email, recipients []string) error {
	row := *e
	row.Attachments = nil
	if err := tx.insertEmailRow(&row); err != nil {
		return err
	}
	if err := tx.Write(`UPDATE emails SET unsent = 1, content_deleted_at = ? WHERE id = ?`, milli(tx.Now), e.ID); err != nil {
		return err
	}
	for n, address := range recipients {
		if err := tx.Write(`INSERT INTO recipients (email_id, n, address, state) VALUES (?, ?, ?, 'suppressed')`, e.ID, n, address); err != nil {
			return fmt.Errorf("insert recipient: %w", err)
		}
	}
	return nil
}

// CountUnsent returns the number of a team's refused sends since a time.
func (r *Reader) CountUnsent(teamID string, since time.Time) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM emails WHERE team_id = ? AND unsent = 1 AND created_at >= ?`, []any{teamID, milli(since)}, &n)
	return n, err
}

// PurgeUnsent deletes at most limit refused sends of a team before a time, and reports
// whether there may be more.
func (tx *Tx) PurgeUnsent(teamID string, before time.Time, limit int) (more bool, err error) {
	ids, err := list(&tx.Reader, scanText, `SELECT id FROM emails WHERE team_id = ? AND unsent = 1 AND created_at <= ? ORDER BY created_at LIMIT ?`, teamID, milli(before), limit)
	if err != nil {
		return false, fmt.Errorf("read refused sends: %w", err)
	}
	for _, id := range ids {
		if err := tx.DeleteAgedEmail(teamID, id); err != nil {
			return false, fmt.Errorf("purge a refused send: %w", err)
		}
	}
	return len(ids) == limit, nil
}
