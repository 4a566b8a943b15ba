package audience

import (
	"errors"
	"fmt"
	"reflect"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// contactStatus is the outcome of one item of a batch or an import.
type contactStatus string

const (
	contactCreated contactStatus = "created"
	contactUpdated contactStatus = "updated"
	contactSkipped contactStatus = "skipped"
)

// ContactWriter writes contacts of one team inside one Write. It looks up the objects that items
// refer to once, and counts rows for Finish.
type ContactWriter struct {
	// Exact: contacts of a set are created exactly as given, as a copy from another Mailer, even if
	// their address is on the suppression list because it unsubscribed.
	Exact bool
	// Silent: no automation starts or continues because of what is written.
	Silent bool

	s            *Service
	tx           *db.Tx
	teamID       string
	types        map[string]app.PropertyType
	segments     map[string]bool
	topics       map[string]bool
	members      map[string]int
	created      int
	contactsLeft int // new contacts that the plan still allows; negative: no limit
	signals      *signals
}

// NewContactWriter returns a writer for contacts of a team. Finish must be called in the same
// Write.
func (s *Service) NewContactWriter(tx *db.Tx, teamID string) (*ContactWriter, error) {
	types, err := tx.PropertyTypes(teamID)
	if err != nil {
		return nil, fmt.Errorf("read properties: %w", err)
	}
	contactsLeft, err := s.teams.ContactsLeft(&tx.Reader, teamID)
	if err != nil {
		return nil, err
	}
	return &ContactWriter{
		signals: s.signals(tx, teamID, nil),
		s:       s, tx: tx, teamID: teamID, types: types, contactsLeft: contactsLeft,
		segments: map[string]bool{}, topics: map[string]bool{}, members: map[string]int{},
	}, nil
}

// Finish stores how many contacts and memberships were added.
func (w *ContactWriter) Finish() error {
	for id, n := range w.members {
		if err := w.tx.CountMembers(id, n); err != nil {
			return err
		}
	}
	return w.tx.CountContacts(w.teamID, w.created)
}

// Put creates the contact of an item and returns its id. conflict decides if a contact has the
// address already. An *app.Error (CodeValidation, CodeNotFound, CodeConflict, CodePlanLimitReached)
// is returned before anything is written.
func (w *ContactWriter) Put(n *app.NewContact, conflict app.OnConflict) (id string, status contactStatus, err error) {
	if err := w.check(n); err != nil {
		return "", "", err
	}
	hash := w.s.Sealer.AddressHash(w.teamID, n.Key)
	old, err := w.tx.ContactByAddress(w.teamID, hash)
	switch {
	case errors.Is(err, db.ErrNotFound):
		if err := w.takeContactSlot(); err != nil {
			return "", "", err
		}
		if id, err = w.create(n, hash); err != nil && w.contactsLeft >= 0 {
			w.contactsLeft++
		}
		return id, contactCreated, err
	case err != nil:
		return "", "", fmt.Errorf("look up contact: %w", err)
	case conflict == app.ConflictSkip:
		return old.ID, contactSkipped, nil
	case conflict == app.ConflictUpsert:
		return old.ID, contactUpdated, w.merge(n, old)
	}
	return "", "", errContactExists()
}

// PutAndJoin is Put for a single contact. An existing contact joins the segments and topics of the
// item even if it is skipped, except topics that it opted out of.
func (w *ContactWriter) PutAndJoin(n *app.NewContact, conflict app.OnConflict) (id string, status contactStatus, err error) {
	hash := w.s.Sealer.AddressHash(w.teamID, n.Key)
	old, err := w.tx.ContactByAddress(w.teamID, hash)
	if errors.Is(err, db.ErrNotFound) || err == nil && conflict == app.ConflictError {
		return w.Put(n, conflict)
	}
	if err != nil {
		return "", "", fmt.Errorf("look up contact: %w", err)
	}
	if err := w.check(n); err != nil {
		return "", "", err
	}
	joins, status := &app.NewContact{Segments: n.Segments}, contactSkipped
	if conflict == app.ConflictUpsert {
		merged := *n
		joins, status = &merged, contactUpdated
	}
	if joins.Topics, err = w.withoutOptOuts(n.Topics, hash); err != nil {
		return "", "", err
	}
	return old.ID, status, w.merge(joins, old)
}

// withoutOptOuts removes choices that would resubscribe an address to topics that it opted out of.
func (w *ContactWriter) withoutOptOuts(choices []app.TopicChoice, address app.AddressHash) (out []app.TopicChoice, err error) {
	for _, choice := range choices {
		t, err := w.tx.TopicFor(w.teamID, choice.ID, address)
		if err != nil {
			return nil, fmt.Errorf("look up a choice: %w", err)
		}
		if choice.Subscription == app.OptOut || !t.Explicit || t.Subscription == app.OptIn {
			out = append(out, choice)
		}
	}
	return out, nil
}

// takeContactSlot counts a contact that is about to be created. Error: CodePlanLimitReached if the
// plan allows no more.
func (w *ContactWriter) takeContactSlot() error {
	switch {
	case w.contactsLeft < 0:
		return nil
	case w.contactsLeft == 0:
		return errContactLimit()
	}
	w.contactsLeft--
	return nil
}

func errContactLimit() error {
	return app.Errorf(app.CodePlanLimitReached, "The plan of this team holds no more contacts")
}

// check returns nil if declared properties have their type, and segments and topics belong to the
// team.
func (w *ContactWriter) check(n *app.NewContact) error {
	if err := n.Changes.Fits(w.types); err != nil {
		return err
	}
	for _, id := range n.Segments {
		if w.segments[id] {
			continue
		}
		if _, err := w.tx.Segment(w.teamID, id); err != nil {
			return base.Lookup("segment", err)
		}
		w.segments[id] = true
	}
	for _, choice := range n.Topics {
		if w.topics[choice.ID] {
			continue
		}
		if _, err := w.tx.Topic(w.teamID, choice.ID); err != nil {
			return base.Lookup("topic", err)
		}
		w.topics[choice.ID] = true
	}
	return nil
}

// create adds a contact and returns its id. An address that unsubscribed before stays unsubscribed,
// even if its contact was deleted: only an explicit change of a contact resubscribes.
func (w *ContactWriter) create(n *app.NewContact, hash app.AddressHash) (id string, err error) {
	c := n.Contact
	if c.Properties, err = n.Changes.Apply(nil); err != nil {
		return "", err
	}
	s, err := w.tx.SuppressionByAddress(w.teamID, hash)
	if err == nil && s.Origin == app.OriginUnsubscribe {
		c.Unsubscribed = true
	} else if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", fmt.Errorf("look up suppression: %w", err)
	}
	c.ID, c.TeamID, c.Hash, c.CreatedAt, c.UpdatedAt = app.NewID(), w.teamID, hash, w.tx.Now, w.tx.Now
	if err := w.tx.InsertContact(&c); err != nil {
		return "", err
	}
	w.created++
	joined, chosen, err := w.join(&c, n)
	if err != nil {
		return c.ID, err
	}
	if err := w.s.announceContact(w.tx, webhook.ContactCreated, &c, joined); err != nil {
		return "", err
	}
	if err := w.s.announceChoices(w.tx, w.teamID, c.Email, chosen); err != nil {
		return "", err
	}
	if err := w.wrote().created(&c); err != nil {
		return "", err
	}
	return c.ID, w.changed(&c, joined, chosen)
}

