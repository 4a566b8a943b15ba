package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// WebhookPurpose is the purpose that signing secrets are sealed for.
const WebhookPurpose = "webhook"

// sealSecrets seals the secrets of a webhook for storage.
func (s *Service) sealSecrets(w *webhook.Webhook) error {
	plain, err := json.Marshal(w.Secrets)
	if err != nil {
		return fmt.Errorf("encode secrets: %w", err)
	}
	w.Sealed = s.Sealer.Seal(WebhookPurpose, w.ID, plain)
	return nil
}

func (s *Service) openSecrets(w *webhook.Webhook) (secrets []webhook.SigningSecret, err error) {
	plain, err := s.Sealer.Open(WebhookPurpose, w.ID, w.Sealed)
	if err != nil {
		return nil, fmt.Errorf("open secrets of webhook %s: %w", w.ID, err)
	}
	if json.Unmarshal(plain, &secrets) != nil || len(secrets) == 0 { // the JSON error might contain secrets
		return nil, fmt.Errorf("secrets of webhook %s can't be read", w.ID)
	}
	return secrets, nil
}

// CreateWebhook adds a webhook to the team and returns it with its secret. It receives events from
// then on. Errors: CodeValidation, CodeConflict for more than WebhooksPerTeam.
func (s *Service) CreateWebhook(ctx context.Context, key *app.Key, in webhook.Input) (webhook.Webhook, error) {
	if in.Scope == webhook.ScopeServer && !isOperator(key) {
		return webhook.Webhook{}, app.Invalid("scope", "can be server only in a session of an operator")
	}
	w, err := in.Validate(s.WebhookAllow)
	if err != nil {
		return webhook.Webhook{}, err
	}
	w.ID, w.TeamID = app.NewID(), key.TeamID
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		w.CreatedAt = tx.Now
		if err := s.AddWebhook(tx, &w); err != nil {
			return err
		}
		return base.Audit(ctx, tx, w.TeamID, "webhook.create", w.ID, nil, audited(&w))
	})
	return w, base.Unavailable(err)
}

// isOperator reports whether an operator is signed in.
func isOperator(key *app.Key) bool { return key.Session != nil && key.Session.Operator }

// mayChange refuses to change a webhook that gets events about the server, unless an operator does.
func mayChange(key *app.Key, w *webhook.Webhook) error {
	if w.Scope == webhook.ScopeServer && !isOperator(key) {
		return app.Errorf(app.CodeForbidden, "This webhook gets events about the server: only an operator may change it")
	}
	return nil
}

// AddWebhook stores a validated webhook, with its secrets, inside a Write. Errors: CodeConflict for
// more than WebhooksPerTeam.
func (s *Service) AddWebhook(tx *db.Tx, w *webhook.Webhook) error {
	if err := s.sealSecrets(w); err != nil {
		return err
	}
	limit := int(s.perTeam.Load())
	err := tx.InsertWebhook(w, limit)
	if errors.Is(err, db.ErrConflict) {
		return app.Errorf(app.CodeConflict, "A team can have at most %d webhooks", limit)
	}
	if err != nil {
		return err
	}
	tx.AfterCommit(func() { s.dispatcher.wake([]subscriber{subscriberOf(w)}) }) // for events of the same commit
	return s.subscriptions.reload(tx, w.TeamID)
}

// audited returns what the audit log shows of a webhook.
func audited(w *webhook.Webhook) map[string]any {
	return map[string]any{"endpoint": auditedEndpoint(w.Endpoint), "events": w.Events, "status": w.Status}
}

