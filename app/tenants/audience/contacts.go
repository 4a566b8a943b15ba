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

// PutContact adds a contact with its segments and choices, or treats the one that has
// its address as conflict says (empty: as app.Compat does), and returns its id. One that
// exists joins the segments and topics even where it is skipped, and is subscribed to
// nothing again that it opted out of. Errors: CodeValidation, CodeNotFound for an
// unknown segment or topic, CodeConflict for an address that a contact has.
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

// CountContacts returns how many contacts the team has, or a segment where segmentID is
// given; nil for a segment that would have to be counted. Errors: CodeNotFound for an
// unknown segment.
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

// ListContacts returns a page of the team's contacts, or of those of a segment
// where segmentID is given, newest first, and whether there are more. Errors:
// CodeValidation, CodeNotFound for an unknown segment.
func (s *Service) ListContacts(ctx context.Context, key *app.Key, segmentID string, include app.Include, page app.Page) (rows []app.Contact, more bool, err error) {
	if segmentID != "" {
		if rows, more, err = s.ListSegmentContacts(ctx, key, segmentID, page); err != nil {
			return nil, false, err
		}
		return rows, more, s.includeTopics(ctx, key.TeamID, include, rows)
	}
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if rows, more, err = r.ListContacts(key.TeamID, page); err != nil || !include.Topics {
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

// GetContact returns the contact with that id, or of that address. Errors:
// CodeNotFound.
func (s *Service) GetContact(ctx context.Context, key *app.Key, idOrEmail string) (c app.Contact, err error) {
	c, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Contact, error) { return s.findContact(r, key.TeamID, idOrEmail) })
	return c, base.Lookup("contact", err)
}

// findContact reads what a path can name a contact by: its id or its address.
// What is neither names nothing. Error: db.ErrNotFound.
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

// CheckAudience is nil when the team has that segment. Errors: CodeNotFound.
func (s *Service) CheckAudience(ctx context.Context, key *app.Key, id string) error {
	return base.Lookup("audience", s.DB.Read(ctx, func(r *db.Reader) error {
		_, err := r.Segment(key.TeamID, id)
		return err
	}))
}

// UpdateContact changes the contact with that id, or of that address, and returns
// its id. It alone can subscribe again who unsubscribed; an opt-out waits for no
// room on the disk. Errors: CodeNotFound, CodeValidation, CodeConflict for an address
// that another contact has.
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
		return s.patchContact(tx, old, &p, byID)
	})
	return id, base.Lookup("contact", err)
}

// patchContact changes a contact; byID says that its caller named it by its id, so
// that its address in another spelling is no mere echo.
func (s *Service) patchContact(tx *db.Tx, old app.Contact, p *app.ContactPatch, byID bool) error {
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
	c.UpdatedAt = tx.Now
	if err := tx.UpdateContact(&c); err != nil {
		return err
	}
	if c.Unsubscribed && !old.Unsubscribed {
		if err := s.suppressFormerAddresses(tx, &c); err != nil {
			return err
		}
	}
	return s.announceChange(tx, &c)
}

// resubscribe takes away the suppression that stands for a contact's own opt-out
// of everything. Bounces, complaints and what was put there by hand stay.
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
	if suppression.Email == "" { // erased before its owner came back
		suppression.Email = strings.ToLower(c.Email)
	}
	return s.announceSuppression(tx, webhook.SuppressionRemoved, &suppression)
}

// DeleteContact deletes the contact with that id, or of that address, with its
// memberships and choices, and returns its id; erase also removes its address from
// what is stored. An address of which the team has no contact can be erased too: the id
// is then one that no contact has. Errors: CodeNotFound.
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

// deleteContact deletes one contact and notes it for webhooks. Who was
// unsubscribed stays so on the suppression list, also when the address comes
// again.
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
