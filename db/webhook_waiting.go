package db

import (
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"mailer/app/rules/webhook"
)

// A webhook has a position in its team's events: webhooks.reached. Events up to the
// position that it subscribes to have a delivery. Later events have none and cost nothing
// until the first attempt moves the position. A webhook gets the events that it subscribed
// to when they occurred, so a change of its subscription while events wait stores a term.

// term is a range of a team's events with the same subscription of a webhook.
type term struct {
	after, until int64 // webhook.Event.Seq
	names        []webhook.EventName
}

// terms returns the terms of a webhook after an event, oldest first.
func (r *Reader) terms(w *webhook.Webhook, after int64) ([]term, error) {
	all, err := list(r, func(s scanner) (term, error) {
		var t term
		var names sql.NullString
		if err := s.Scan(&t.until, &names); err != nil {
			return t, err
		}
		return t, fromJSON(names, &t.names)
	}, `SELECT until, events FROM webhook_terms WHERE webhook_id = ? AND until > ? ORDER BY until`, w.ID, after)
	if err != nil {
		return nil, fmt.Errorf("read webhook terms: %w", err)
	}
	for i := range all {
		all[i].after, after = after, all[i].until
	}
	return append(all, term{after, math.MaxInt64, w.Wants()}), nil
}

// waiting returns at most limit events of a term that a webhook subscribes to, oldest or
// newest first, as deliveries without payloads. The term must begin after the webhook's
// position.
func (r *Reader) waiting(w *webhook.Webhook, in term, newest bool, limit int) (rows []webhook.Delivery, err error) {
	terms, err := r.terms(w, in.after)
	if err != nil {
		return nil, err
	}
	if newest {
		slices.Reverse(terms)
	}
	for _, t := range terms {
		if t.until = min(t.until, in.until); t.after >= t.until || len(rows) >= limit {
			continue
		}
		more, err := r.eventsOf(w, t, newest, limit-len(rows))
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// eventsOf reads the events of a term. It reads the first events of each name, because any
// number of other events may be in between.
func (r *Reader) eventsOf(w *webhook.Webhook, t term, newest bool, limit int) (rows []webhook.Delivery, err error) {
	query, sign := `SELECT id, seq, created_at FROM webhook_events WHERE team_id = ? AND type = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`, 1
	if newest {
		query, sign = `SELECT id, seq, created_at FROM webhook_events WHERE team_id = ? AND type = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT ?`, -1
	}
	for _, name := range t.names {
		more, err := list(r, func(s scanner) (webhook.Delivery, error) {
			d := webhook.Delivery{WebhookID: w.ID, Event: webhook.Event{TeamID: w.TeamID, Type: name}, Status: webhook.DeliveryPending}
			var created int64
			err := s.Scan(&d.ID, &d.Seq, &created)
			d.CreatedAt, d.NextAt = fromMilli(created), fromMilli(created)
			return d, err
		}, query, w.TeamID, string(name), t.after, t.until, limit)
		if err != nil {
			return nil, fmt.Errorf("read waiting events: %w", err)
		}
		rows = append(rows, more...)
	}
	slices.SortStableFunc(rows, func(a, b webhook.Delivery) int { return sign * cmp.Compare(a.Seq, b.Seq) })
	return rows[:min(len(rows), limit)], nil
}

// waitingDelivery is Delivery for an event that waits for its first attempt.
func (r *Reader) waitingDelivery(teamID, webhookID, eventID string) (webhook.Delivery, error) {
	w, err := r.Webhook(teamID, webhookID)
	if err != nil {
		return webhook.Delivery{}, err
	}
	d := webhook.Delivery{WebhookID: w.ID, Status: webhook.DeliveryPending}
	var created int64
	var payload string
	err = r.Row(`SELECT id, team_id, seq, type, payload, created_at FROM webhook_events WHERE id = ? AND team_id = ? AND seq > ?`,
		[]any{eventID, teamID, w.Reached}, &d.ID, &d.TeamID, &d.Seq, &d.Type, &payload, &created)
	if err != nil {
		return webhook.Delivery{}, err
	}
	terms, err := r.terms(&w, d.Seq-1)
	if err != nil {
		return webhook.Delivery{}, err
	}
	if !slices.Contains(terms[0].names, d.Type) {
		return webhook.Delivery{}, ErrNotFound
	}
	d.CreatedAt, d.NextAt, d.Payload = fromMilli(created), fromMilli(created), []byte(payload)
	return d, nil
}

// WaitingEvents returns at most limit events after a Seq that a webhook subscribes to,
// oldest first. The webhook's position must not be after that Seq.
func (r *Reader) WaitingEvents(w *webhook.Webhook, after int64, limit int) (due []DueDelivery, err error) {
	rows, err := r.waiting(w, term{after, math.MaxInt64, nil}, false, limit)
	for _, d := range rows {
		due = append(due, DueDelivery{WebhookID: w.ID, EventID: d.ID, NextAt: d.NextAt, Seq: d.Seq})
	}
	return due, err
}

// BeginWaiting stores the deliveries of the oldest waiting events of a webhook with their
// first attempt begun, and moves the webhook's position from reached. next is as in
// BeginDelivery. Error: ErrNotFound if the webhook is gone or at another position.
func (tx *Tx) BeginWaiting(webhookID string, reached int64, events []DueDelivery, next time.Time) error {
	last := events[len(events)-1].Seq
	n, err := tx.Exec(`UPDATE webhooks SET reached = ? WHERE id = ? AND reached = ?`, last, webhookID, reached)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	for _, d := range events {
		err := tx.Write(`INSERT INTO deliveries (webhook_id, event_id, status, attempts, next_at) VALUES (?, ?, 'pending', 1, ?)`,
			webhookID, d.EventID, milli(next))
		if err != nil {
			return fmt.Errorf("insert delivery: %w", err)
		}
	}
	return tx.purgeTerms(webhookID, last)
}

// purgeTerms deletes the terms before a webhook's position.
func (tx *Tx) purgeTerms(webhookID string, reached int64) error {
	if err := tx.Write(`DELETE FROM webhook_terms WHERE webhook_id = ? AND until <= ?`, webhookID, reached); err != nil {
		return fmt.Errorf("delete webhook terms: %w", err)
	}
	return nil
}

// endTerm stores a term before a webhook's subscription changes. Error: ErrNotFound.
func (tx *Tx) endTerm(teamID, webhookID string, wants []webhook.EventName) error {
	w, err := tx.Webhook(teamID, webhookID)
	if err != nil || slices.Equal(w.Wants(), wants) {
		return err
	}
	waits, err := tx.WaitingEvents(&w, w.Reached, 1)
	if err != nil {
		return err
	}
	if len(waits) == 0 {
		return tx.skip(&w)
	}
	names, err := jsonText(w.Wants())
	if err != nil {
		return err
	}
	// only the first change after an event counts
	err = tx.Write(`INSERT INTO webhook_terms (webhook_id, until, events) SELECT ?1, last, ?2 FROM webhook_event_counts WHERE team_id = ?3
		ON CONFLICT (webhook_id, until) DO NOTHING`, w.ID, names, w.TeamID)
	if err != nil {
		return fmt.Errorf("insert webhook term: %w", err)
	}
	return nil
}

// skip moves the position of a webhook without waiting events to the last event.
func (tx *Tx) skip(w *webhook.Webhook) error {
	var last int64
	err := tx.Row(`SELECT last FROM webhook_event_counts WHERE team_id = ?`, []any{w.TeamID}, &last)
	if err := ignoreNotFound(err); err != nil {
		return fmt.Errorf("read the last event: %w", err)
	}
	if err := tx.Write(`UPDATE webhooks SET reached = ? WHERE team_id = ? AND id = ?`, last, w.TeamID, w.ID); err != nil {
		return fmt.Errorf("move position of webhook: %w", err)
	}
	return tx.purgeTerms(w.ID, last)
}

// forgetTerms deletes the terms of a webhook without waiting events.
func (tx *Tx) forgetTerms(webhookID string) error {
	var teamID string
	err := tx.Row(`SELECT w.team_id FROM webhook_terms AS t JOIN webhooks AS w ON w.id = t.webhook_id WHERE t.webhook_id = ? LIMIT 1`,
		[]any{webhookID}, &teamID)
	if err != nil {
		return ignoreNotFound(err)
	}
	w, err := tx.Webhook(teamID, webhookID)
	if err != nil {
		return err
	}
	waits, err := tx.WaitingEvents(&w, w.Reached, 1)
	if err != nil || len(waits) > 0 {
		return err
	}
	return tx.skip(&w)
}
