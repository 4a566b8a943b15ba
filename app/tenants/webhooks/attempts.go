package webhooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// attempt posts an event to a webhook. It returns when the event is due again (zero: never, or when
// the queue is woken) and whether the endpoint accepted it quickly.
func (h *dispatcher) attempt(j *job) (next time.Time, fast bool) {
	hook, d, err := h.readDelivery(j)
	if errors.Is(err, db.ErrNotFound) {
		return time.Time{}, false // deleted, or expired
	}
	if err == nil && hook.Status != webhook.Enabled {
		h.postpone(j, j.due.NextAt)
		return j.due.NextAt, false
	}
	if err != nil {
		h.s.Log.Error("read a delivery to a webhook", "webhook", j.due.WebhookID, "err", err)
		return webhook.CrashTime(clock.Now()), false
	}
	a, wait := h.post(hook, d)
	if !a.Success() && h.s.Sending.Err() != nil { // the shutdown ended the request
		h.postpone(j, clock.Now())
		return time.Time{}, false
	}
	fast = a.Success() && clock.Since(a.SentAt) < slowAttempt
	if next, err = h.record(j, hook, d, a, wait); err != nil {
		h.s.LogUnlessUnavailable("note what a webhook answered", err, "webhook", hook.ID)
		next = webhook.CrashTime(clock.Now())
	}
	return next, fast
}

// readDelivery returns a webhook with its secrets, and the event to deliver.
func (h *dispatcher) readDelivery(j *job) (hook webhook.Webhook, d webhook.Delivery, err error) {
	err = h.s.DB.Read(context.Background(), func(r *db.Reader) error {
		teamID, err := r.TeamOfWebhook(j.due.WebhookID)
		if err != nil {
			return err
		}
		if hook, err = r.Webhook(teamID, j.due.WebhookID); err != nil {
			return err
		}
		d, err = r.Delivery(teamID, hook.ID, j.due.EventID)
		return err
	})
	if err != nil {
		return hook, d, err
	}
	hook.Secrets, err = h.s.openSecrets(&hook)
	return hook, d, err
}

// postpone makes a delivery due again whose attempt did not take place.
func (h *dispatcher) postpone(j *job, next time.Time) {
	err := h.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error {
		return tx.DeferDelivery(j.due.WebhookID, j.due.EventID, j.attempt, next)
	})
	if err != nil {
		h.s.LogUnlessUnavailable("put off a delivery to a webhook", err, "webhook", j.due.WebhookID)
	}
}

// maxDrain is how many bytes of a response are read so that its connection can be reused.
const maxDrain = 16 << 10

// post sends one request and returns the attempt. wait is the endpoint's Retry-After.
func (h *dispatcher) post(hook webhook.Webhook, d webhook.Delivery) (a webhook.Attempt, wait time.Duration) {
	a = webhook.Attempt{ID: app.NewID(), SentAt: clock.Now()}
	ctx, cancel := context.WithTimeout(h.s.Sending, webhook.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.Endpoint, bytes.NewReader(d.Payload))
	if err != nil {
		a.Response = "The address of the endpoint can't be read"
		return a, 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Mailer-Webhooks/1.0")
	webhook.SignHeaders(r.Header, hook.Secrets, webhook.MessageID(d.ID), a.SentAt, d.Payload)
	resp, err := h.s.Transport.RoundTrip(r)
	if err != nil {
		a.Response = webhook.ResponseExcerpt([]byte(err.Error()))
		if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			a.Response = fmt.Sprintf("No answer within %d seconds", int(webhook.Timeout.Seconds()))
		}
		return a, 0
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, webhook.MaxResponse)) // a partial body is enough: the status decides
	_, _ = io.CopyN(io.Discard, resp.Body, maxDrain)
	a.HTTPStatus, a.Response = resp.StatusCode, webhook.ResponseExcerpt(body)
	return a, webhook.RetryAfter(resp.StatusCode, resp.Header.Get("Retry-After"), clock.Now())
}

// record stores an attempt and updates the delivery and the webhook. It returns when the event is
// due again; zero: never.
func (h *dispatcher) record(j *job, hook webhook.Webhook, d webhook.Delivery, a webhook.Attempt, wait time.Duration) (next time.Time, err error) {
	err = h.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error {
		tx.AfterCommit(func() { h.s.Metrics.Attempt(a.Success(), 1) })
		next = time.Time{}
		status := webhook.DeliverySuccess
		if !a.Success() {
			if next = webhook.NextAttempt(j.attempt, tx.Now, wait); next.IsZero() {
				status = webhook.DeliveryFailed
			} else {
				status = webhook.DeliveryPending
			}
		}
		current, err := tx.EndDelivery(hook.ID, d.ID, j.attempt, status, next)
		if err != nil {
			return base.IgnoreNotFound(err) // deleted meanwhile
		}
		if !current { // replayed meanwhile
			next = tx.Now
		}
		stored := a
		if err := h.dropErased(tx, d, &stored); err != nil {
			return err
		}
		if err := tx.InsertWebhookAttempt(d.TeamID, hook.ID, d.ID, &stored); err != nil {
			return err
		}
		if a.Success() {
			return tx.ClearFailing(d.TeamID, hook.ID)
		}
		return h.recordFailure(tx, hook)
	})
	return next, err
}

// dropErased drops a response that may contain an address which was erased, or is being erased,
// since the event was read.
func (h *dispatcher) dropErased(tx *db.Tx, d webhook.Delivery, a *webhook.Attempt) error {
	if !strings.Contains(a.Response, "@") && !strings.Contains(a.Response, "%40") {
		return nil
	}
	erasing, err := tx.HasErasures(d.TeamID)
	if err != nil {
		return fmt.Errorf("look for erasures: %w", err)
	}
	now, err := tx.Delivery(d.TeamID, d.WebhookID, d.ID)
	if erasing || errors.Is(err, db.ErrNotFound) || !bytes.Equal(now.Payload, d.Payload) {
		a.Response = ""
		return nil
	}
	return err
}

// recordFailure marks a webhook as failing. A webhook without a success for five days is disabled;
// its waiting events stay.
func (h *dispatcher) recordFailure(tx *db.Tx, hook webhook.Webhook) error {
	w, err := tx.Webhook(hook.TeamID, hook.ID)
	if err != nil || w.Endpoint != hook.Endpoint || w.Status != webhook.Enabled { // changed meanwhile
		return base.IgnoreNotFound(err)
	}
	if w.FailingSince.IsZero() {
		return tx.SetFailing(w.TeamID, w.ID, tx.Now)
	}
	if tx.Now.Sub(w.FailingSince) < webhook.DisableAfter {
		return nil
	}
	w.Status = webhook.Disabled
	if err := tx.UpdateWebhook(&w); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		h.s.Log.Warn("a webhook is disabled: all attempts failed for 5 days", "webhook", w.ID, "team", w.TeamID, "failing_since", app.FormatTime(w.FailingSince),
			"help", "its owner enables it again with PATCH /webhooks/{id}, status enabled")
	})
	return h.s.subscriptions.reload(tx, w.TeamID)
}
