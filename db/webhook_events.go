package db

import (
	"database/sql"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
)

// InsertWebhookEvent stores an event for all webhooks that subscribe to it, and sets its
// Seq. Writes are serialized, so a reader that has seen a Seq has seen all smaller ones of
// any process.
func (tx *Tx) InsertWebhookEvent(h *webhook.Event) error {
	err := tx.Row(`INSERT INTO webhook_event_counts (team_id, last) VALUES (?, 1)
		ON CONFLICT (team_id) DO UPDATE SET last = webhook_event_counts.last + 1 RETURNING last`, []any{h.TeamID}, &h.Seq)
	if err != nil {
		return fmt.Errorf("count webhook event: %w", err)
	}
	err = tx.Write(`INSERT INTO webhook_events (id, team_id, seq, type, payload, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		h.ID, h.TeamID, h.Seq, string(h.Type), string(h.Payload), milli(h.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert webhook event: %w", err)
	}
	return nil
}

// PurgeWebhookEvents deletes at most limit events before a time and reports whether there
// may be more. Ids are in time order, so the oldest are deleted first.
func (tx *Tx) PurgeWebhookEvents(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM webhook_events WHERE id IN (SELECT id FROM webhook_events ORDER BY id LIMIT ?1) AND created_at < ?2`, limit, milli(before))
	if err != nil {
		return false, fmt.Errorf("purge webhook events: %w", err)
	}
	return n == int64(limit), nil
}

// WebhookIDs returns the ids of all teams' webhooks after an id, at most limit.
func (r *Reader) WebhookIDs(after string, limit int) ([]string, error) {
	return list(r, scanText, `SELECT id FROM webhooks WHERE id > ? ORDER BY id LIMIT ?`, after, limit)
}

// PurgeDeliveries deletes at most limit deliveries of a webhook, and as many attempts,
// whose events were purged. It reports whether there may be more.
func (tx *Tx) PurgeDeliveries(webhookID string, limit int) (more bool, err error) {
	oldest := "~" // sorts after every id
	err = tx.Row(`SELECT id FROM webhook_events ORDER BY id LIMIT 1`, nil, &oldest)
	if err := ignoreNotFound(err); err != nil {
		return false, err
	}
	deliveries, err := tx.Exec(`DELETE FROM deliveries WHERE webhook_id = ?1 AND event_id IN
		(SELECT event_id FROM deliveries WHERE webhook_id = ?1 AND event_id < ?2 LIMIT ?3)`, webhookID, oldest, limit)
	if err != nil {
		return false, fmt.Errorf("purge deliveries: %w", err)
	}
	attempts, err := tx.Exec(`DELETE FROM webhook_attempts WHERE webhook_id = ?1 AND (event_id, id) IN
		(SELECT event_id, id FROM webhook_attempts WHERE webhook_id = ?1 AND event_id < ?2 LIMIT ?3)`, webhookID, oldest, limit)
	if err != nil {
		return false, fmt.Errorf("purge attempts: %w", err)
	}
	return deliveries == int64(limit) || attempts == int64(limit), tx.forgetTerms(webhookID)
}

// WebhookEmail returns the part of an email that webhook events contain: its head and its
// own header fields. Confirmations of opt-ins are not found: they have no events.
func (r *Reader) WebhookEmail(teamID, id string) (app.Email, error) {
	var row emailRow
	var headers sql.NullString
	err := r.Row(`SELECT `+emailColumns+`, c.headers FROM emails AS e LEFT JOIN contents AS c ON c.email_id = e.id
		WHERE e.team_id = ? AND e.id = ? AND e.for_opt_in IS NULL`, []any{teamID, id}, append(row.dest(), &headers)...)
	if err != nil {
		return app.Email{}, err
	}
	e, err := row.finish()
	if err != nil {
		return e, err
	}
	return e, fromJSON(headers, &e.Headers)
}
