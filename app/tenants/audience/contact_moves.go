package audience

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// checkSegments proves that c is in the segments that a patch repeats. Errors:
// CodeValidation.
func checkSegments(r *db.Reader, c *app.Contact, p *app.ContactPatch) error {
	if len(p.Segments) == 0 {
		return nil
	}
	byHand, err := r.SegmentsOf(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read memberships: %w", err)
	}
	for field, given := range p.Segments {
		id, _ := app.ParseID(given)
		if slices.Contains(byHand, id) {
			continue
		}
		segment, err := r.Segment(c.TeamID, id)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("look up segment: %w", err)
		}
		in := false
		if err == nil {
			if in, err = r.Picks(segment.Filter, c); err != nil {
				return fmt.Errorf("look into a segment: %w", err)
			}
		}
		if !in {
			return app.Invalid(field, "names a segment that the contact is not in: add it with POST /contacts/{contact}/segments/{segment}")
		}
	}
	return nil
}

// readdress has c move to the address that a patch names; was is the contact before.
// Errors: CodeValidation, CodeConflict.
func (s *Service) readdress(tx *db.Tx, was, c *app.Contact, p *app.ContactPatch, byID bool) error {
	if p.Email == "" {
		return nil
	}
	email, key, err := app.ParseBareAddress(p.Email)
	if err != nil {
		return app.Invalid("email", "%s", err)
	}
	hash := s.Sealer.AddressHash(c.TeamID, key)
	switch {
	case hash == was.Hash && (!byID || email == was.Email):
		return nil
	case hash == was.Hash:
		c.Email = email
		return tx.MoveContact(was, c)
	}
	_, err = tx.ContactByAddress(c.TeamID, hash)
	if err == nil {
		return errContactExists()
	}
	if !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("look up contact: %w", err)
	}
	c.Email, c.Hash = email, hash
	if err := s.carryOptOuts(tx, was, c, key); err != nil {
		return err
	}
	if p.OptsIn() && (c.Unsubscribed || was.Unsubscribed) {
		return app.Invalid("unsubscribed", "can't be false in the change of an address that opted out: change the `email` first")
	}
	return tx.MoveContact(was, c)
}

// carryOptOuts has what keeps mail from the address that a contact had keep it from the
// new one, and the other way about where the contact alone knew of it. Choices about
// topics are MoveContact's.
func (s *Service) carryOptOuts(tx *db.Tx, was, c *app.Contact, key app.AddressKey) error {
	old, err := tx.SuppressionByAddress(c.TeamID, was.Hash)
	if err == nil {
		err = s.SuppressFor(tx, c.TeamID, old.SourceID, key, strings.ToLower(c.Email), old.Origin)
	} else if errors.Is(err, db.ErrNotFound) {
		if err = nil; was.Unsubscribed {
			err = s.keepOptOut(tx, was)
		}
	}
	if err != nil {
		return fmt.Errorf("carry a suppression over: %w", err)
	}
	now, err := tx.SuppressionByAddress(c.TeamID, c.Hash)
	switch {
	case errors.Is(err, db.ErrNotFound):
	case err != nil:
		return fmt.Errorf("look up suppression: %w", err)
	case now.Origin == app.OriginUnsubscribe:
		c.Unsubscribed = true
	}
	return nil
}

// keepOptOut puts the address of a contact that is unsubscribed on the suppression list,
// where that outlives the contact.
func (s *Service) keepOptOut(tx *db.Tx, c *app.Contact) error {
	suppression := app.Suppression{ID: app.NewID(), TeamID: c.TeamID, Email: strings.ToLower(c.Email), Hash: c.Hash,
		Origin: app.OriginUnsubscribe, SourceID: c.ID, CreatedAt: tx.Now}
	added, err := tx.InsertOptOut(&suppression)
	if err == nil && added {
		err = s.announceSuppression(tx, webhook.SuppressionAdded, &suppression)
	}
	if err != nil {
		return fmt.Errorf("keep an opt-out: %w", err)
	}
	return nil
}

// optOutFormer keeps the addresses that a contact had from mail that still waits for
// them, now that the contact left all mailings.
func (s *Service) optOutFormer(tx *db.Tx, c *app.Contact) error {
	former, err := tx.FormerAddresses(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read former addresses: %w", err)
	}
	for _, f := range former {
		was := *c
		was.Email, was.Hash = f.Email, f.Hash
		if err := s.keepOptOut(tx, &was); err != nil {
			return err
		}
	}
	return nil
}