// auditedEndpoint returns scheme and host of an endpoint. The rest may contain a secret of its
// owner.
func auditedEndpoint(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// AnnounceServer announces an event about the server to the webhooks that may get it.
func (s *Service) AnnounceServer(tx *db.Tx, name webhook.EventName, data any) error {
	for teamID := range *s.subscriptions.index.Load() {
		if err := s.Announce(tx, teamID, name, func() (any, error) { return data, nil }); err != nil {
			return err
		}
	}
	return nil
}

// ListWebhooks returns a page of the team's webhooks, newest first, without secrets, and whether
// there are more. Errors: CodeValidation.
func (s *Service) ListWebhooks(ctx context.Context, key *app.Key, page app.Page) (rows []webhook.Webhook, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]webhook.Webhook, bool, error) { return r.ListWebhooks(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetWebhook returns one webhook of the team. Its secrets are included for owners and admins; a
// person must have reauthenticated recently. Errors: CodeNotFound.
func (s *Service) GetWebhook(ctx context.Context, key *app.Key, id string) (w webhook.Webhook, err error) {
	w, err = db.Get(ctx, s.DB, func(r *db.Reader) (webhook.Webhook, error) { return r.Webhook(key.TeamID, id) })
	if err == nil && mayChange(key, &w) == nil && key.Role.Manages() && key.RecentlyAuthenticated(clock.Now()) {
		w.Secrets, err = s.openSecrets(&w)
	}
	return w, base.Lookup("webhook", err)
}

// UpdateWebhook changes endpoint, events or status. A webhook that is enabled again receives its
// waiting events. Errors: CodeNotFound, CodeValidation.
func (s *Service) UpdateWebhook(ctx context.Context, key *app.Key, id string, patch webhook.Patch) (w webhook.Webhook, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := tx.Webhook(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := mayChange(key, &old); err != nil {
			return err
		}
		if w, err = patch.Apply(old, s.WebhookAllow); err != nil {
			return err
		}
		if err := s.storeWebhook(tx, &w); err != nil {
			return err
		}
		return base.Audit(ctx, tx, w.TeamID, "webhook.update", id, audited(&old), audited(&w))
	})
	return w, base.Lookup("webhook", err)
}

// storeWebhook stores a changed webhook and wakes its queue.
func (s *Service) storeWebhook(tx *db.Tx, w *webhook.Webhook) error {
	if err := tx.UpdateWebhook(w); err != nil {
		return err
	}
	sub := subscriberOf(w)
	tx.AfterCommit(func() { s.dispatcher.wake([]subscriber{sub}) })
	return s.subscriptions.reload(tx, w.TeamID)
}

// DeleteWebhook deletes a webhook with its deliveries. A running attempt finishes. Errors:
// CodeNotFound.
func (s *Service) DeleteWebhook(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		w, err := tx.Webhook(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteWebhook(key.TeamID, id); err != nil {
			return err
		}
		if err := s.subscriptions.reload(tx, key.TeamID); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "webhook.delete", id, audited(&w), nil)
	})
	return base.Lookup("webhook", err)
}

// RotateSigningSecret makes a new signing secret for a webhook; requests are also signed with the
// old one for some time. It returns the webhook with its secrets. Errors: CodeNotFound,
// CodeValidation.
func (s *Service) RotateSigningSecret(ctx context.Context, key *app.Key, id string, in webhook.Rotation) (w webhook.Webhook, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if w, err = tx.Webhook(key.TeamID, id); err != nil {
			return err
		}
		if err := mayChange(key, &w); err != nil {
			return err
		}
		old, err := s.openSecrets(&w)
		if err != nil {
			return err
		}
		if w.Secrets, err = in.Apply(old, tx.Now); err != nil {
			return err
		}
		if err := s.sealSecrets(&w); err != nil {
			return err
		}
		if err := tx.UpdateWebhook(&w); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "webhook.rotate_secret", id, nil, map[string]any{"endpoint": auditedEndpoint(w.Endpoint)})
	})
	return w, base.Lookup("webhook", err)
}

// ListWebhookEvents returns a page of the delivered and waiting events of a webhook, newest first,
// without payloads, and whether there are more. Errors: CodeNotFound, CodeValidation.
func (s *Service) ListWebhookEvents(ctx context.Context, key *app.Key, id string, page app.Page) (rows []webhook.Delivery, more bool, err error) {
	err = s.withWebhook(ctx, key, id, func(r *db.Reader, w *webhook.Webhook) error {
		rows, more, err = r.ListDeliveries(w, page)
		return base.Cursor(page, err)
	})
	for i := range rows {
		s.markAttempting(&rows[i])
	}
	return rows, more, base.Lookup("webhook", err)
}

