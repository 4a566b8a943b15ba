package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"mailer/app"
	"mailer/db"
)

// CreateContact adds a contact with its segments and choices and gives its id.
// Errors: CodeValidation, CodeNotFound for an unknown segment or topic,
// CodeConflict for an address that a contact has.
func (e *Engine) CreateContact(ctx context.Context, key *app.Key, in app.ContactInput) (id string, err error) {
	n, err := in.Validate()
	if err != nil {
		return "", err
	}
	err = e.db.Write(ctx, func(tx *db.Tx) error {
		w, err := e.newContactWriter(tx, key.TeamID, false)
		if err != nil {
			return err
		}
		if id, _, err = w.put(n, app.ConflictError); err != nil {
			return err
		}
		return w.finish()
	})
	return id, unavailable(err)
}

// ListContacts gives a page of the team's contacts, or of those of a segment
// where segmentID is given, newest first, and whether there are more. Errors:
// CodeValidation, CodeNotFound for an unknown segment.
func (e *Engine) ListContacts(ctx context.Context, key *app.Key, segmentID string, include app.Include, page app.Page) (rows []app.Contact, more bool, err error) {
	if segmentID != "" {
		if rows, more, err = e.ListSegmentContacts(ctx, key, segmentID, page); err != nil {
			return nil, false, err
		}
		return rows, more, e.includeTopics(ctx, key.TeamID, include, rows)
	}
	err = e.db.Read(ctx, func(r *db.Reader) error {
		if rows, more, err = r.ListContacts(key.TeamID, page); err != nil || !include.Topics {
			return err
		}
		return r.AddTopics(key.TeamID, rows)
	})
	return rows, more, cursor(page, err)
}

func (e *Engine) includeTopics(ctx context.Context, teamID string, include app.Include, rows []app.Contact) error {
	if !include.Topics {
		return nil
	}
	return unavailable(e.db.Read(ctx, func(r *db.Reader) error { return r.AddTopics(teamID, rows) }))
}

// GetContact gives the contact with that id, or of that address. Errors:
// CodeNotFound.
func (e *Engine) GetContact(ctx context.Context, key *app.Key, idOrEmail string) (c app.Contact, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		c, err = e.findContact(r, key.TeamID, idOrEmail)
		return err
	})
	return c, lookup("contact", err)
}

// findContact reads what a path can name a contact by: its id or its address.
// What is neither names nothing. Error: db.ErrNotFound.
func (e *Engine) findContact(r *db.Reader, teamID, idOrEmail string) (app.Contact, error) {
	if id, ok := app.ParseID(idOrEmail); ok {
		return r.Contact(teamID, id)
	}
	_, folded, err := app.ParseBareAddress(idOrEmail)
	if err != nil {
		return app.Contact{}, db.ErrNotFound
	}
	return r.ContactByAddress(teamID, e.cfg.Sealer.AddressHash(teamID, folded))
}

// CheckAudience is nil when the team has that segment. Errors: CodeNotFound.
func (e *Engine) CheckAudience(ctx context.Context, key *app.Key, id string) error {
	return lookup("audience", e.db.Read(ctx, func(r *db.Reader) error {
		_, err := r.Segment(key.TeamID, id)
		return err
	}))
}

// UpdateContact changes the contact with that id, or of that address, and gives
// its id. It alone can subscribe again who unsubscribed; an opt-out waits for no
// room on the disk. Errors: CodeNotFound, CodeValidation.
func (e *Engine) UpdateContact(ctx context.Context, key *app.Key, idOrEmail string, p app.ContactPatch) (id string, err error) {
	if err := p.Validate(); err != nil {
		return "", err
	}
	write := e.db.Write
	if p.OptsOut() {
		write = e.db.WriteVital
	}
	err = write(ctx, func(tx *db.Tx) error {
		old, err := e.findContact(&tx.Reader, key.TeamID, idOrEmail)
		if err != nil {
			return err
		}
		id = old.ID
		return e.patchContact(tx, old, &p)
	})
	return id, lookup("contact", err)
}

func (e *Engine) patchContact(tx *db.Tx, old app.Contact, p *app.ContactPatch) error {
	if err := p.Means(&old); err != nil {
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
	if p.OptsIn() {
		if err := e.resubscribe(tx, &c); err != nil {
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
	return e.announceChange(tx, &c)
}

// resubscribe takes away the suppression that stands for a contact's own opt-out
// of everything. Bounces, complaints and what was put there by hand stay.
func (e *Engine) resubscribe(tx *db.Tx, c *app.Contact) error {
	s, err := tx.SuppressionByAddress(c.TeamID, c.Hash)
	if errors.Is(err, db.ErrNotFound) || err == nil && s.Origin != app.OriginUnsubscribe {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up suppression: %w", err)
	}
	if err := tx.DeleteSuppression(c.TeamID, s.ID); err != nil {
		return fmt.Errorf("delete suppression: %w", err)
	}
	if s.Email == "" { // erased before its owner came back
		s.Email = strings.ToLower(c.Email)
	}
	return e.announceSuppression(tx, app.SuppressionRemoved, &s)
}

// DeleteContact deletes the contact with that id, or of that address, with its
// memberships and choices, and gives its id; erase also removes its address from
// what is stored. Errors: CodeNotFound.
func (e *Engine) DeleteContact(ctx context.Context, key *app.Key, idOrEmail string, erase bool) (id string, err error) {
	if erase {
		c, err := e.GetContact(ctx, key, idOrEmail)
		if err != nil {
			return "", err
		}
		return c.ID, unavailable(e.eraseContacts(ctx, key.TeamID, []app.Contact{c}))
	}
	err = e.db.WriteVital(ctx, func(tx *db.Tx) error {
		c, err := e.findContact(&tx.Reader, key.TeamID, idOrEmail)
		if err != nil {
			return err
		}
		id = c.ID
		return e.deleteContact(tx, &c)
	})
	return id, lookup("contact", err)
}

// deleteContact deletes one contact and notes it for webhooks. Who was
// unsubscribed stays so on the suppression list, also when the address comes
// again.
func (e *Engine) deleteContact(tx *db.Tx, c *app.Contact) error {
	segments, err := tx.SegmentsOf(c.ID)
	if err != nil {
		return fmt.Errorf("read segments: %w", err)
	}
	if err := tx.DeleteContact(c); err != nil {
		return err
	}
	if c.Unsubscribed {
		s := app.Suppression{ID: app.NewID(), TeamID: c.TeamID, Email: strings.ToLower(c.Email), Hash: c.Hash,
			Origin: app.OriginUnsubscribe, SourceID: c.ID, CreatedAt: tx.Now}
		added, err := tx.InsertOptOut(&s)
		if err == nil && added {
			err = e.announceSuppression(tx, app.SuppressionAdded, &s)
		}
		if err != nil {
			return fmt.Errorf("keep an opt-out: %w", err)
		}
	}
	return e.announceContact(tx, app.ContactDeleted, c, segments)
}
