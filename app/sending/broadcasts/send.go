package broadcasts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/mergetags"
	"mailer/app/rules/pacing"
	"mailer/app/rules/tracking"
	"mailer/app/sending/mail"
	"mailer/db"
)

// SendBroadcast sends a draft immediately, or at the time of scheduledAt, and returns its forecast.
// Errors, in the order of the checks: CodeValidation for the time, those of idempotency,
// CodeNotFound, CodeInvalidParameter if it is no draft, CodeValidation for merge tags of other
// services in its content, CodeNotFound for its segment or topic, CodeValidation for the
// from-domain, CodeSendingPaused, CodeBroadcastsPaused, CodeBroadcastTooLarge,
// CodeMonthlyQuotaExceeded, CodeServiceUnavailable.
func (s *Service) SendBroadcast(ctx context.Context, key *app.Key, id, scheduledAt string, opts mail.SendOptions) (v BroadcastView, err error) {
	at, err := app.ParseBroadcastTime(scheduledAt, clock.Now())
	if err != nil {
		return v, err
	}
	if err := s.Ready(); err != nil {
		return v, err
	}
	return mail.Once(ctx, s.mail, key, mail.RouteBroadcastSend, opts, func(keep mail.Keeper[BroadcastView]) (v BroadcastView, err error) {
		for range mail.MaxEditRetries {
			v, err = s.sendDraft(ctx, key, id, at, keep)
			if !errors.Is(err, mail.ErrChanged) {
				return v, err
			}
		}
		return v, errKeepsChanging()
	})
}

// sendDraft counts and plans a draft and then sends it. Error: mail.ErrChanged if its audience,
// sender or content was changed meanwhile.
func (s *Service) sendDraft(ctx context.Context, key *app.Key, id string, at time.Time, keep mail.Keeper[BroadcastView]) (v BroadcastView, err error) {
	b, err := s.readBroadcast(ctx, key, id)
	if err != nil {
		return v, err
	}
	if err := checkDraft(b, "sent"); err != nil {
		return v, err
	}
	if err := s.checkComplete(ctx, b); err != nil {
		return v, err
	}
	b.ScheduledAt = at
	plan, err := s.forecast(ctx, b)
	if err != nil {
		return v, err
	}
	err = s.AwaitSnapshot(ctx, id, func() (bool, error) {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			current, err := tx.Broadcast(key.TeamID, id)
			if err != nil {
				return err
			}
			if err := checkDraft(current, "sent"); err != nil {
				return err
			}
			if current.SegmentID != b.SegmentID || current.TopicID != b.TopicID || current.From != b.From || !sameContent(current, b) {
				return mail.ErrChanged
			}
			current.BroadcastContent = app.BroadcastContent{Attachments: current.Attachments} // the rest is not part of the answer
			current.ScheduledAt, current.Audience = b.ScheduledAt, b.Audience
			v = newView(current, plan)
			if err := s.dispatch(ctx, tx, &v.Broadcast); err != nil {
				return err
			}
			return keepView(tx, keep, &v)
		})
		return v.Status == app.QueuedBroadcast, err
	})
	return v, s.mail.Explain(ctx, base.Lookup("broadcast", err))
}

// checkComplete refuses a draft with merge tags of other services, or with saved blocks that do not exist
// any more: it is a copy, or the draft was made before they were checked. Errors: CodeValidation.
func (s *Service) checkComplete(ctx context.Context, b *app.Broadcast) error {
	if b.Syntax == app.PlainSyntax {
		return mergetags.RefuseRaw(rawTags(b))
	}
	_, err := s.checkTexts(ctx, b)
	return err
}

// sameContent reports whether two states of a broadcast have the same content.
func sameContent(a, b *app.Broadcast) bool {
	return sameTexts(a, b) && slices.EqualFunc(a.Attachments, b.Attachments, func(a, b app.Attachment) bool { return a.ID == b.ID })
}

// sameTexts reports whether two states of a broadcast have the same texts in the same syntax.
func sameTexts(a, b *app.Broadcast) bool {
	return a.Syntax == b.Syntax && a.Variants.Equal(b.Variants) && a.Subject == b.Subject && a.Preview == b.Preview && a.HTML == b.HTML &&
		(a.Text == nil) == (b.Text == nil) && (a.Text == nil || *a.Text == *b.Text)
}

