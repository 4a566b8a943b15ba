package engine

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// AddSuppression puts an address on the team's list. One that stands there
// already stays as it is and is the answer. Errors: CodeValidation.
func (e *Engine) AddSuppression(ctx context.Context, key *app.Key, in app.SuppressionInput) (app.Suppression, error) {
	s, err := in.Validate()
	if err != nil {
		return app.Suppression{}, err
	}
	added, err := e.suppress(ctx, key.TeamID, []app.Suppression{s})
	if err != nil {
		return app.Suppression{}, err
	}
	return added[0], nil
}

// AddSuppressions is AddSuppression for a batch: all of it or, with an error,
// nothing. It answers a suppression for each address, in their order. Errors:
// CodeValidation.
func (e *Engine) AddSuppressions(ctx context.Context, key *app.Key, in app.SuppressionBatch) ([]app.Suppression, error) {
	list, err := in.Validate()
	if err != nil {
		return nil, err
	}
	return e.suppress(ctx, key.TeamID, list)
}

// suppress writes down a list in one vital Write: an opt-out must not wait for
// room on the disk.
func (e *Engine) suppress(ctx context.Context, teamID string, list []app.Suppression) ([]app.Suppression, error) {
	out := make([]app.Suppression, len(list))
	err := e.db.WriteVital(ctx, func(tx *db.Tx) (err error) {
		for i, s := range list {
			s.ID, s.TeamID, s.CreatedAt, s.Hash = app.NewID(), teamID, tx.Now, e.cfg.Sealer.AddressHash(teamID, s.Address)
			if out[i], err = tx.AddSuppression(s); err != nil {
				return err
			}
			if out[i].ID != s.ID {
				continue // it stood there already
			}
			if err := e.announceSuppression(tx, app.SuppressionAdded, &s); err != nil {
				return err
			}
		}
		return nil
	})
	return out, unavailable(err)
}

// ListSuppressions gives a page of the team's list, newest first, and whether
// there are more. An empty origin stands for all. Errors: CodeValidation.
func (e *Engine) ListSuppressions(ctx context.Context, key *app.Key, origin app.SuppressionOrigin, page app.Page) (rows []app.Suppression, more bool, err error) {
	if origin != "" {
		if err := origin.Validate(); err != nil {
			return nil, false, err
		}
	}
	err = e.db.Read(ctx, func(r *db.Reader) error {
		rows, more, err = r.ListSuppressions(key.TeamID, origin, page)
		return err
	})
	return rows, more, cursor(page, err)
}

// GetSuppression gives the suppression with that id, or of that address. Errors:
// CodeNotFound.
func (e *Engine) GetSuppression(ctx context.Context, key *app.Key, idOrEmail string) (s app.Suppression, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		s, err = e.findSuppression(r, key.TeamID, idOrEmail)
		if err == nil && s.Email == "" {
			return db.ErrNotFound // erased
		}
		return err
	})
	return s, lookup("suppression", err)
}

// findSuppression reads what a path can name a suppression by. What is neither
// an id nor an address names nothing.
func (e *Engine) findSuppression(r *db.Reader, teamID, idOrEmail string) (app.Suppression, error) {
	if id, ok := app.ParseID(idOrEmail); ok {
		return r.Suppression(teamID, id)
	}
	_, address, err := app.ParseBareAddress(idOrEmail)
	if err != nil {
		return app.Suppression{}, db.ErrNotFound
	}
	return r.SuppressionByAddress(teamID, e.cfg.Sealer.AddressHash(teamID, address))
}

// RemoveSuppression takes the suppression with that id, or of that address, off
// the list and gives its id. Errors: CodeNotFound.
func (e *Engine) RemoveSuppression(ctx context.Context, key *app.Key, idOrEmail string) (id string, err error) {
	err = e.db.WriteVital(ctx, func(tx *db.Tx) error {
		s, err := e.findSuppression(&tx.Reader, key.TeamID, idOrEmail)
		if err != nil {
			return err
		}
		id = s.ID
		return e.liftSuppression(tx, s)
	})
	return id, lookup("suppression", err)
}

// RemoveSuppressions takes many off the list, skips those that are not on it,
// and gives the ids of those that were. Errors: CodeValidation.
func (e *Engine) RemoveSuppressions(ctx context.Context, key *app.Key, in app.SuppressionRemoval) (removed []string, err error) {
	addresses, ids, err := in.Validate()
	if err != nil {
		return nil, err
	}
	err = e.db.WriteVital(ctx, func(tx *db.Tx) error {
		removed = nil
		for _, id := range ids {
			s, err := tx.Suppression(key.TeamID, id)
			if removed, err = e.liftFound(tx, s, err, removed); err != nil {
				return err
			}
		}
		for _, address := range addresses {
			s, err := tx.SuppressionByAddress(key.TeamID, e.cfg.Sealer.AddressHash(key.TeamID, address))
			if removed, err = e.liftFound(tx, s, err, removed); err != nil {
				return err
			}
		}
		return nil
	})
	return removed, unavailable(err)
}

// liftFound takes what a look-up found off the list and appends its id to
// removed. A look-up that found nothing is no error.
func (e *Engine) liftFound(tx *db.Tx, s app.Suppression, err error, removed []string) ([]string, error) {
	if errors.Is(err, db.ErrNotFound) {
		return removed, nil
	}
	if err != nil {
		return nil, err
	}
	return append(removed, s.ID), e.liftSuppression(tx, s)
}

