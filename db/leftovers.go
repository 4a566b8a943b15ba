package db

import (
	"database/sql"
	"errors"
	"fmt"

	"mailer/db/engine"
)

// addLeftover records that rows of a deleted topic, segment or webhook, or values of a
// deleted property, must still be deleted.
func (tx *Tx) addLeftover(teamID, id, property string) error {
	err := tx.Write(`INSERT INTO leftovers (id, team_id, property, contact_id) VALUES (?, ?, ?, '')`, id, teamID, nullText(property))
	return err
}

// HasLeftovers reports whether contacts of a team may still have values of a deleted
// property with that key.
func (r *Reader) HasLeftovers(teamID, property string) (left bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM leftovers WHERE team_id = ? AND property = ?)`, []any{teamID, property}, &left)
	return left, err
}

// leftover is a row of leftovers.
type leftover struct {
	id, team, after string
	property        sql.NullString
}

// PurgeLeftovers deletes at most limit rows from each table of one deleted topic, segment
// or webhook, or examines as many contacts for values of a deleted property. It reports
// whether there may be more.
func (tx *Tx) PurgeLeftovers(limit int) (more bool, err error) {
	var l leftover
	err = tx.Row(`SELECT id, team_id, property, contact_id FROM leftovers ORDER BY id LIMIT 1`, nil, &l.id, &l.team, &l.property, &l.after)
	if err != nil {
		return false, ignoreNotFound(err)
	}
	purge := tx.purgeRows
	if l.property.Valid {
		purge = tx.purgeValues
	}
	if more, err = purge(&l, limit); err != nil || more {
		return more, err
	}
	err = tx.Write(`DELETE FROM leftovers WHERE id = ?`, l.id)
	return true, err
}

func (tx *Tx) purgeRows(l *leftover, limit int) (more bool, err error) {
	tx.Changed(engine.Suppressions)
	choices, err := tx.Exec(`DELETE FROM choices WHERE topic_id = ?1 AND address IN
		(SELECT address FROM choices WHERE topic_id = ?1 LIMIT ?2)`, l.id, limit)
	if err != nil {
		return false, fmt.Errorf("purge choices: %w", err)
	}
	members, err := tx.Exec(`DELETE FROM members WHERE segment_id = ?1 AND contact_id IN
		(SELECT contact_id FROM members WHERE segment_id = ?1 LIMIT ?2)`, l.id, limit)
	if err != nil {
		return false, fmt.Errorf("purge members: %w", err)
	}
	sent, err := tx.purgeWebhook(l.id, limit)
	return choices+members+sent > 0, err
}

// purgeWebhook deletes deliveries, attempts and terms of a deleted webhook.
func (tx *Tx) purgeWebhook(webhookID string, limit int) (n int64, err error) {
	deliveries, err := tx.Exec(`DELETE FROM deliveries WHERE webhook_id = ?1 AND event_id IN
		(SELECT event_id FROM deliveries WHERE webhook_id = ?1 LIMIT ?2)`, webhookID, limit)
	if err != nil {
		return 0, fmt.Errorf("purge deliveries: %w", err)
	}
	attempts, err := tx.Exec(`DELETE FROM webhook_attempts WHERE webhook_id = ?1 AND (event_id, id) IN
		(SELECT event_id, id FROM webhook_attempts WHERE webhook_id = ?1 LIMIT ?2)`, webhookID, limit)
	if err != nil {
		return 0, fmt.Errorf("purge attempts: %w", err)
	}
	terms, err := tx.Exec(`DELETE FROM webhook_terms WHERE webhook_id = ?1 AND until IN
		(SELECT until FROM webhook_terms WHERE webhook_id = ?1 LIMIT ?2)`, webhookID, limit)
	if err != nil {
		return 0, fmt.Errorf("purge webhook terms: %w", err)
	}
	return deliveries + attempts + terms, nil
}

// purgeValues removes a property from the next limit contacts. Contacts created after the
// property was deleted are not examined.
func (tx *Tx) purgeValues(l *leftover, limit int) (more bool, err error) {
	tx.Changed(engine.Suppressions)
	last := l.id // ids are in time order
	err = tx.Row(`SELECT id FROM contacts WHERE team_id = ? AND id > ? AND id < ? ORDER BY id LIMIT 1 OFFSET ?`,
		[]any{l.team, l.after, last, limit - 1}, &last)
	ended := errors.Is(err, ErrNotFound)
	if err != nil && !ended {
		return false, err
	}
	tx.ChangedCounts(l.team)
	err = tx.Write(`UPDATE contacts SET properties = nullif(jsonb_remove(properties, '$.' || ?1), jsonb('{}'))
		WHERE team_id = ?2 AND id > ?3 AND id <= ?4 AND properties ->> ?1 IS NOT NULL`, l.property.String, l.team, l.after, last)
	if err != nil {
		return false, fmt.Errorf("purge values: %w", err)
	}
	err = tx.Write(`UPDATE leftovers SET contact_id = ? WHERE id = ?`, last, l.id)
	return !ended, err
}
