package broadcasts

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/db"
)

// outcomeChunk is how many recipients one Write reads.
const outcomeChunk = 1000

// parseOutcome parses an outcome. Errors: CodeValidation.
func parseOutcome(name string) (db.Outcome, error) {
	o := db.Outcome{Link: -1, Behind: -1}
	switch name {
	case "sent", "delivered", "opened", "not_opened", "clicked", "not_clicked", "bounced", "complained", "unsubscribed", "suppressed", "failed", "canceled":
		o.With, o.Without = (&app.RecipientQuery{Type: name}).Bits()
	default:
		return o, app.Invalid("outcome", "must be sent, delivered, opened, not_opened, clicked, not_clicked, bounced, complained, unsubscribed, suppressed, failed or canceled")
	}
	return o, nil
}

// SegmentOfOutcome makes a segment with the recipients of a broadcast that had an outcome, or
// followed a link, as manual members. It works in chunks, so that other writes come between. After
// a failure the segment is deleted; a crash leaves a segment with part of its members. Errors:
// CodeValidation, CodeNotFound, CodeInvalidParameter for a broadcast that was not queued.
func (s *Reviews) SegmentOfOutcome(ctx context.Context, key *app.Key, id, name, outcome, url string) (segment app.Segment, err error) {
	o, err := parseOutcome(outcome)
	if err != nil {
		return segment, err
	}
	if url != "" && outcome != "clicked" {
		return segment, app.Invalid("url", "goes with the outcome clicked")
	}
	var b app.Broadcast
	err = s.service.DB.Read(ctx, func(r *db.Reader) error {
		if b, err = r.BroadcastHead(key.TeamID, id); err != nil {
			return err
		}
		if b.EmailIDPrefix == "" {
			return app.Errorf(app.CodeInvalidParameter, "Only a broadcast that was sent has outcomes; this one is %s", b.Status)
		}
		if started, canceled := b.CanceledFrom(); canceled && outcome == string(app.Canceled) {
			o.Behind = started
		}
		if url == "" {
			return nil
		}
		if o.Link, err = r.LinkNumber(id, url); errors.Is(err, db.ErrNotFound) {
			return app.Invalid("url", "must be a link of the broadcast, as it is written in its content")
		}
		return err
	})
	if err != nil {
		return segment, base.Lookup("broadcast", err)
	}
	if o.Behind >= 0 && b.Open > 0 { // its waiting recipients are marked as canceled first
		if err := s.service.cleanCanceled(ctx); err != nil {
			return segment, base.Unavailable(err)
		}
	}
	if segment, err = s.service.audience.CreateSegment(ctx, key, app.SegmentInput{Name: name}); err != nil {
		return segment, err
	}
	if err := s.fillSegment(ctx, &b, o, &segment); err != nil {
		cleanupErr := s.service.audience.DeleteSegment(context.WithoutCancel(ctx), key, segment.ID)
		return app.Segment{}, base.Unavailable(errors.Join(err, cleanupErr))
	}
	return segment, nil
}

// fillSegment adds and counts the members.
func (s *Reviews) fillSegment(ctx context.Context, b *app.Broadcast, o db.Outcome, segment *app.Segment) error {
	for from := int64(0); from < b.Stored; from += outcomeChunk {
		err := s.addMembers(ctx, segment, func(tx *db.Tx) ([]string, error) {
			return tx.OutcomeContacts(b, o, from, min(from+outcomeChunk, b.Stored))
		})
		if err != nil {
			return err
		}
	}
	if o.Behind < 0 || b.Expanded {
		return nil
	}
	return s.addUnexpanded(ctx, b, segment)
}

// addUnexpanded adds the rest of the audience of a broadcast that was canceled during its
// expansion.
func (s *Reviews) addUnexpanded(ctx context.Context, b *app.Broadcast, segment *app.Segment) error {
	var recipients app.Audience
	var last string
	err := s.service.DB.Read(ctx, func(r *db.Reader) error {
		full, err := r.Broadcast(b.TeamID, b.ID)
		if err != nil {
			return err
		}
		if last, err = r.LastExpandedContact(b.ID); err != nil {
			return err
		}
		recipients, err = audience.FrozenAudience(r, full)
		return base.Lookup("topic", err)
	})
	for more := true; more && err == nil; {
		var contacts []app.Contact
		contacts, err = db.Get(ctx, s.service.DB, func(r *db.Reader) ([]app.Contact, error) {
			return r.AudienceContacts(ctx, &recipients, last, outcomeChunk)
		})
		if err != nil || len(contacts) == 0 {
			break
		}
		ids := make([]string, len(contacts))
		for i := range contacts {
			ids[i] = contacts[i].ID
		}
		last, more = ids[len(ids)-1], len(ids) == outcomeChunk
		err = s.addMembers(ctx, segment, func(tx *db.Tx) (remaining []string, err error) {
			for _, id := range ids {
				if ok, err := tx.ContactExists(b.TeamID, id); err != nil {
					return nil, err
				} else if ok {
					remaining = append(remaining, id)
				}
			}
			return remaining, nil
		})
	}
	return err
}

// addMembers adds the contacts that pick returns to a segment, in one Write, and counts new
// members.
func (s *Reviews) addMembers(ctx context.Context, segment *app.Segment, pick func(*db.Tx) ([]string, error)) error {
	added := 0
	err := s.service.DB.Write(ctx, func(tx *db.Tx) error {
		added = 0
		if _, err := tx.Segment(segment.TeamID, segment.ID); err != nil {
			return fmt.Errorf("find the segment: %w", err)
		}
		var joined []string
		ids, err := pick(tx)
		if err != nil {
			return fmt.Errorf("find recipients: %w", err)
		}
		for _, id := range ids {
			isNew, err := tx.AddMember(segment.ID, id)
			if err != nil {
				return err
			}
			if isNew {
				added++
				joined = append(joined, id)
			}
		}
		if err := tx.CountMembers(segment.ID, added); err != nil {
			return err
		}
		return s.service.audience.MembersAdded(tx, segment, joined)
	})
	if err == nil {
		segment.Members += added
	}
	return err
}
