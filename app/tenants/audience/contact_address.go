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

// checkSegments returns nil if c is in the segments that a patch repeats. Errors: CodeValidation.
func checkSegments(r *db.Reader, c *app.Contact, p *app.ContactPatch) error {
	if len(p.Segments) == 0 {
		return nil
	}
	manual, err := r.SegmentsOf(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read memberships: %w", err)
	}
	for field, name := range p.Segments {
		id, _ := app.ParseID(name)
		if slices.Contains(manual, id) {
			continue
		}
		segment, err := r.Segment(c.TeamID, id)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return fmt.Errorf("look up segment: %w", err)
		}
		matches := false
		if err == nil {
			if matches, err = r.Picks(segment.Filter, c); err != nil {
				return fmt.Errorf("evaluate the filter of a segment: %w", err)
			}
		}
		if !matches {
			return app.Invalid(field, "names a segment that the contact is not in: add it with POST /contacts/{contact}/segments/{segment}")
		}
	}
	return nil
}

// changeAddress sets the address of a patch in c, and checks it; before is the contact before the
// patch. Errors: CodeValidation, CodeConflict.
func (s *Service) changeAddress(tx *db.Tx, before, c *app.Contact, p *app.ContactPatch, byID bool) error {
	if p.Email == "" {
		return nil
	}
	email, key, err := app.ParseBareAddress(p.Email)
	if err != nil {
		return app.Invalid("email", "%s", err)
	}
	hash := s.Sealer.AddressHash(c.TeamID, key)
	switch {
	case hash == before.Hash && (!byID || email == before.Email):
		return nil
	case hash == before.Hash:
		c.Email = email
		return tx.MoveContact(before, c)
	}
	_, err = tx.ContactByAddress(c.TeamID, hash)
	if err == nil {
		return errContactExists()
	}
	if !errors.Is(err, db.ErrNotFound) {
		return fmt.Errorf("look up contact: %w", err)
	}
	c.Email, c.Hash = email, hash
	if err := s.transferOptOuts(tx, before, c, key); err != nil {
		return err
	}
	if p.OptsIn() && (c.Unsubscribed || before.Unsubscribed) {
		return app.Invalid("unsubscribed", "can't be false in the change of an address that opted out: change the `email` first")
	}
	return tx.MoveContact(before, c)
}

// transferOptOuts applies the suppression of a contact's old address to its new address, and the
// opt-out of the new address to the contact. MoveContact transfers topic choices.
func (s *Service) transferOptOuts(tx *db.Tx, before, c *app.Contact, key app.AddressKey) error {
	old, err := tx.SuppressionByAddress(c.TeamID, before.Hash)
	if err == nil {
		err = s.SuppressForEmail(tx, c.TeamID, old.SourceID, key, strings.ToLower(c.Email), old.Origin)
	} else if errors.Is(err, db.ErrNotFound) {
		if err = nil; before.Unsubscribed {
			err = s.recordOptOut(tx, before)
		}
	}
	if err != nil {
		return fmt.Errorf("transfer a suppression: %w", err)
	}
	current, err := tx.SuppressionByAddress(c.TeamID, c.Hash)
	switch {
	case errors.Is(err, db.ErrNotFound):
	case err != nil:
		return fmt.Errorf("look up suppression: %w", err)
	case current.Origin == app.OriginUnsubscribe:
		c.Unsubscribed = true
	}
	return nil
}

// recordOptOut adds the address of an unsubscribed contact to the suppression list, which outlives
// the contact.
func (s *Service) recordOptOut(tx *db.Tx, c *app.Contact) error {
	suppression := app.Suppression{ID: app.NewID(), TeamID: c.TeamID, Email: strings.ToLower(c.Email), Hash: c.Hash,
		Origin: app.OriginUnsubscribe, SourceID: c.ID, CreatedAt: tx.Now}
	added, err := tx.InsertOptOut(&suppression)
	if err == nil && added {
		err = s.announceSuppression(tx, webhook.SuppressionAdded, &suppression)
	}
	if err != nil {
		return fmt.Errorf("record an opt-out: %w", err)
	}
	return nil
}

// suppressFormerAddresses adds the former addresses of a contact that unsubscribed to the
// suppression list, since mail to them may still wait.
func (s *Service) suppressFormerAddresses(tx *db.Tx, c *app.Contact) error {
	former, err := tx.FormerAddresses(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read former addresses: %w", err)
	}
	for _, f := range former {
		old := *c
		old.Email, old.Hash = f.Email, f.Hash
		if err := s.recordOptOut(tx, &old); err != nil {
			return err
		}
	}
	return nil
}
