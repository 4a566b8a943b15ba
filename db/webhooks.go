package db

import (
	"cmp"
	"database/sql"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/db/engine"
)

const webhookColumns = `w.id, w.team_id, w.endpoint, w.events, w.status, w.secrets, w.failing_since, w.reached, w.created_at, w.webhook_scope`

func scanWebhook(s scanner) (webhook.Webhook, error) { return scanWebhookAnd(s) }

// scanWebhookAnd scans a webhook and additional columns.
func scanWebhookAnd(s scanner, more ...any) (webhook.Webhook, error) {
	var w webhook.Webhook
	var events, scope sql.NullString
	var failing sql.NullInt64
	var created int64
	if err := s.Scan(append([]any{&w.ID, &w.TeamID, &w.Endpoint, &events, &w.Status, &w.Sealed, &failing, &w.Reached, &created, &scope}, more...)...); err != nil {
		return w, err
	}
	w.Scope = cmp.Or(webhook.Scope(scope.String), webhook.ScopeTeam)
	w.FailingSince, w.CreatedAt = fromMilli(failing.Int64), fromMilli(created)
	return w, fromJSON(events, &w.Events)
}

// scopeText returns the scope of a webhook for its column: NULL for that of a team.
func scopeText(s webhook.Scope) any {
	if s == webhook.ScopeServer {
		return string(s)
	}
	return nil
}

// InsertWebhook adds a webhook for events from now on. Error: ErrConflict if the team has
// limit webhooks already.
func (tx *Tx) InsertWebhook(w *webhook.Webhook, limit int) error {
	tx.Changed(engine.Webhooks)
	events, err := jsonText(w.Events)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`INSERT INTO webhooks (id, team_id, endpoint, events, status, secrets, reached, created_at, webhook_scope)
		SELECT ?1, ?2, ?3, ?4, ?5, ?6, coalesce((SELECT last FROM webhook_event_counts WHERE team_id = ?2), 0), ?7, CAST(?9 AS text)
		WHERE NOT EXISTS (SELECT 1 FROM webhooks WHERE team_id = ?2 ORDER BY id LIMIT 1 OFFSET ?8)`,
		w.ID, w.TeamID, w.Endpoint, events, string(w.Status), w.Sealed, milli(w.CreatedAt), limit-1, scopeText(w.Scope))
	return oneRow(n, err, ErrConflict)
}

// UpdateWebhook stores the editable fields of a webhook. Waiting events are still
// delivered by the old subscription. Error: ErrNotFound.
func (tx *Tx) UpdateWebhook(w *webhook.Webhook) error {
	tx.Changed(engine.Webhooks)
	if err := tx.endTerm(w.TeamID, w.ID, w.Wants()); err != nil {
		return err
	}
	events, err := jsonText(w.Events)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE webhooks SET endpoint = ?, events = ?, status = ?, secrets = ?, failing_since = ? WHERE team_id = ? AND id = ?`,
		w.Endpoint, events, string(w.Status), w.Sealed, nullTime(w.FailingSince), w.TeamID, w.ID)
}

// DeleteWebhook deletes a webhook. PurgeLeftovers deletes its deliveries. Error:
// ErrNotFound.
func (tx *Tx) DeleteWebhook(teamID, id string) error {
	tx.Changed(engine.Webhooks)
	n, err := tx.Exec(`DELETE FROM webhooks WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.addLeftover(teamID, id, "")
}

// Webhook returns one webhook of a team.
func (r *Reader) Webhook(teamID, id string) (webhook.Webhook, error) {
	return one(r, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.id = ?`, teamID, id)
}

// ListWebhooks returns a page of a team's webhooks, newest first. Error: ErrNotFound for
// an unknown cursor.
func (r *Reader) ListWebhooks(teamID string, page app.Page) ([]webhook.Webhook, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Webhook(teamID, cursor)) }, scanWebhook,
		`SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.id < ? ORDER BY w.id DESC LIMIT ?`,
		`SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.id > ? ORDER BY w.id LIMIT ?`, teamID)
}

// EnabledWebhooks returns the enabled webhooks of a team, oldest first.
func (r *Reader) EnabledWebhooks(teamID string) ([]webhook.Webhook, error) {
	return list(r, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.team_id = ? AND w.status = 'enabled' ORDER BY w.id`, teamID)
}