// wrote returns the signals of what was written.
func (w *ContactWriter) wrote() *signals {
	w.signals.silent = w.Silent
	return w.signals
}

// changed signals what happened to a contact, with the segments that it joined and the choices that changed.
func (w *ContactWriter) changed(c *app.Contact, joined []string, chosen []app.TopicChoice) error {
	g := w.wrote()
	if err := g.chose(c.ID, chosen); err != nil {
		return err
	}
	if err := g.joined(c.ID, joined); err != nil {
		return err
	}
	return g.judge(c)
}

// merge merges an item into a contact (NewContact.Merge).
func (w *ContactWriter) merge(n *app.NewContact, old app.Contact) error {
	c, changed, err := w.merged(n, old)
	if err != nil {
		return err
	}
	if err := w.wrote().before(&old); err != nil {
		return err
	}
	if changed {
		if err := w.tx.UpdateContact(&c); err != nil {
			return err
		}
	}
	if c.Unsubscribed && !old.Unsubscribed {
		if err := w.s.suppressFormerAddresses(w.tx, &c); err != nil {
			return err
		}
	}
	joined, chosen, err := w.join(&c, n)
	if err != nil {
		return err
	}
	if changed || len(joined) > 0 {
		if err := w.s.announceChange(w.tx, &c); err != nil {
			return err
		}
	}
	if err := w.s.announceChoices(w.tx, w.teamID, c.Email, chosen); err != nil {
		return err
	}
	if !changed && len(joined) == 0 && len(chosen) == 0 {
		return nil
	}
	return w.changed(&c, joined, chosen)
}

// merged returns a contact with an item merged into it, and whether the contact changes.
func (w *ContactWriter) merged(n *app.NewContact, old app.Contact) (c app.Contact, changed bool, err error) {
	if c, err = n.Merge(old); err != nil || reflect.DeepEqual(c, old) {
		return c, false, err
	}
	c.UpdatedAt = w.tx.Now
	return c, true, nil
}

// join adds a contact to the segments of an item and stores its choices. It returns the changes.
func (w *ContactWriter) join(c *app.Contact, n *app.NewContact) (joined []string, chosen []app.TopicChoice, err error) {
	for _, id := range n.Segments {
		added, err := w.tx.AddMember(id, c.ID)
		if err != nil {
			return nil, nil, err
		}
		if added {
			w.members[id]++
			joined = append(joined, id)
		}
	}
	for _, choice := range n.Topics {
		changed, err := w.tx.SetChoice(choice.ID, c.Hash, choice.Subscription)
		if err != nil {
			return nil, nil, err
		}
		if changed {
			chosen = append(chosen, choice)
		}
	}
	return joined, chosen, nil
}