// createAndSend adds a draft, whose texts were checked with blocks, and sends it in one Write. Error:
// mail.ErrChanged if the blocks were changed meanwhile.
func (s *Service) createAndSend(ctx context.Context, draft *app.Broadcast, blocks app.Blocks, keep mail.Keeper[BroadcastView]) (v BroadcastView, err error) {
	if err := s.Ready(); err != nil {
		return v, err
	}
	if err := mergetags.RefuseRaw(rawTags(draft)); err != nil {
		return v, err
	}
	plan, err := s.forecast(ctx, draft)
	if err != nil {
		return v, err
	}
	release, err := s.fetchAttachments(ctx, draft, draft.Attachments, s.checkSendable)
	if err != nil {
		return v, err
	}
	defer release()
	err = s.AwaitSnapshot(ctx, draft.ID, func() (bool, error) {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			if err := mail.CheckBlocks(&tx.Reader, draft.TeamID, blocks); err != nil {
				return err
			}
			v = newView(draft, plan)
			v.CreatedAt = tx.Now
			if err := tx.InsertBroadcast(&v.Broadcast); err != nil {
				return err
			}
			if err := s.dispatch(ctx, tx, &v.Broadcast); err != nil {
				return err
			}
			return keepView(tx, keep, &v)
		})
		return v.Status == app.QueuedBroadcast, err
	})
	return v, s.mail.Explain(ctx, base.Unavailable(err))
}

func newView(b *app.Broadcast, plan *pacing.Plan) BroadcastView {
	return BroadcastView{Broadcast: *b, FinishesAt: plan.FinishesAt, Warning: plan.Warning}
}

// forecast checks that a draft can be sent, counts its audience, and plans it.
func (s *Service) forecast(ctx context.Context, b *app.Broadcast) (*pacing.Plan, error) {
	var audience *app.Audience
	err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if err := s.checkSendable(r, b); err != nil {
			return err
		}
		audience, err = audienceOf(r, b)
		return err
	})
	if err != nil {
		return nil, s.mail.Explain(ctx, base.Unavailable(err))
	}
	n, err := s.audience.CountAudience(ctx, audience)
	if err != nil {
		return nil, base.Unavailable(fmt.Errorf("count the audience: %w", err))
	}
	b.Audience = int64(n)
	var plan pacing.Plan
	err = s.DB.Read(ctx, func(r *db.Reader) (err error) {
		if plan, err = s.delivery.PlanBroadcast(r, b); err != nil {
			return err
		}
		return s.extendByQuota(r, b, &plan)
	})
	if err != nil {
		return nil, base.Unavailable(fmt.Errorf("plan the broadcast: %w", err))
	}
	if plan.TooLarge {
		return nil, app.Errorf(app.CodeBroadcastTooLarge, "The audience of %d contacts needs more than %d days of the capacity of its region; send to smaller segments, or raise the daily limit of the relay",
			n, pacing.MaxPlan/(24*time.Hour))
	}
	return &plan, nil
}

// checkSendable checks the audience of a broadcast and that its team may send from its domain, and
// sets the region. Errors: CodeNotFound, CodeValidation, CodeSendingPaused, CodeBroadcastsPaused,
// CodePayloadTooLarge.
func (s *Service) checkSendable(r *db.Reader, b *app.Broadcast) error {
	if err := checkAudience(r, b); err != nil {
		return err
	}
	if err := checkSender(b); err != nil {
		return err
	}
	region, _, err := s.mail.SendingRegion(r, b.TeamID, b.From.Domain)
	if err == nil {
		err = s.delivery.Guardrails.MayBroadcast(r, b.TeamID, region)
	}
	if err == nil {
		err = s.teams.CheckAttachments(r, b.TeamID, b.Attachments)
	}
	b.Relay = region
	return err
}

// checkSender refuses a draft without a sender, which was imported from another service. Errors:
// CodeValidation.
func checkSender(b *app.Broadcast) error {
	if b.From == (app.Address{}) {
		return app.Invalid("from", "is required: the draft has no sender yet")
	}
	return nil
}

