package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// WebhookPurpose is what signing secrets are sealed for.
const WebhookPurpose = "webhook"

// sealSecrets puts the secrets of a webhook into the form in which they are
// stored.
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
	if json.Unmarshal(plain, &secrets) != nil || len(secrets) == 0 { // its error might repeat them
		return nil, fmt.Errorf("secrets of webhook %s can't be read", w.ID)
	}
	return secrets, nil
}

// CreateWebhook registers a webhook of the team and returns it with its secret.
// Events from then on go to it. Errors: CodeValidation, CodeConflict for more than
// WebhooksPerTeam.
func (s *Service) CreateWebhook(ctx context.Context, key *app.Key, in webhook.Input) (webhook.Webhook, error) {
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

// AddWebhook writes a webhook that was checked, with its secrets. Errors: CodeConflict for
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
	tx.AfterCommit(func() { s.dispatcher.wake([]subscriber{subscriberOf(w)}) }) // of what happened in the same commit
	return s.subscriptions.reload(tx, w.TeamID)
}

// audited is what the audit log says of a webhook.
func audited(w *webhook.Webhook) map[string]any {
	return map[string]any{"endpoint": auditedEndpoint(w.Endpoint), "events": w.Events, "status": w.Status}
}

// auditedEndpoint is an endpoint without what its owner may have put in as a secret.
func auditedEndpoint(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// ListWebhooks returns a page of the team's webhooks, newest first, without secrets,
// and whether there are more. Errors: CodeValidation.
func (s *Service) ListWebhooks(ctx context.Context, key *app.Key, page app.Page) (rows []webhook.Webhook, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]webhook.Webhook, bool, error) { return r.ListWebhooks(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetWebhook returns one webhook of the team, with its secrets for those who may
// change it: owners and admins, people once they have proved anew to be there. Errors:
// CodeNotFound.
func (s *Service) GetWebhook(ctx context.Context, key *app.Key, id string) (w webhook.Webhook, err error) {
	w, err = db.Get(ctx, s.DB, func(r *db.Reader) (webhook.Webhook, error) { return r.Webhook(key.TeamID, id) })
	if err == nil && key.Role.Manages() && key.RecentlyAuthenticated(clock.Now()) {
		w.Secrets, err = s.openSecrets(&w)
	}
	return w, base.Lookup("webhook", err)
}

// UpdateWebhook changes endpoint, events or status. Enabled again, a webhook gets
// what waited for it. Errors: CodeNotFound, CodeValidation.
func (s *Service) UpdateWebhook(ctx context.Context, key *app.Key, id string, patch webhook.Patch) (w webhook.Webhook, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := tx.Webhook(key.TeamID, id)
		if err != nil {
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

// storeWebhook writes a webhook that changed, and has its lane looked at.
func (s *Service) storeWebhook(tx *db.Tx, w *webhook.Webhook) error {
	if err := tx.UpdateWebhook(w); err != nil {
		return err
	}
	sub := subscriberOf(w)
	tx.AfterCommit(func() { s.dispatcher.wake([]subscriber{sub}) })
	return s.subscriptions.reload(tx, w.TeamID)
}

// DeleteWebhook removes a webhook with all that it was told. An attempt that is
// under way ends. Errors: CodeNotFound.
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

// RotateSigningSecret makes a new secret for a webhook; the old one signs beside it
// for a while. It returns the webhook with its secrets. Errors: CodeNotFound,
// CodeValidation.
func (s *Service) RotateSigningSecret(ctx context.Context, key *app.Key, id string, in webhook.Rotation) (w webhook.Webhook, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if w, err = tx.Webhook(key.TeamID, id); err != nil {
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

// ListWebhookEvents returns a page of what a webhook was told or will be, newest
// first, without payloads, and whether there are more. Errors: CodeNotFound,
// CodeValidation.
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

// withWebhook reads something of a webhook that must be the team's.
func (s *Service) withWebhook(ctx context.Context, key *app.Key, id string, fn func(r *db.Reader, w *webhook.Webhook) error) error {
	return s.DB.Read(ctx, func(r *db.Reader) error {
		w, err := r.Webhook(key.TeamID, id)
		if err != nil {
			return err
		}
		return fn(r, &w)
	})
}

// markAttempting says of a delivery that an attempt is under way.
func (s *Service) markAttempting(d *webhook.Delivery) {
	if d.Status == webhook.DeliveryPending && s.dispatcher.attempting(d.WebhookID, d.ID) {
		d.Status = webhook.DeliveryAttempting
	}
}

// GetWebhookEvent returns one event that a webhook was told or will be, with its
// payload. Errors: CodeNotFound.
func (s *Service) GetWebhookEvent(ctx context.Context, key *app.Key, id, eventID string) (d webhook.Delivery, err error) {
	err = s.withWebhook(ctx, key, id, func(r *db.Reader, _ *webhook.Webhook) error {
		d, err = r.Delivery(key.TeamID, id, eventID)
		return base.Lookup("webhook event", err)
	})
	s.markAttempting(&d)
	return d, base.Lookup("webhook", err)
}

// ListWebhookAttempts returns a page of the attempts to tell a webhook of an event,
// newest first, and whether there are more. Errors: CodeNotFound, CodeValidation.
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

// ReplayWebhookEvent has a webhook told once more of an event, whatever became of
// it before, from the beginning of the retry table. Errors: CodeNotFound,
// CodeConflict for a disabled webhook.
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
		if d.Seq > w.Reached { // it waits for its first attempt
			return nil
		}
		tx.AfterCommit(func() { s.dispatcher.wake([]subscriber{subscriberOf(&w)}) })
		return tx.ReplayDelivery(id, eventID)
	})
	return base.Lookup("webhook", err)
}

// PurgeDeliveries removes the deliveries of webhook events that are gone, in small
// Writes.
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

// WakeWebhooks has the deliveries of every webhook looked at.
func (s *Service) WakeWebhooks() { s.dispatcher.wake(s.subscriptions.everySubscriber()) }

// AdvanceDeliveries moves the next tries of all deliveries with a clock that was
// put back.
func (s *Service) AdvanceDeliveries(tx *db.Tx, by time.Duration) error {
	for _, sub := range s.subscriptions.everySubscriber() {
		if err := tx.AdvanceDeliveries(sub.id, by); err != nil {
			return fmt.Errorf("move deliveries: %w", err)
		}
	}
	return nil
}