// AllEnabledWebhooks returns the enabled webhooks of all teams.
func (r *Reader) AllEnabledWebhooks() ([]webhook.Webhook, error) {
	return list(r, scanWebhook, `SELECT `+webhookColumns+` FROM webhooks AS w WHERE w.status = 'enabled'`)
}

// SetFailing records since when a webhook fails. Error: ErrNotFound.
func (tx *Tx) SetFailing(teamID, id string, since time.Time) error {
	return tx.WriteOne(`UPDATE webhooks SET failing_since = ? WHERE team_id = ? AND id = ?`, nullTime(since), teamID, id)
}

// InsertWebhookAttempt stores an attempt to send an event to a team's webhook.
func (tx *Tx) InsertWebhookAttempt(teamID, webhookID, eventID string, a *webhook.Attempt) error {
	var status any
	if a.HTTPStatus != 0 {
		status = a.HTTPStatus
	}
	err := tx.Write(`INSERT INTO webhook_attempts (webhook_id, event_id, id, team_id, http_status, response, sent_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
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

// ListWebhookAttempts returns a page of the attempts to send an event to a team's webhook,
// newest first. Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListWebhookAttempts(teamID, webhookID, eventID string, page app.Page) ([]webhook.Attempt, bool, error) {
	return listPage(r, page, func(cursor string) error {
		return r.Exists(`SELECT 1 FROM webhook_attempts WHERE webhook_id = ? AND event_id = ? AND id = ? AND team_id = ?`, webhookID, eventID, cursor, teamID)
	}, scanWebhookAttempt,
		`SELECT id, http_status, response, sent_at FROM webhook_attempts
			WHERE webhook_id = ? AND event_id = ? AND team_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
		`SELECT id, http_status, response, sent_at FROM webhook_attempts
			WHERE webhook_id = ? AND event_id = ? AND team_id = ? AND id > ? ORDER BY id LIMIT ?`, webhookID, eventID, teamID)
}

// EnabledWebhook returns a webhook of any team and the Seq of the team's last event.
// Error: ErrNotFound if it is disabled or gone.
func (r *Reader) EnabledWebhook(id string) (w webhook.Webhook, last int64, err error) {
	w, err = one(r, func(s scanner) (webhook.Webhook, error) { return scanWebhookAnd(s, &last) },
		`SELECT `+webhookColumns+`, coalesce((SELECT c.last FROM webhook_event_counts AS c WHERE c.team_id = w.team_id), 0)
		FROM webhooks AS w WHERE w.id = ? AND w.status = 'enabled'`, id)
	return w, last, err
}

// TeamOfWebhook returns the team of a webhook.
func (r *Reader) TeamOfWebhook(id string) (teamID string, err error) {
	err = r.Row(`SELECT team_id FROM webhooks WHERE id = ?`, []any{id}, &teamID)
	return teamID, err
}

// ClearFailing records that a webhook accepted an event and no longer fails.
func (tx *Tx) ClearFailing(teamID, id string) error {
	err := tx.Write(`UPDATE webhooks SET failing_since = NULL WHERE team_id = ? AND id = ? AND failing_since IS NOT NULL`, teamID, id)
	return err
}

// FailingWebhook is a webhook whose latest attempts failed, with its team's name.
type FailingWebhook struct {
	webhook.Webhook
	Team string
}

// maxFailing is the most failing webhooks that an operator sees.
const maxFailing = 100

// FailingWebhooks returns at most maxFailing webhooks of all teams whose latest attempts
// failed, including disabled ones. It scans all webhooks.
func (r *Reader) FailingWebhooks() ([]FailingWebhook, error) {
	return list(r, func(s scanner) (f FailingWebhook, err error) {
		f.Webhook, err = scanWebhookAnd(s, &f.Team)
		return f, err
	}, `SELECT `+webhookColumns+`, t.name FROM webhooks AS w JOIN teams AS t ON t.id = w.team_id WHERE w.failing_since IS NOT NULL ORDER BY w.id LIMIT ?`, maxFailing)
}
