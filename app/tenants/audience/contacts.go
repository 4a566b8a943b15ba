package audience

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// PutContact adds a contact with its segments and choices and returns its id. conflict decides if a
// contact has the address already; if it is empty, app.Compat decides. An existing contact joins
// the segments and topics even if it is skipped, and is not resubscribed to anything that it opted
// out of. Errors: CodeValidation, CodeNotFound for an unknown segment or topic, CodeConflict for an
// address that a contact has.
func (s *Service) PutContact(ctx context.Context, key *app.Key, in app.ContactInput, conflict app.OnConflict) (id string, created bool, err error) {
	n, err := in.Validate()
	if err != nil {
		return "", false, err
	}
	if conflict == "" {
		conflict = app.ConflictError
		if s.Compat() == app.CompatResend {
			conflict = app.ConflictSkip
		}
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		w, err := s.NewContactWriter(tx, key.TeamID)
		if err != nil {
			return err
		}
		var status contactStatus
		if id, status, err = w.PutAndJoin(n, conflict); err != nil {
			return err
		}
		created = status == contactCreated
		return w.Finish()
	})
	return id, created, base.Unavailable(err)
}

// CountContacts returns the number of contacts of the team, or of a segment if segmentID is set;
// nil for a segment that would have to be counted. Errors: CodeNotFound for an unknown segment.
func (s *Service) CountContacts(ctx context.Context, key *app.Key, segmentID string) (total *int, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		var segment app.Segment
		if segmentID != "" {
			if segment, err = r.Segment(key.TeamID, segmentID); err != nil {
				return base.Lookup("segment", err)
			}
			if segment.Filter == nil {
				total = &segment.Members
				return nil
			}
			if len(segment.Filter.Conditions) > 0 {
				return nil
			}
		}
		n, err := r.ContactCount(key.TeamID)
		total = &n
		return err
	})
	return total, base.Unavailable(err)
}

// ListContacts returns a page of the team's contacts, or of those of a segment if segmentID is set,
// newest first, and whether there are more. Errors: CodeValidation, CodeNotFound for an unknown
// segment.
func (s *Service) ListContacts(ctx context.Context, key *app.Key, segmentID string, include app.Include, page app.Page) (rows []app.Contact, more bool, err error) {
	if segmentID != "" {
		if rows, more, err = s.ListSegmentContacts(ctx, key, segmentID, page); err != nil {
			return nil, false, err
		}
		return rows, more, s.includeTopics(ctx, key.TeamID, include, rows)
	}
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if rows, more, err = r.ListContacts(ctx, key.TeamID, page); err != nil || !include.Topics {
			return err
		}
		return r.AddTopics(key.TeamID, rows)
	})
	return rows, more, base.Cursor(page, err)
}

func (s *Service) includeTopics(ctx context.Context, teamID string, include app.Include, rows []app.Contact) error {
	if !include.Topics {
		return nil
	}
	return base.Unavailable(s.DB.Read(ctx, func(r *db.Reader) error { return r.AddTopics(teamID, rows) }))
}

// GetContact returns the contact with an id or address. Errors: CodeNotFound.
func (s *Service) GetContact(ctx context.Context, key *app.Key, idOrEmail string) (c app.Contact, err error) {
	c, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Contact, error) { return s.findContact(r, key.TeamID, idOrEmail) })
	return c, base.Lookup("contact", err)
}

// findContact reads a contact by id or address. Error: db.ErrNotFound, also for a text that is
// neither.
func (s *Service) findContact(r *db.Reader, teamID, idOrEmail string) (app.Contact, error) {
	if id, ok := app.ParseID(idOrEmail); ok {
		return r.Contact(teamID, id)
	}
	_, key, err := app.ParseBareAddress(idOrEmail)
	if err != nil {
		return app.Contact{}, db.ErrNotFound
	}
	return r.ContactByAddress(teamID, s.Sealer.AddressHash(teamID, key))
}

// CheckAudience returns nil if the team has a segment with that id. Errors: CodeNotFound.
func (s *Service) CheckAudience(ctx context.Context, key *app.Key, id string) error {
	return base.Lookup("audience", s.DB.Read(ctx, func(r *db.Reader) error {
		_, err := r.Segment(key.TeamID, id)
		return err
	}))
}