// audienceOf returns the current audience of a broadcast.
func audienceOf(r *db.Reader, b *app.Broadcast) (*app.Audience, error) {
	a := &app.Audience{TeamID: b.TeamID, SegmentID: b.SegmentID, TopicID: b.TopicID}
	if b.SegmentID != "" {
		s, err := r.Segment(b.TeamID, b.SegmentID)
		if err != nil {
			return nil, base.Lookup("segment", err)
		}
		a.Filter = s.Filter
	}
	if b.TopicID == "" {
		return a, nil
	}
	t, err := r.Topic(b.TeamID, b.TopicID)
	a.Default = t.Default
	return a, base.Lookup("topic", err)
}

// dispatch makes a draft with a counted audience scheduled or queued. It runs inside Write.
func (s *Service) dispatch(ctx context.Context, tx *db.Tx, b *app.Broadcast) error {
	if err := s.checkSendable(&tx.Reader, b); err != nil {
		return err
	}
	if err := base.CapBroadcasts.Check(&tx.Reader, b.TeamID); err != nil {
		return err
	}
	if err := s.checkPeriodQuota(&tx.Reader, tx.Now, b); err != nil {
		return err
	}
	tx.AfterCommit(s.broadcaster.signal.Notify)
	if !b.ScheduledAt.After(tx.Now) {
		if err := s.queueBroadcast(tx, b); err != nil {
			return err
		}
		return auditSend(ctx, tx, b)
	}
	b.Status = app.ScheduledBroadcast
	if err := tx.SendBroadcast(b); err != nil {
		return err
	}
	return auditSend(ctx, tx, b)
}

// zeroContactID is before all ids of contacts.
const zeroContactID = "00000000-0000-0000-0000-000000000000"

// queueBroadcast queues a draft or a scheduled broadcast with a known region: from now on its
// content and audience do not change. Errors: CodeNotFound for its segment, db.ErrNotFound for a
// broadcast that can't be queued any more.
func (s *Service) queueBroadcast(tx *db.Tx, b *app.Broadcast) error {
	frozen, err := s.snapshot(&tx.Reader, b)
	if err != nil {
		return err
	}
	b.Snapshot, b.Status, b.QueuedAt, b.EmailIDPrefix = frozen, app.QueuedBroadcast, tx.Now, app.NewEmailIDPrefix()
	b.MaxContactID, err = tx.NewestContact(b.TeamID)
	if errors.Is(err, db.ErrNotFound) {
		b.MaxContactID, err = zeroContactID, nil // contacts added while it is sent are excluded
	}
	if err != nil {
		return fmt.Errorf("find the newest contact: %w", err)
	}
	return tx.SendBroadcast(b)
}

// freeze sets the properties and the saved blocks of a snapshot, which previews need too.
func freeze(r *db.Reader, b *app.Broadcast, frozen *app.BroadcastSnapshot) (err error) {
	if err = r.FreezeProperties(b.TeamID, frozen); err != nil {
		return fmt.Errorf("read properties: %w", err)
	}
	if frozen.Blocks, err = r.BroadcastBlocks(b.ID); err != nil {
		return fmt.Errorf("read saved blocks: %w", err)
	}
	return nil
}

// snapshot returns what could change while a broadcast is sent.
func (s *Service) snapshot(r *db.Reader, b *app.Broadcast) (*app.BroadcastSnapshot, error) {
	a, err := audienceOf(r, b)
	if err != nil {
		return nil, err
	}
	frozen := &app.BroadcastSnapshot{Filter: a.Filter, Pages: s.Settings.BaseURL}
	if err = freeze(r, b, frozen); err != nil {
		return nil, err
	}
	domain, err := r.DomainStatus(b.TeamID, b.From.Domain)
	switch {
	case errors.Is(err, db.ErrNotFound): // captured mail may use any domain
	case err != nil:
		return nil, err
	default:
		frozen.Tracking = tracking.ForDomain(&domain, s.Settings.BaseURL)
		frozen.NoDMARC, frozen.ReplyAddresses = domain.NoDMARC, domain.ReplyAddresses && len(b.ReplyTo) == 0
	}
	return frozen, nil
}
