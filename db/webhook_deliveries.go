package db

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
)

const deliveryColumns = `d.webhook_id, d.event_id, h.team_id, h.type, h.created_at, d.status, d.attempts, d.next_at,
	(SELECT coalesce(a.http_status, 0) FROM webhook_attempts AS a WHERE a.webhook_id = d.webhook_id AND a.event_id = d.event_id ORDER BY a.id DESC LIMIT 1)`

func deliveryDest(d *webhook.Delivery, created *int64, next *sql.NullInt64) []any {
	return []any{&d.WebhookID, &d.ID, &d.TeamID, &d.Type, created, &d.Status, &d.Attempts, next, &d.LastStatus}
}

func scanDelivery(s scanner) (webhook.Delivery, error) {
	var d webhook.Delivery
	var created int64
	var next sql.NullInt64
	err := s.Scan(deliveryDest(&d, &created, &next)...)
	d.CreatedAt, d.NextAt = fromMilli(created), fromMilli(next.Int64)
	return d, err
}

// Delivery returns the delivery of a team's event to a webhook, with its payload.
func (r *Reader) Delivery(teamID, webhookID, eventID string) (webhook.Delivery, error) {
	var d webhook.Delivery
	var created int64
	var next sql.NullInt64
	var payload string
	err := r.Row(`SELECT `+deliveryColumns+`, h.payload FROM deliveries AS d JOIN webhook_events AS h ON h.id = d.event_id
		WHERE d.webhook_id = ? AND d.event_id = ? AND h.team_id = ?`, []any{webhookID, eventID, teamID},
		append(deliveryDest(&d, &created, &next), &payload)...)
	if errors.Is(err, ErrNotFound) {
		return r.waitingDelivery(teamID, webhookID, eventID)
	}
	d.CreatedAt, d.NextAt, d.Payload = fromMilli(created), fromMilli(next.Int64), []byte(payload)
	return d, err
}

// ListDeliveries returns a page of the deliveries of a webhook, newest first, without
// payloads: events that wait for their first attempt, then stored deliveries. Error:
// ErrNotFound for an unknown cursor.
func (r *Reader) ListDeliveries(w *webhook.Webhook, page app.Page) ([]webhook.Delivery, bool, error) {
	var cursorSeq int64 // Seq of a cursor among the waiting events; 0: it is a stored delivery
	exists := func(cursor string) error {
		d, err := r.Delivery(w.TeamID, w.ID, cursor)
		if d.Seq > w.Reached {
			cursorSeq = d.Seq
		}
		return err
	}
	return keyset(r, page, exists, func(limit int) ([]webhook.Delivery, error) {
		if page.Before != "" {
			return r.newerDeliveries(w, page.Before, cursorSeq, limit)
		}
		return r.olderDeliveries(w, page.After, cursorSeq, limit)
	})
}

