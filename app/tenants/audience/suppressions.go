package audience

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/bounce"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// AddSuppression adds an address to the team's suppression list. An existing suppression keeps its
// id and time and is returned; it gets the new origin if that is stronger. Errors: CodeValidation.
func (s *Suppressions) AddSuppression(ctx context.Context, key *app.Key, in app.SuppressionInput) (app.Suppression, error) {
	suppression, err := in.Validate()
	if err != nil {
		return app.Suppression{}, err
	}
	added, err := s.suppress(ctx, key.TeamID, []app.Suppression{suppression})
	if err != nil {
		return app.Suppression{}, err
	}
	return added[0], nil
}

// AddSuppressions is AddSuppression for a batch: all addresses or, with an error, none. It returns
// a suppression for each address, in order. Errors: CodeValidation.
func (s *Suppressions) AddSuppressions(ctx context.Context, key *app.Key, in app.SuppressionBatch) ([]app.Suppression, error) {
	list, err := in.Validate()
	if err != nil {
		return nil, err
	}
	return s.suppress(ctx, key.TeamID, list)
}

// suppress stores a list in one critical Write: a suppression must succeed on a full disk.
func (s *Suppressions) suppress(ctx context.Context, teamID string, list []app.Suppression) ([]app.Suppression, error) {
	out := make([]app.Suppression, len(list))
	err := s.service.DB.WriteCritical(ctx, func(tx *db.Tx) (err error) {
		for i, suppression := range list {
			suppression.ID, suppression.TeamID, suppression.CreatedAt, suppression.Hash = app.NewID(), teamID, tx.Now, s.service.Sealer.AddressHash(teamID, suppression.Key)
			if out[i], err = tx.AddSuppression(suppression); err != nil {
				return err
			}
			if out[i].ID != suppression.ID { // it existed already
				if !out[i].Origin.WeakerThan(suppression.Origin) {
					continue
				}
				if err := tx.ReplaceOrigin(teamID, out[i].ID, suppression.Origin, ""); err != nil {
					return fmt.Errorf("replace origin: %w", err)
				}
				out[i].Origin, out[i].SourceID = suppression.Origin, ""
				suppression = out[i]
			}
			if err := s.service.announceSuppression(tx, webhook.SuppressionAdded, &suppression); err != nil {
				return err
			}
		}
		return nil
	})
	return out, base.Unavailable(err)
}

// CountSuppressions returns how many suppressions the team's list shows.
func (s *Suppressions) CountSuppressions(ctx context.Context, key *app.Key) (int, error) {
	n, err := db.Get(ctx, s.service.DB, func(r *db.Reader) (int, error) { return r.SuppressionCount(key.TeamID) })
	return n, base.Unavailable(err)
}

// ListSuppressions returns a page of the team's list, newest first, and whether there are more. An
// empty origin selects all. Errors: CodeValidation.
func (s *Suppressions) ListSuppressions(ctx context.Context, key *app.Key, origin app.SuppressionOrigin, page app.Page) (rows []app.Suppression, more bool, err error) {
	if origin != "" {
		if err := origin.Validate(); err != nil {
			return nil, false, err
		}
	}
	rows, more, err = db.GetPage(ctx, s.service.DB, func(r *db.Reader) ([]app.Suppression, bool, error) {
		return r.ListSuppressions(key.TeamID, origin, page)
	})
	return rows, more, base.Cursor(page, err)
}

// GetSuppression returns the suppression with an id or address. Errors: CodeNotFound.
func (s *Suppressions) GetSuppression(ctx context.Context, key *app.Key, idOrEmail string) (suppression app.Suppression, err error) {
	suppression, err = db.Get(ctx, s.service.DB, func(r *db.Reader) (app.Suppression, error) { return s.findSuppression(r, key.TeamID, idOrEmail) })
	if err == nil && suppression.Email == "" {
		err = db.ErrNotFound // erased
	}
	return suppression, base.Lookup("suppression", err)
}

// findSuppression reads a suppression by id or address. Error: db.ErrNotFound, also for a text that
// is neither.
func (s *Suppressions) findSuppression(r *db.Reader, teamID, idOrEmail string) (app.Suppression, error) {
	if id, ok := app.ParseID(idOrEmail); ok {
		return r.Suppression(teamID, id)
	}
	_, address, err := app.ParseBareAddress(idOrEmail)
	if err != nil {
		return app.Suppression{}, db.ErrNotFound
	}
	return r.SuppressionByAddress(teamID, s.service.Sealer.AddressHash(teamID, address))
}

