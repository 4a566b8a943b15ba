package audience

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/db"
)

// PutConfirmed creates the contact of an opt-in that its person confirmed, or fills only the empty fields
// of the one that exists, inside the Write of the confirmation. Segments and topics that were deleted
// meanwhile are left out. again subscribes the contact again that unsubscribed from everything, in the
// person's name; suppressions for other reasons stay. Errors: CodeValidation, CodePlanLimitReached.
func (s *Service) PutConfirmed(tx *db.Tx, teamID string, n *app.NewContact, again bool) (c app.Contact, err error) {
	w, err := s.NewContactWriter(tx, teamID)
	if err != nil {
		return c, err
	}
	known, err := existing(&tx.Reader, teamID, n)
	if err != nil {
		return c, err
	}
	known.Changes = fitting(known.Changes, w.types)
	hash := s.Sealer.AddressHash(teamID, n.Key)
	old, err := tx.ContactByAddress(teamID, hash)
	id := old.ID
	switch {
	case errors.Is(err, db.ErrNotFound):
		id, _, err = w.Put(known, app.ConflictError)
	case err == nil:
		err = w.merge(emptyFieldsOf(&old, known), old)
	}
	if err != nil {
		return c, err
	}
	if err := w.Finish(); err != nil {
		return c, err
	}
	if c, err = tx.Contact(teamID, id); err != nil || !again {
		return c, err
	}
	return s.SubscribeAgain(tx, c)
}

// SubscribeAgain subscribes a contact again that unsubscribed from everything, in the person's name, and
// returns it.
func (s *Service) SubscribeAgain(tx *db.Tx, c app.Contact) (app.Contact, error) {
	no := false
	if err := s.patchContact(s.signals(tx, c.TeamID, nil), c, &app.ContactPatch{Unsubscribed: &no}, true); err != nil {
		return c, err
	}
	return tx.Contact(c.TeamID, c.ID)
}

// PutNew creates the contact of a form without confirmation, if no contact has the address and it is not
// suppressed for any reason. It reports whether it did. It runs inside Write. Errors: those of
// PutConfirmed.
func (s *Service) PutNew(tx *db.Tx, teamID string, n *app.NewContact) (id string, created bool, err error) {
	hash := s.Sealer.AddressHash(teamID, n.Key)
	for _, look := range []func() error{
		func() error { _, err := tx.SuppressionByAddress(teamID, hash); return err },
		func() error { _, err := tx.ContactByAddress(teamID, hash); return err },
	} {
		if err := look(); !errors.Is(err, db.ErrNotFound) {
			return "", false, err
		}
	}
	c, err := s.PutConfirmed(tx, teamID, n, false)
	return c.ID, err == nil, err
}

// existing returns a contact without the segments and topics that do not exist.
func existing(r *db.Reader, teamID string, n *app.NewContact) (*app.NewContact, error) {
	out := *n
	out.Segments, out.Topics = nil, nil
	for _, id := range n.Segments {
		_, err := r.Segment(teamID, id)
		if err == nil {
			out.Segments = append(out.Segments, id)
		} else if !errors.Is(err, db.ErrNotFound) {
			return nil, fmt.Errorf("look up segment: %w", err)
		}
	}
	for _, choice := range n.Topics {
		err := r.TopicExists(teamID, choice.ID)
		if err == nil {
			out.Topics = append(out.Topics, choice)
		} else if !errors.Is(err, db.ErrNotFound) {
			return nil, fmt.Errorf("look up topic: %w", err)
		}
	}
	return &out, nil
}

// fitting returns the changes without those whose property has another type by now.
func fitting(changes app.PropertyChanges, types map[string]app.PropertyType) app.PropertyChanges {
	out := app.PropertyChanges{}
	for key, v := range changes {
		if want, declared := types[key]; v != nil && (!declared || want == v.Type) {
			out[key] = v
		}
	}
	return out
}

// emptyFieldsOf returns what of an item an existing contact does not have.
func emptyFieldsOf(old *app.Contact, n *app.NewContact) *app.NewContact {
	out := *n
	if old.FirstName != "" {
		out.Contact.FirstName = ""
	}
	if old.LastName != "" {
		out.Contact.LastName = ""
	}
	out.Changes = app.PropertyChanges{}
	for key, v := range n.Changes {
		if have, ok := old.Properties[key]; !ok || have.Empty() {
			out.Changes[key] = v
		}
	}
	return &out
}
