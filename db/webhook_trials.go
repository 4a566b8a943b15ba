package db

import (
	"fmt"

	"mailer/app/rules/webhook"
)

// InsertTrial stores a test event for one webhook with its only attempt, which begins now.
// The event has no Seq, so no other webhook gets it.
func (tx *Tx) InsertTrial(webhookID string, h *webhook.Event) error {
	err := tx.Write(`INSERT INTO webhook_events (id, team_id, seq, type, payload, created_at) VALUES (?, ?, 0, ?, ?, ?)`,
		h.ID, h.TeamID, string(h.Type), string(h.Payload), milli(h.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert webhook event: %w", err)
	}
	err = tx.Write(`INSERT INTO deliveries (webhook_id, event_id, status, attempts, next_at) VALUES (?, ?, 'failed', 1, NULL)`, webhookID, h.ID)
	if err != nil {
		return fmt.Errorf("insert delivery: %w", err)
	}
	return nil
}

// DeliveredEvent is an event with its delivery to a webhook.
type DeliveredEvent struct {
	ID     string
	Status webhook.DeliveryStatus
}

// DeliveredEvents returns the events after an id, up to another, that have a delivery to a
// webhook, oldest first, without test events.
func (r *Reader) DeliveredEvents(webhookID, after, until string, limit int) ([]DeliveredEvent, error) {
	return list(r, func(s scanner) (e DeliveredEvent, err error) {
		err = s.Scan(&e.ID, &e.Status)
		return e, err
	}, `SELECT event_id, status FROM deliveries WHERE webhook_id = ? AND event_id > ? AND event_id < ?
		AND NOT EXISTS (SELECT 1 FROM webhook_events AS h WHERE h.id = event_id AND h.seq = 0) ORDER BY event_id LIMIT ?`,
		webhookID, after, until, limit)
}

// DeliveredEvent returns the delivery of an event to a webhook. Error: ErrNotFound, also
// for an event that waits for its first attempt.
func (r *Reader) DeliveredEvent(webhookID, eventID string) (e DeliveredEvent, err error) {
	e.ID = eventID
	err = r.Row(`SELECT status FROM deliveries WHERE webhook_id = ? AND event_id = ?`, []any{webhookID, eventID}, &e.Status)
	return e, err
}

// MaxEventID sorts after every event id.
const MaxEventID = lastID
