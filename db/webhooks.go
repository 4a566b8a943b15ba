package db

import (
	"database/sql"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/webhook"
)

const webhookColumns = `w.id, w.team_id, w.endpoint, w.events, w.status, w.secrets, w.failing_since, w.created_at`

func scanWebhook(s scanner) (webhook.Webhook, error) {
	var w webhook.Webhook
	var events sql.NullString
	var failing sql.NullInt64
	var created int64
	if err := s.Scan(&w.ID, &w.TeamID, &w.Endpoint, &events, &w.Status, &w.Sealed, &failing, &created); err != nil {
		return w, err
	}
	w.FailingSince, w.CreatedAt = fromMilli(failing.Int64), fromMilli(created)
	return w, fromJSON(events, &w.Events)
}

// InsertWebhook adds a webhook. Error: ErrConflict for a team that has
// webhook.MaxPerTeam already.
func (tx *Tx) InsertWebhook(w *webhook.Webhook) error {
	events, err := jsonText(w.Events)
	if err != nil {
		return err
	}
	n, err := tx.exec(`INSERT INTO webhooks (id, team_id, endpoint, events, status, secrets, created_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
		WHERE NOT EXISTS (SELECT 1 FROM webhooks WHERE team_id = ?2 ORDER BY id LIMIT 1 OFFSET ?8)`,
		w.ID, w.TeamID, w.Endpoint, events, string(w.Status), w.Sealed, milli(w.CreatedAt), webhook.MaxPerTeam-1)
	return oneRow(n, err, ErrConflict)
}

// UpdateWebhook writes all of a webhook that can change. Error: ErrNotFound.
func (tx *Tx) UpdateWebhook(w *webhook.Webhook) error {
	events, err := jsonText(w.Events)
	if err != nil {
		return err
	}
	n, err := tx.exec(`UPDATE webhooks SET endpoint = ?, events = ?, status = ?, secrets = ?, failing_since = ? WHERE team_id = ? AND id = ?`,
		w.Endpoint, events, string(w.Status), w.Sealed, nullTime(w.FailingSince), w.TeamID, w.ID)
	return oneRow(n, err, ErrNotFound)
}

// DeleteWebhook removes a webhook; its deliveries are left over for
// PurgeLeftovers. Error: ErrNotFound.
func (tx *Tx) DeleteWebhook(teamID, id string) error {
	n, err := tx.exec(`DELETE FROM webhooks WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.addLeftover(teamID, id, "")
}

// Webhook returns one webhook of a team.
func (r *Reader) Webhook(teamID, id string) (webhook.Webhook, error) {
	return one(&r.session, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.id = ?`, teamID, id)
}

// ListWebhooks returns a page of a team's webhooks, newest first. Error: ErrNotFound
// for a cursor that is no webhook of the team.
func (r *Reader) ListWebhooks(teamID string, page app.Page) ([]webhook.Webhook, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Webhook(teamID, cursor)) }, scanWebhook,
		`SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.id < ? ORDER BY w.id DESC LIMIT ?`,
		`SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.id > ? ORDER BY w.id LIMIT ?`, teamID)
}

// EnabledWebhooks returns the enabled webhooks of a team, oldest first.
func (r *Reader) EnabledWebhooks(teamID string) ([]webhook.Webhook, error) {
	return list(&r.session, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.status = 'enabled' ORDER BY w.id`, teamID)
}

// AllEnabledWebhooks returns the enabled webhooks of all teams.
func (r *Reader) AllEnabledWebhooks() ([]webhook.Webhook, error) {
	return list(&r.session, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.status = 'enabled'`)
}

// SetFailing notes since when a webhook fails, and whether it is enabled
// still; the zero time: it does not fail. Error: ErrNotFound.
func (tx *Tx) SetFailing(teamID, id string, since time.Time, status webhook.Status) error {
	n, err := tx.exec(`UPDATE webhooks SET failing_since = ?, status = ? WHERE team_id = ? AND id = ?`, nullTime(since), string(status), teamID, id)
	return oneRow(n, err, ErrNotFound)
}

const deliveryColumns = `d.webhook_id, d.happening_id, h.team_id, h.type, h.created_at, d.status, d.attempts, d.next_at`

