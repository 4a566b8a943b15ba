package webhooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// TestResult is the outcome of a test event.
type TestResult struct {
	EventID string
	webhook.Attempt
	Took time.Duration
}

// TestWebhook sends a made-up event to a webhook once, immediately, by the rules of real events,
// and returns the outcome. The event is listed among the webhook's events. A failure does not count
// as a failure of the webhook. Errors: CodeNotFound, CodeValidation, CodeRateLimitExceeded if the
// team's attempts use all slots.
func (s *Service) TestWebhook(ctx context.Context, key *app.Key, id string, name webhook.EventName) (t TestResult, err error) {
	var hook webhook.Webhook
	var e *webhook.Event
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if hook, err = tx.Webhook(key.TeamID, id); err != nil {
			return err
		}
		if s.Transport == nil {
			return app.Errorf(app.CodeServiceUnavailable, "This server tells no webhooks")
		}
		if e, err = sampleEvent(&hook, name, tx.Now); err != nil {
			return err
		}
		if err := tx.InsertTrial(id, e); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "webhook.test", id, nil, map[string]any{"event": e.Type})
	})
	if err != nil {
		return t, base.Lookup("webhook", err)
	}
	if hook.Secrets, err = s.openSecrets(&hook); err != nil {
		return t, err
	}
	release, err := s.dispatcher.acquireSlot(&hook)
	if err != nil {
		return t, err
	}
	defer release()
	d := webhook.Delivery{WebhookID: id, Event: *e}
	a, _ := s.dispatcher.post(hook, d)
	t = TestResult{EventID: e.ID, Attempt: a, Took: clock.Since(a.SentAt)}
	return t, base.Unavailable(s.dispatcher.recordTest(hook, d, a))
}

// acquireSlot takes a slot for an attempt outside of the queues; release returns it. Errors:
// CodeRateLimitExceeded if none is free.
func (h *dispatcher) acquireSlot(w *webhook.Webhook) (release func(), err error) {
	slot := slotKey{w.TeamID, w.Host(), true}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.slots.free(slot) < 1 {
		return nil, &app.Error{Code: app.CodeRateLimitExceeded, RetryAfter: time.Second, Message: "Too many attempts to tell webhooks are under way; try again in a moment"}
	}
	h.slots.take(slot, 1)
	return func() {
		h.mu.Lock()
		h.slots.release(slot, 1)
		h.mu.Unlock()
		h.signal.Notify()
	}, nil
}

// recordTest stores the attempt of a test event.
func (h *dispatcher) recordTest(hook webhook.Webhook, d webhook.Delivery, a webhook.Attempt) error {
	return h.s.DB.WriteCritical(context.Background(), func(tx *db.Tx) error {
		tx.AfterCommit(func() { h.s.Metrics.Attempt(a.Success(), 1) })
		status := webhook.DeliverySuccess
		if !a.Success() {
			status = webhook.DeliveryFailed
		}
		if _, err := tx.EndDelivery(hook.ID, d.ID, 1, status, time.Time{}); err != nil {
			return base.IgnoreNotFound(err)
		}
		if err := h.dropErased(tx, d, &a); err != nil {
			return err
		}
		return tx.InsertWebhookAttempt(d.TeamID, hook.ID, d.ID, &a)
	})
}

const (
	// replayChunk is how many deliveries one Write of a replay reads, and maxReplay about how many
	// one request reads.
	replayChunk = 500
	maxReplay   = 20_000
)

// ReplayResult is the outcome of a replay.
type ReplayResult struct {
	Matched    int // events that the query selects
	Queued     int // those of them that did not wait for an attempt already
	More       bool
	SearchedTo string // the last event that was read
}

// ReplayWebhook delivers events that a webhook received before once more. It works in chunks, so
// that other writes come between, and the attempts share slots with all others. Errors:
// CodeNotFound, CodeValidation, CodeConflict for a disabled webhook.
func (s *Service) ReplayWebhook(ctx context.Context, key *app.Key, id string, in webhook.Replay) (out ReplayResult, err error) {
	ids, err := in.Validate()
	if err != nil {
		return out, err
	}
	p := &replay{s: s, key: key, id: id, query: &in, after: in.After, until: db.MaxEventID}
	if !in.Since.IsZero() {
		p.after = max(p.after, app.FirstID(in.Since))
	}
	if !in.Until.IsZero() {
		p.until = app.FirstID(in.Until)
	}
	for scanned := 0; ; scanned += replayChunk {
		if len(ids) > 0 {
			err = p.chunk(ctx, func(r *db.Reader) ([]db.DeliveredEvent, error) { return deliveredEvents(r, id, ids) })
			p.more = false
		} else {
			err = p.chunk(ctx, func(r *db.Reader) ([]db.DeliveredEvent, error) {
				return r.DeliveredEvents(id, p.after, p.until, replayChunk)
			})
		}
		if err != nil {
			return out, base.Lookup("webhook", err)
		}
		if !p.more || scanned+replayChunk >= maxReplay {
			break
		}
	}
	out = p.done
	if out.More = p.more; out.More {
		out.SearchedTo = p.after
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		return base.Audit(ctx, tx, key.TeamID, "webhook.replay", id, nil, map[string]any{"matched": out.Matched, "queued": out.Queued})
	})
	return out, base.Unavailable(err)
}

// replay is a replay request in progress.
type replay struct {
	s            *Service
	key          *app.Key
	id           string
	query        *webhook.Replay
	after, until string
	more         bool
	done         ReplayResult
}

// chunk replays the next events in one Write.
func (p *replay) chunk(ctx context.Context, next func(*db.Reader) ([]db.DeliveredEvent, error)) error {
	var matched, queued int
	var rows []db.DeliveredEvent
	err := p.s.DB.Write(ctx, func(tx *db.Tx) error {
		matched, queued = 0, 0
		w, err := tx.Webhook(p.key.TeamID, p.id)
		if err != nil {
			return err
		}
		if w.Status != webhook.Enabled {
			return app.Errorf(app.CodeConflict, "This webhook is disabled; enable it, then replay its events")
		}
		if rows, err = next(&tx.Reader); err != nil {
			return err
		}
		for _, e := range rows {
			if p.query.Failed && e.Status != webhook.DeliveryFailed {
				continue
			}
			matched++
			if e.Status == webhook.DeliveryPending {
				hastened, err := tx.HastenDelivery(p.id, e.ID)
				if err != nil {
					return fmt.Errorf("hasten: %w", err)
				}
				if hastened {
					queued++
				}
				continue
			}
			queued++
			if err := tx.ReplayDelivery(p.id, e.ID); err != nil {
				return fmt.Errorf("replay: %w", err)
			}
		}
		tx.AfterCommit(func() { p.s.dispatcher.wake([]subscriber{subscriberOf(&w)}) })
		return nil
	})
	if err != nil {
		return err
	}
	p.done.Matched, p.done.Queued, p.more = p.done.Matched+matched, p.done.Queued+queued, len(rows) == replayChunk
	if len(rows) > 0 {
		p.after = cmp.Or(rows[len(rows)-1].ID, p.after)
	}
	return nil
}

// deliveredEvents reads those of some events that were delivered to a webhook.
func deliveredEvents(r *db.Reader, webhookID string, ids []string) (out []db.DeliveredEvent, err error) {
	for _, id := range ids {
		e, err := r.DeliveredEvent(webhookID, id)
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