// RemoveSuppression removes the suppression with an id or address and returns its id. Errors:
// CodeNotFound.
func (s *Suppressions) RemoveSuppression(ctx context.Context, key *app.Key, idOrEmail string) (id string, err error) {
	err = s.service.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		suppression, err := s.findSuppression(&tx.Reader, key.TeamID, idOrEmail)
		if err != nil {
			return err
		}
		id = suppression.ID
		if err := s.service.removeSuppression(tx, suppression); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "suppression.remove", id, auditedSuppression(&suppression), nil)
	})
	return id, base.Lookup("suppression", err)
}

// RemoveSuppressions removes many suppressions, skips unknown ones, and returns the ids of the
// removed ones. Errors: CodeValidation.
func (s *Suppressions) RemoveSuppressions(ctx context.Context, key *app.Key, in app.SuppressionRemoval) (removed []string, err error) {
	addresses, ids, err := in.Validate()
	if err != nil {
		return nil, err
	}
	err = s.service.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		var removedRows []app.Suppression
		for _, id := range ids {
			suppression, err := tx.Suppression(key.TeamID, id)
			if removedRows, err = s.removeFound(tx, suppression, err, removedRows); err != nil {
				return err
			}
		}
		for _, address := range addresses {
			suppression, err := tx.SuppressionByAddress(key.TeamID, s.service.Sealer.AddressHash(key.TeamID, address))
			if removedRows, err = s.removeFound(tx, suppression, err, removedRows); err != nil {
				return err
			}
		}
		removed = nil
		for i := range removedRows {
			removed = append(removed, removedRows[i].ID)
		}
		return auditRemoved(ctx, tx, key.TeamID, removedRows)
	})
	return removed, base.Unavailable(err)
}

// auditRemoved appends removed suppressions to the audit log, if there are any.
func auditRemoved(ctx context.Context, tx *db.Tx, teamID string, removed []app.Suppression) error {
	if len(removed) == 0 {
		return nil
	}
	before := make([]any, len(removed))
	for i := range removed {
		before[i] = auditedSuppression(&removed[i])
	}
	return base.Audit(ctx, tx, teamID, "suppression.remove", "", before, nil)
}

// auditedSuppression returns what the audit log shows of a suppression. It hides an erased address,
// though the caller knew it.
func auditedSuppression(suppression *app.Suppression) map[string]any {
	return map[string]any{"id": suppression.ID, "email": cmp.Or(suppression.Email, app.Erased), "origin": suppression.Origin}
}

// removeFound removes the suppression that a lookup found and appends it to removed. It ignores
// db.ErrNotFound of the lookup.
func (s *Suppressions) removeFound(tx *db.Tx, suppression app.Suppression, err error, removed []app.Suppression) ([]app.Suppression, error) {
	if errors.Is(err, db.ErrNotFound) {
		return removed, nil
	}
	if err != nil {
		return nil, err
	}
	return append(removed, suppression), s.service.removeSuppression(tx, suppression)
}

// removeSuppression removes a suppression and announces that. The event hides an erased address,
// though the caller knew it.
func (s *Service) removeSuppression(tx *db.Tx, suppression app.Suppression) error {
	if err := tx.DeleteSuppression(suppression.TeamID, suppression.ID); err != nil {
		return err
	}
	if suppression.Email == "" {
		suppression.Email = app.Erased
	}
	return s.announceSuppression(tx, webhook.SuppressionRemoved, &suppression)
}

// BlockedRecipients returns the recipients that get no mail of a team, with the reasons. It reads
// opt-outs only for mail of a topic.
func (s *Service) BlockedRecipients(r *db.Reader, teamID, topicID string, recipients []string) (app.Blocked, error) {
	keys, hashes := make(map[app.AddressHash]app.AddressKey, len(recipients)), make([]app.AddressHash, len(recipients))
	for i, mailbox := range recipients {
		key := app.KeyOf(mailbox)
		hashes[i] = s.Sealer.AddressHash(teamID, key)
		keys[hashes[i]] = key
	}
	list, err := r.Suppressions(teamID, hashes)
	if err != nil {
		return nil, fmt.Errorf("look up suppressions: %w", err)
	}
	if len(list) == 0 && topicID == "" {
		return nil, nil
	}
	for i := range list {
		list[i].Key = keys[list[i].Hash]
	}
	blocked := app.NewBlocked(list, topicID != "")
	if topicID == "" {
		return blocked, nil
	}
	return blocked, addOptedOut(r, teamID, topicID, keys, blocked)
}