func deliveryDest(d *webhook.Delivery, created *int64, next *sql.NullInt64) []any {
	return []any{&d.WebhookID, &d.ID, &d.TeamID, &d.Type, created, &d.Status, &d.Attempts, next}
}

func scanDelivery(s scanner) (webhook.Delivery, error) {
	var d webhook.Delivery
	var created int64
	var next sql.NullInt64
	err := s.Scan(deliveryDest(&d, &created, &next)...)
	d.CreatedAt, d.NextAt = fromMilli(created), fromMilli(next.Int64)
	return d, err
}

// Delivery returns an event of a team on its way to a webhook, with its payload.
func (r *Reader) Delivery(teamID, webhookID, eventID string) (webhook.Delivery, error) {
	var d webhook.Delivery
	var created int64
	var next sql.NullInt64
	var payload string
	err := r.row(`SELECT `+deliveryColumns+`, h.payload FROM deliveries AS d JOIN happenings AS h ON h.id = d.happening_id
		WHERE d.webhook_id = ? AND d.happening_id = ? AND h.team_id = ?`, []any{webhookID, eventID, teamID},
		append(deliveryDest(&d, &created, &next), &payload)...)
	d.CreatedAt, d.NextAt, d.Payload = fromMilli(created), fromMilli(next.Int64), []byte(payload)
	return d, err
}

// ListDeliveries returns a page of the events of a team that were sent to a
// webhook, newest first, without payloads. The webhook must be the team's. Error:
// ErrNotFound for a cursor that is none of them.
func (r *Reader) ListDeliveries(teamID, webhookID string, page app.Page) ([]webhook.Delivery, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Delivery(teamID, webhookID, cursor)) }, scanDelivery,
		`SELECT `+deliveryColumns+` FROM deliveries AS d CROSS JOIN happenings AS h ON h.id = d.happening_id
			WHERE d.webhook_id = ? AND h.team_id = ? AND d.happening_id < ? ORDER BY d.happening_id DESC LIMIT ?`,
		`SELECT `+deliveryColumns+` FROM deliveries AS d CROSS JOIN happenings AS h ON h.id = d.happening_id
			WHERE d.webhook_id = ? AND h.team_id = ? AND d.happening_id > ? ORDER BY d.happening_id LIMIT ?`, webhookID, teamID)
}

// DueDelivery is a delivery that is due, or will be.
type DueDelivery struct {
	WebhookID, EventID string
	Attempts           int
	NextAt             time.Time
}

// DueDeliveries returns the deliveries of a webhook that come next, at most limit.
func (r *Reader) DueDeliveries(webhookID string, limit int) ([]DueDelivery, error) {
	return list(&r.session, func(s scanner) (DueDelivery, error) {
		d := DueDelivery{WebhookID: webhookID}
		var next int64
		err := s.Scan(&d.EventID, &d.Attempts, &next)
		d.NextAt = fromMilli(next)
		return d, err
	}, `SELECT happening_id, attempts, next_at FROM deliveries WHERE webhook_id = ? AND next_at IS NOT NULL ORDER BY next_at LIMIT ?`, webhookID, limit)
}

// BeginDelivery counts an attempt that begins and notes when the next one is due
// if nothing is heard of it. Error: ErrNotFound for a delivery that changed since
// it was read.
func (tx *Tx) BeginDelivery(d DueDelivery, next time.Time) error {
	n, err := tx.exec(`UPDATE deliveries SET attempts = attempts + 1, next_at = ? WHERE webhook_id = ? AND happening_id = ? AND attempts = ? AND next_at = ?`,
		milli(next), d.WebhookID, d.EventID, d.Attempts, milli(d.NextAt))
	return oneRow(n, err, ErrNotFound)
}

// DeferDelivery has a delivery whose attempt was begun and did not take place
// tried again at next; nothing is counted. One that changed meanwhile stays.
func (tx *Tx) DeferDelivery(webhookID, eventID string, attempts int, next time.Time) error {
	_, err := tx.exec(`UPDATE deliveries SET attempts = attempts - 1, next_at = ? WHERE webhook_id = ? AND happening_id = ? AND attempts = ?`,
		milli(next), webhookID, eventID, attempts)
	return err
}