func (r *Reader) olderDeliveries(w *webhook.Webhook, cursor string, cursorSeq int64, limit int) (rows []webhook.Delivery, err error) {
	if cursor == "" || cursorSeq > 0 {
		before := term{w.Reached, math.MaxInt64, nil}
		if cursorSeq > 0 {
			before.until = cursorSeq - 1
		}
		if rows, err = r.waiting(w, before, true, limit); err != nil {
			return nil, err
		}
		cursor = lastID
	}
	more, err := list(r, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries AS d CROSS JOIN webhook_events AS h ON h.id = d.event_id
		WHERE d.webhook_id = ? AND h.team_id = ? AND d.event_id < ? ORDER BY d.event_id DESC LIMIT ?`, w.ID, w.TeamID, cursor, limit-len(rows))
	return append(rows, more...), err
}

func (r *Reader) newerDeliveries(w *webhook.Webhook, cursor string, cursorSeq int64, limit int) (rows []webhook.Delivery, err error) {
	if cursorSeq == 0 {
		rows, err = list(r, scanDelivery, `SELECT `+deliveryColumns+` FROM deliveries AS d CROSS JOIN webhook_events AS h ON h.id = d.event_id
			WHERE d.webhook_id = ? AND h.team_id = ? AND d.event_id > ? ORDER BY d.event_id LIMIT ?`, w.ID, w.TeamID, cursor, limit)
		if err != nil {
			return nil, err
		}
	}
	more, err := r.waiting(w, term{max(w.Reached, cursorSeq), math.MaxInt64, nil}, false, limit-len(rows))
	return append(rows, more...), err
}

// DueDelivery is an event that is or will be due at a webhook.
type DueDelivery struct {
	WebhookID, EventID string
	Attempts           int
	NextAt             time.Time
	Seq                int64 // of an event without stored delivery; 0: it has one
}

// DueDeliveries returns the next stored deliveries of a webhook, at most limit. The events
// of WaitingEvents are due in addition.
func (r *Reader) DueDeliveries(webhookID string, limit int) ([]DueDelivery, error) {
	return list(r, func(s scanner) (DueDelivery, error) {
		d := DueDelivery{WebhookID: webhookID}
		var next int64
		err := s.Scan(&d.EventID, &d.Attempts, &next)
		d.NextAt = fromMilli(next)
		return d, err
	}, `SELECT event_id, attempts, next_at FROM deliveries WHERE webhook_id = ? AND next_at IS NOT NULL ORDER BY next_at, event_id LIMIT ?`, webhookID, limit)
}

// BeginDelivery counts an attempt before it begins, and stores when the next one is due if
// this one never ends. Error: ErrNotFound if the delivery changed since it was read.
func (tx *Tx) BeginDelivery(d DueDelivery, next time.Time) error {
	return tx.WriteOne(`UPDATE deliveries SET attempts = attempts + 1, next_at = ? WHERE webhook_id = ? AND event_id = ? AND attempts = ? AND next_at = ?`,
		milli(next), d.WebhookID, d.EventID, d.Attempts, milli(d.NextAt))
}

// DeferDelivery reschedules a delivery whose begun attempt was not made to next, and does
// not count it. It ignores a delivery that changed.
func (tx *Tx) DeferDelivery(webhookID, eventID string, attempts int, next time.Time) error {
	err := tx.Write(`UPDATE deliveries SET attempts = attempts - 1, next_at = ? WHERE webhook_id = ? AND event_id = ? AND attempts = ?`,
		milli(next), webhookID, eventID, attempts)
	return err
}

// EndDelivery records the result of an attempt: next is the time of the following attempt,
// zero for none. If the delivery was replayed during the attempt, it does not change and
// current is false. Error: ErrNotFound if the delivery is gone.
func (tx *Tx) EndDelivery(webhookID, eventID string, attempts int, status webhook.DeliveryStatus, next time.Time) (current bool, err error) {
	n, err := tx.Exec(`UPDATE deliveries SET status = ?, next_at = ? WHERE webhook_id = ? AND event_id = ? AND attempts = ?`,
		string(status), nullTime(next), webhookID, eventID, attempts)
	if err != nil || n > 0 {
		return n > 0, err
	}
	return false, tx.Exists(`SELECT 1 FROM deliveries WHERE webhook_id = ? AND event_id = ?`, webhookID, eventID)
}

// HastenDelivery makes a delivery that waits for its next attempt due now, and reports
// whether it waited.
func (tx *Tx) HastenDelivery(webhookID, eventID string) (bool, error) {
	n, err := tx.Exec(`UPDATE deliveries SET next_at = ?1 WHERE webhook_id = ?2 AND event_id = ?3 AND status = 'pending' AND next_at > ?1`,
		milli(tx.Now), webhookID, eventID)
	return n > 0, err
}

// ReplayDelivery sends an event to a webhook again, from the start of the retry schedule.
// Error: ErrNotFound.
func (tx *Tx) ReplayDelivery(webhookID, eventID string) error {
	return tx.WriteOne(`UPDATE deliveries SET status = 'pending', attempts = 0, next_at = ? WHERE webhook_id = ? AND event_id = ?`,
		milli(tx.Now), webhookID, eventID)
}

// InsertDirected stores an event for one webhook, whose first attempt is due now. The event has no Seq, so no
// other webhook gets it.
func (tx *Tx) InsertDirected(webhookID string, h *webhook.Event) error {
	err := tx.Write(`INSERT INTO webhook_events (id, team_id, seq, type, payload, created_at) VALUES (?, ?, 0, ?, ?, ?)`,
		h.ID, h.TeamID, string(h.Type), string(h.Payload), milli(h.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert webhook event: %w", err)
	}
	err = tx.Write(`INSERT INTO deliveries (webhook_id, event_id, status, attempts, next_at) VALUES (?, ?, 'pending', 0, ?)`, webhookID, h.ID, milli(tx.Now))
	if err != nil {
		return fmt.Errorf("insert delivery: %w", err)
	}
	return nil
}

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