// BlockedForMarketing returns the recipients that get no marketing of a team, with the reasons, by the rule of
// broadcasts: suppressed addresses, unsubscribed contacts and, for a topic, opt-outs of it.
func (s *Service) BlockedForMarketing(r *db.Reader, teamID, topicID string, recipients []string) (app.Blocked, error) {
	blocked := app.Blocked{}
	for _, mailbox := range recipients {
		key := app.KeyOf(mailbox)
		b, err := r.BulkSubscription(teamID, topicID, s.Sealer.AddressHash(teamID, key))
		if err != nil {
			return nil, fmt.Errorf("look up opt-outs: %w", err)
		}
		switch reason := b.Subscription.Reason(); {
		case b.Suppression != nil:
			b.Suppression.Key = key
			blocked[key] = app.NewBlocked([]app.Suppression{*b.Suppression}, true)[key]
		case topicID != "" && !b.Known:
			blocked[key] = "Not sent to this recipient: the topic of this email was deleted"
		case reason != "":
			blocked[key] = reason
		}
	}
	return blocked, nil
}

// SuppressForEmail suppresses an address because of the outcome of an email, or changes the origin
// of an existing suppression to a stronger one. shown is the address as lists show it; empty:
// erased, and not shown.
func (s *Service) SuppressForEmail(tx *db.Tx, teamID, emailID string, address app.AddressKey, shown string, origin app.SuppressionOrigin) error {
	added := app.Suppression{ID: app.NewID(), TeamID: teamID, Email: shown, Hash: s.Sealer.AddressHash(teamID, address),
		Origin: origin, SourceID: emailID, CreatedAt: tx.Now}
	suppression, err := tx.AddSuppression(added)
	if err != nil {
		return err
	}
	if suppression.ID != added.ID {
		if !suppression.Origin.OverriddenBy(origin) {
			return nil
		}
		if err := tx.ReplaceOrigin(teamID, suppression.ID, origin, emailID); err != nil {
			return fmt.Errorf("replace origin: %w", err)
		}
		suppression.Origin, suppression.SourceID = origin, emailID
	}
	if suppression.Email == "" {
		suppression.Email = app.Erased
	}
	return s.announceSuppression(tx, webhook.SuppressionAdded, &suppression)
}

// SuppressRefused is SuppressForEmail for a recipient that the relay refused, if IsHardBounce. A destination that refuses
// forwarded mail is not suppressed: it is paused after some refusals, and other mail of the team still reaches it.
func (s *Service) SuppressRefused(tx *db.Tx, u app.Unit, v app.RecipientResult) error {
	if u.ForwardID != "" || !IsHardBounce(v) {
		return nil
	}
	if u.Hidden {
		return s.SuppressUnseen(tx, u.TeamID, u.EmailID, app.KeyOf(v.Address), app.OriginBounce)
	}
	return s.SuppressForEmail(tx, u.TeamID, u.EmailID, app.KeyOf(v.Address), strings.ToLower(v.Address), app.OriginBounce)
}

// SuppressUnseen suppresses an address because of the outcome of the confirmation of an opt-in. The team
// must not learn whether one was sent, so the suppression is not listed and not announced, and a listed one
// stays as it is.
func (s *Service) SuppressUnseen(tx *db.Tx, teamID, emailID string, address app.AddressKey, origin app.SuppressionOrigin) error {
	_, err := tx.AddSuppression(app.Suppression{ID: app.NewID(), TeamID: teamID, Hash: s.Sealer.AddressHash(teamID, address), Origin: origin, SourceID: emailID, CreatedAt: tx.Now})
	return err
}

// IsHardBounce reports whether the refusal of a recipient proves that further mail to it is
// pointless. A refusal by this server proves nothing.
func IsHardBounce(v app.RecipientResult) bool {
	return v.Reply.Code/100 == 5 && bounce.Classify(bounce.Evidence{Reply: v.Reply.Text, ReplyCode: v.Reply.Code, Status: v.Reply.Enhanced}).Class == bounce.Hard
}

// addOptedOut adds recipients that get no mail of a topic to blocked: contacts that unsubscribed
// from everything, and addresses that opted out of the topic, or never opted in where the topic
// requires that. keys are those of all recipients.
func addOptedOut(r *db.Reader, teamID, topicID string, keys map[app.AddressHash]app.AddressKey, blocked app.Blocked) error {
	for hash, key := range keys {
		if blocked[key] != "" {
			continue
		}
		s, err := r.Subscription(teamID, topicID, hash)
		if errors.Is(err, db.ErrNotFound) { // a topic with waiting mail can't be deleted
			blocked[key] = "Not sent to this recipient: the topic of this email was deleted"
			continue
		}
		if err != nil {
			return fmt.Errorf("look up opt-outs: %w", err)
		}
		if reason := s.Reason(); reason != "" {
			blocked[key] = reason
		}
	}
	return nil
}