// EndDelivery notes how the attempt with that number ended: next is when another
// one follows, zero: none. One that was replayed meanwhile stays as it is, and
// current is false. Error: ErrNotFound: the delivery is gone.
func (tx *Tx) EndDelivery(webhookID, eventID string, attempts int, status webhook.DeliveryStatus, next time.Time) (current bool, err error) {
	n, err := tx.exec(`UPDATE deliveries SET status = ?, next_at = ? WHERE webhook_id = ? AND happening_id = ? AND attempts = ?`,
		string(status), nullTime(next), webhookID, eventID, attempts)
	if err != nil || n > 0 {
		return n > 0, err
	}
	return false, tx.exists(`SELECT 1 FROM deliveries WHERE webhook_id = ? AND happening_id = ?`, webhookID, eventID)
}

// ReplayDelivery has an event sent to a webhook once more, from the beginning of the
// retry table. Error: ErrNotFound.
func (tx *Tx) ReplayDelivery(webhookID, eventID string) error {
	n, err := tx.exec(`UPDATE deliveries SET status = 'pending', attempts = 0, next_at = ? WHERE webhook_id = ? AND happening_id = ?`,
		milli(tx.Now), webhookID, eventID)
	return oneRow(n, err, ErrNotFound)
}

// InsertWebhookAttempt notes an attempt to send an event to a team's webhook.
func (tx *Tx) InsertWebhookAttempt(teamID, webhookID, eventID string, a *webhook.Attempt) error {
	var status any
	if a.HTTPStatus != 0 {
		status = a.HTTPStatus
	}
	_, err := tx.exec(`INSERT INTO webhook_attempts (webhook_id, happening_id, id, team_id, http_status, response, sent_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		webhookID, eventID, a.ID, teamID, status, a.Response, milli(a.SentAt))
	if err != nil {
		return fmt.Errorf("insert attempt: %w", err)
	}
	return nil
}

func scanWebhookAttempt(s scanner) (webhook.Attempt, error) {
	var a webhook.Attempt
	var status sql.NullInt64
	var sent int64
	err := s.Scan(&a.ID, &status, &a.Response, &sent)
	a.HTTPStatus, a.SentAt = int(status.Int64), fromMilli(sent)
	return a, err
}

// ListWebhookAttempts returns a page of the attempts to send an event to a team's
// webhook, newest first. Error: ErrNotFound for a cursor that is none of them.
func (r *Reader) ListWebhookAttempts(teamID, webhookID, eventID string, page app.Page) ([]webhook.Attempt, bool, error) {
	return listPage(r, page, func(cursor string) error {
		return r.exists(`SELECT 1 FROM webhook_attempts WHERE webhook_id = ? AND happening_id = ? AND id = ? AND team_id = ?`, webhookID, eventID, cursor, teamID)
	}, scanWebhookAttempt,
		`SELECT id, http_status, response, sent_at FROM webhook_attempts
			WHERE webhook_id = ? AND happening_id = ? AND team_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
		`SELECT id, http_status, response, sent_at FROM webhook_attempts
			WHERE webhook_id = ? AND happening_id = ? AND team_id = ? AND id > ? ORDER BY id LIMIT ?`, webhookID, eventID, teamID)
}

// WebhookFailing reports whether an enabled webhook fails at the moment.
// Error: ErrNotFound for one that is disabled or gone.
func (r *Reader) WebhookFailing(id string) (failing bool, err error) {
	err = r.row(`SELECT failing_since IS NOT NULL FROM webhooks WHERE id = ? AND status = 'enabled'`, []any{id}, &failing)
	return failing, err
}

// TeamOfWebhook returns the team that a webhook belongs to.
func (r *Reader) TeamOfWebhook(id string) (teamID string, err error) {
	err = r.row(`SELECT team_id FROM webhooks WHERE id = ?`, []any{id}, &teamID)
	return teamID, err
}

// ClearFailing notes that a webhook took an event: it fails no more.
func (tx *Tx) ClearFailing(teamID, id string) error {
	_, err := tx.exec(`UPDATE webhooks SET failing_since = NULL WHERE team_id = ? AND id = ? AND failing_since IS NOT NULL`, teamID, id)
	return err
}