// liftSuppression takes a suppression off its team's list and tells webhooks. Of
// one that was erased they don't hear the address again, though the caller knew
// it.
func (e *Engine) liftSuppression(tx *db.Tx, s app.Suppression) error {
	if err := tx.DeleteSuppression(s.TeamID, s.ID); err != nil {
		return err
	}
	if s.Email == "" {
		s.Email = erasedEmail
	}
	return e.announceSuppression(tx, app.SuppressionRemoved, &s)
}

// erasedEmail stands where an address was (decisions.md 5, Erase).
const erasedEmail = "[erased]"

// blockedAmong gives what keeps mail of a team from recipients. Opt-outs are
// looked up only for mail of a topic.
func (e *Engine) blockedAmong(r *db.Reader, teamID, topicID string, recipients []string) (app.Blocked, error) {
	folded, hashes := make(map[app.AddressHash]string, len(recipients)), make([]app.AddressHash, len(recipients))
	for i, mailbox := range recipients {
		address := app.FoldAddress(mailbox)
		hashes[i] = e.cfg.Sealer.AddressHash(teamID, address)
		folded[hashes[i]] = address
	}
	list, err := r.Suppressions(teamID, hashes)
	if err != nil {
		return nil, fmt.Errorf("look up suppressions: %w", err)
	}
	if len(list) == 0 && topicID == "" {
		return nil, nil
	}
	for i := range list {
		list[i].Address = folded[list[i].Hash]
	}
	blocked := app.NewBlocked(list, topicID != "")
	if topicID == "" {
		return blocked, nil
	}
	return blocked, optedOutAmong(r, teamID, topicID, folded, blocked)
}

// leaveOut settles those recipients of an email that are blocked and still wait,
// each with its line in the timeline.
func (e *Engine) leaveOut(tx *db.Tx, u app.Unit, recipients []string, blocked app.Blocked) error {
	for _, address := range recipients {
		reason := blocked.Of(address)
		if reason == "" {
			continue
		}
		err := tx.SettleRecipient(u, address, app.Suppressed)
		if errors.Is(err, db.ErrNotFound) {
			continue // it is settled already
		}
		if err != nil {
			return err
		}
		detail := app.EventDetail{Message: reason}
		if err := tx.InsertEvent(newEvent(tx, u, app.EventType(app.Suppressed), address, detail)); err != nil {
			return err
		}
		if err := setLastEvent(tx, u, app.Suppressed); err != nil {
			return err
		}
		extra := app.EmailExtra{Recipient: address, Suppressed: &app.SuppressedData{Message: reason, Type: app.AccountSuppressedType}}
		if err := e.announceEmail(tx, u.TeamID, app.EmailSuppressed, u.EmailID, extra); err != nil {
			return err
		}
	}
	return nil
}

// withoutLeftOut gives an email's head with the last event that it would have if
// nobody had been left out: one that waits for others can still be moved and
// canceled, though it shows as suppressed.
func withoutLeftOut(tx *db.Tx, email app.Email) (app.Email, error) {
	if email.LastEvent != app.Suppressed {
		return email, nil
	}
	waits, err := tx.HasUnit(email.ID)
	switch {
	case !waits:
	case email.ScheduledAt.IsZero():
		email.LastEvent = app.Queued
	default:
		email.LastEvent = app.Scheduled
	}
	return email, err
}

// errObeyed is why hold refuses the dot of a unit some of whose recipients are
// suppressed or opted out. The unit stands as obey left it.
var errObeyed = errors.New("engine: recipients are suppressed")

// obey leaves out recipients of an open unit that were suppressed, or opted out
// of its topic, since it was accepted, and answers whether there were any. Then the unit is due at once for
// the others, its attempt not counted, or over. Error: db.ErrNotFound, and
// nothing written, for a unit that was withdrawn or moved. It runs inside the Write that
// lets a message leave: whoever was told before that an address is suppressed
// or opted out can rely on it.
func (e *Engine) obey(tx *db.Tx, u app.Unit, recipients []string) (obeyed bool, err error) {
	blocked, err := e.blockedOf(&tx.Reader, u, recipients)
	if err != nil || len(blocked) == 0 {
		return false, err
	}
	if err := tx.RequeueUnit(u, u.Attempts-1, tx.Now); err != nil {
		return false, err
	}
	waiting, err := tx.OpenRecipients(u)
	if err != nil {
		return false, err
	}
	if len(blocked.Open(waiting)) == 0 {
		if err := endSuppressed(tx, u); err != nil {
			return false, err
		}
	}
	return true, e.leaveOut(tx, u, waiting, blocked)
}

func endSuppressed(tx *db.Tx, u app.Unit) error {
	if err := tx.DeleteUnit(u); err != nil {
		return err
	}
	return tx.SettleDoubts(u.EmailID, "not sent again: its recipients are suppressed or opted out")
}

// obeyed spares a unit its transaction where recipients were suppressed while it
// waited. What comes after content looked, hold sees.
func (l *lane) obeyed(j *job, recipients []string) bool {
	if len(j.blocked) == 0 {
		return false
	}
	l.record(j, func(tx *db.Tx) (err error) {
		j.obeyed, err = l.e.obey(tx, j.unit, recipients)
		return ignoreGone(err)
	})
	return j.obeyed
}