// withWebhook runs fn in a Read for a webhook of the team.
func (s *Service) withWebhook(ctx context.Context, key *app.Key, id string, fn func(r *db.Reader, w *webhook.Webhook) error) error {
	return s.DB.Read(ctx, func(r *db.Reader) error {
		w, err := r.Webhook(key.TeamID, id)
		if err != nil {
			return err
		}
		return fn(r, &w)
	})
}

// markAttempting sets the status of a delivery whose attempt is running.
func (s *Service) markAttempting(d *webhook.Delivery) {
	if d.Status == webhook.DeliveryPending && s.dispatcher.attempting(d.WebhookID, d.ID) {
		d.Status = webhook.DeliveryAttempting
	}
}

// GetWebhookEvent returns one delivered or waiting event of a webhook with its payload. Errors:
// CodeNotFound.
func (s *Service) GetWebhookEvent(ctx context.Context, key *app.Key, id, eventID string) (d webhook.Delivery, err error) {
	err = s.withWebhook(ctx, key, id, func(r *db.Reader, _ *webhook.Webhook) error {
		d, err = r.Delivery(key.TeamID, id, eventID)
		return base.Lookup("webhook event", err)
	})
	s.markAttempting(&d)
	return d, base.Lookup("webhook", err)
}

// ListWebhookAttempts returns a page of the attempts to deliver an event to a webhook, newest
// first, and whether there are more. Errors: CodeNotFound, CodeValidation.
func (s *Service) ListWebhookAttempts(ctx context.Context, key *app.Key, id, eventID string, page app.Page) (rows []webhook.Attempt, more bool, err error) {
	err = s.withWebhook(ctx, key, id, func(r *db.Reader, _ *webhook.Webhook) error {
		if _, err := r.Delivery(key.TeamID, id, eventID); err != nil {
			return base.Lookup("webhook event", err)
		}
		rows, more, err = r.ListWebhookAttempts(key.TeamID, id, eventID, page)
		return base.Cursor(page, err)
	})
	return rows, more, base.Lookup("webhook", err)
}

// ReplayWebhookEvent delivers an event to a webhook once more, in whatever state the delivery is,
// from the beginning of the retry schedule. Errors: CodeNotFound, CodeConflict for a disabled
// webhook.
func (s *Service) ReplayWebhookEvent(ctx context.Context, key *app.Key, id, eventID string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		w, err := tx.Webhook(key.TeamID, id)
		if err != nil {
			return err
		}
		d, err := tx.Delivery(key.TeamID, id, eventID)
		if err != nil {
			return base.Lookup("webhook event", err)
		}
		if w.Status != webhook.Enabled {
			return app.Errorf(app.CodeConflict, "This webhook is disabled; enable it, then replay the event")
		}
		if d.Seq > w.Reached { // its first attempt is still to come
			return nil
		}
		tx.AfterCommit(func() { s.dispatcher.wake([]subscriber{subscriberOf(&w)}) })
		return tx.ReplayDelivery(id, eventID)
	})
	return base.Lookup("webhook", err)
}

// PurgeDeliveries removes the deliveries of deleted events, in small Writes.
func (s *Service) PurgeDeliveries(ctx context.Context) error {
	for after := ""; ; {
		ids, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.WebhookIDs(after, base.PurgeChunk) })
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			err := s.InChunks(ctx, "old deliveries", func(tx *db.Tx) (bool, error) { return tx.PurgeDeliveries(id, base.PurgeChunk) })
			if err != nil {
				return err
			}
		}
		after = ids[len(ids)-1]
	}
}

// WakeWebhooks wakes the queue of every webhook.
func (s *Service) WakeWebhooks() { s.dispatcher.wake(s.subscriptions.everySubscriber()) }