// UpdateContact changes the contact with an id or address and returns its id. Only this call can
// resubscribe a contact that unsubscribed. An opt-out succeeds on a full disk. Errors:
// CodeNotFound, CodeValidation, CodeConflict for an address that another contact has.
func (s *Service) UpdateContact(ctx context.Context, key *app.Key, idOrEmail string, p app.ContactPatch) (id string, err error) {
	if err := p.Validate(); err != nil {
		return "", err
	}
	write := s.DB.Write
	if p.OptsOut() {
		write = s.DB.WriteCritical
	}
	err = write(ctx, func(tx *db.Tx) error {
		old, err := s.findContact(&tx.Reader, key.TeamID, idOrEmail)
		if err != nil {
			return err
		}
		id = old.ID
		_, byID := app.ParseID(idOrEmail)
		return s.patchContact(s.signals(tx, key.TeamID, nil), old, &p, byID)
	})
	return id, base.Lookup("contact", err)
}

// patchContact changes a contact. byID: the caller named the contact by id, so a different spelling
// of its address is a change, not a repetition.
func (s *Service) patchContact(g *signals, old app.Contact, p *app.ContactPatch, byID bool) error {
	tx := g.tx
	if err := checkSegments(&tx.Reader, &old, p); err != nil {
		return err
	}
	types, err := tx.PropertyTypes(old.TeamID)
	if err != nil {
		return fmt.Errorf("read properties: %w", err)
	}
	if err := p.Properties.Fits(types); err != nil {
		return err
	}
	c, err := p.Apply(old)
	if err != nil {
		return err
	}
	if err := s.changeAddress(tx, &old, &c, p, byID); err != nil {
		return err
	}
	if p.OptsIn() {
		if err := s.resubscribe(tx, &c); err != nil {
			return err
		}
	}
	if reflect.DeepEqual(c, old) {
		return nil
	}
	if err := g.before(&old); err != nil {
		return err
	}
	c.UpdatedAt = tx.Now
	if err := tx.UpdateContact(&c); err != nil {
		return err
	}
	if c.Unsubscribed && !old.Unsubscribed {
		if err := s.suppressFormerAddresses(tx, &c); err != nil {
			return err
		}
	}
	if err := s.announceChange(tx, &c); err != nil {
		return err
	}
	return g.judge(&c)
}

// resubscribe removes the suppression of a contact's own opt-out. Suppressions for bounces and
// complaints, and those added manually, stay.
func (s *Service) resubscribe(tx *db.Tx, c *app.Contact) error {
	suppression, err := tx.SuppressionByAddress(c.TeamID, c.Hash)
	if errors.Is(err, db.ErrNotFound) || err == nil && suppression.Origin != app.OriginUnsubscribe {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up suppression: %w", err)
	}
	if err := tx.DeleteSuppression(c.TeamID, suppression.ID); err != nil {
		return fmt.Errorf("delete suppression: %w", err)
	}
	if suppression.Email == "" { // the address was erased before
		suppression.Email = strings.ToLower(c.Email)
	}
	return s.announceSuppression(tx, webhook.SuppressionRemoved, &suppression)
}

// DeleteContact deletes the contact with an id or address, with its memberships and choices, and
// returns its id. erase also removes its address from stored data. An address without a contact can
// be erased too; the returned id is then new. Errors: CodeNotFound.
func (s *Service) DeleteContact(ctx context.Context, key *app.Key, idOrEmail string, erase bool) (id string, err error) {
	if erase {
		c, err := s.GetContact(ctx, key, idOrEmail)
		if _, address, bad := app.ParseBareAddress(idOrEmail); bad == nil && app.CodeOf(err) == app.CodeNotFound {
			c, err = unknownContact(key.TeamID, address), nil
		}
		if err != nil {
			return "", err
		}
		return c.ID, base.Unavailable(s.EraseContacts(ctx, key.TeamID, []app.Contact{c}))
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		c, err := s.findContact(&tx.Reader, key.TeamID, idOrEmail)
		if err != nil {
			return err
		}
		id = c.ID
		return s.deleteContact(tx, &c)
	})
	return id, base.Lookup("contact", err)
}

// deleteContact deletes one contact and announces that. An unsubscribed contact stays on the
// suppression list, in case its address is added again.
func (s *Service) deleteContact(tx *db.Tx, c *app.Contact) error {
	segments, err := tx.SegmentsOf(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	if err := tx.DeleteContact(c); err != nil {
		return err
	}
	if c.Unsubscribed {
		if err := s.recordOptOut(tx, c); err != nil {
			return err
		}
	}
	return s.announceContact(tx, webhook.ContactDeleted, c, segments)
}
