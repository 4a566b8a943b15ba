package audience

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/membudget"
	"mailer/db"
)

// ContactItem is one contact of a batch: its input, or the error of its shape.
type ContactItem struct {
	Input *app.ContactInput
	Err   error
}

// ContactBatchRow is the outcome of one item: created, updated or skipped.
type ContactBatchRow struct {
	Index  int
	ID     string
	Status string
}

// ContactBatchResult is the answer to a batch of contacts: a row or an error for each item, both in
// the order of the request.
type ContactBatchResult struct {
	Rows                      []ContactBatchRow
	Errors                    []app.BatchError
	Created, Updated, Skipped int
}

// PutContacts creates 1 to app.MaxContactBatch contacts in one Write. conflict decides about items
// whose address has a contact already, or appears earlier in the batch. A strict batch is written
// whole, or refused with the error of its first bad item, whose message then begins with
// "contacts.{index}: ". A permissive batch writes the good items and lists the others. No automation
// starts or continues because of a batch. Errors: those of PutContact.
func (s *Service) PutContacts(ctx context.Context, key *app.Key, items []ContactItem, conflict app.OnConflict, permissive bool) (*ContactBatchResult, error) {
	return s.putContacts(ctx, key, items, conflict, permissive, false)
}

// PutContactsAndTrigger is PutContacts for a batch because of which automations start and continue.
func (s *Service) PutContactsAndTrigger(ctx context.Context, key *app.Key, items []ContactItem, conflict app.OnConflict, permissive bool) (*ContactBatchResult, error) {
	return s.putContacts(ctx, key, items, conflict, permissive, true)
}

func (s *Service) putContacts(ctx context.Context, key *app.Key, items []ContactItem, conflict app.OnConflict, permissive, triggers bool) (result *ContactBatchResult, err error) {
	if len(items) < 1 || len(items) > app.MaxContactBatch {
		return nil, app.Errorf(app.CodeValidation, "The body must be an array of 1 to %d contacts", app.MaxContactBatch)
	}
	prepared := make([]preparedContact, len(items))
	for i, item := range items {
		prepared[i] = s.prepareContact(key.TeamID, item)
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		b := &contactBatch{conflict: conflict, permissive: permissive, byAddress: map[app.AddressHash]*contactGroup{}}
		if b.w, err = s.NewContactWriter(tx, key.TeamID); err != nil {
			return err
		}
		b.w.Silent = !triggers
		result, err = b.write(prepared)
		return err
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return result, nil
}

// preparedContact is an item that was validated alone, or its error.
type preparedContact struct {
	contact *app.NewContact
	hash    app.AddressHash
	err     error
}

func (s *Service) prepareContact(teamID string, item ContactItem) preparedContact {
	if item.Err != nil {
		return preparedContact{err: item.Err}
	}
	n, err := item.Input.Validate()
	if err != nil {
		return preparedContact{err: err}
	}
	return preparedContact{contact: n, hash: s.Sealer.AddressHash(teamID, n.Key)}
}

// contactGroup is the contact that is written for one address: one item, or several merged ones.
type contactGroup struct {
	contact app.NewContact
	hash    app.AddressHash
	old     *app.Contact // to be merged into; nil: to be created
	id      string       // set when written
}

// contactBatch processes a batch inside one Write. It decides about all items, in order, before it
// writes the first one, so that a refusal costs the writer only reads.
type contactBatch struct {
	w          *ContactWriter
	conflict   app.OnConflict
	permissive bool
	byAddress  map[app.AddressHash]*contactGroup
	groups     []*contactGroup
	outcomes   []contactOutcome
	errors     []app.BatchError
}

// contactOutcome is the outcome of an accepted item.
type contactOutcome struct {
	index  int
	group  *contactGroup // group whose id the item gets; nil: id is set
	id     string
	status contactStatus
}

func (b *contactBatch) write(items []preparedContact) (*ContactBatchResult, error) {
	for i := range items {
		out, err := b.decide(&items[i])
		if err != nil {
			if err := b.refuse(i, err); err != nil {
				return nil, err
			}
			continue
		}
		out.index = i
		b.outcomes = append(b.outcomes, out)
	}
	for _, g := range b.groups {
		if err := b.writeGroup(g); err != nil {
			return nil, err
		}
	}
	return b.result(), b.w.Finish()
}

// decide decides about an item. An *app.Error refuses the item.
func (b *contactBatch) decide(item *preparedContact) (contactOutcome, error) {
	if item.err != nil {
		return contactOutcome{}, item.err
	}
	if err := b.w.check(item.contact); err != nil {
		return contactOutcome{}, err
	}
	if g := b.byAddress[item.hash]; g != nil {
		return b.mergeRepeat(g, item)
	}
	old, err := b.w.tx.ContactByAddress(b.w.teamID, item.hash)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return b.newGroup(item, nil, contactCreated)
	case err != nil:
		return contactOutcome{}, fmt.Errorf("look up contact: %w", err)
	case b.conflict == app.ConflictSkip:
		return contactOutcome{id: old.ID, status: contactSkipped}, nil
	case b.conflict == app.ConflictUpsert:
		return b.newGroup(item, &old, contactUpdated)
	}
	return contactOutcome{}, errContactExists()
}

func errContactExists() error {
	return app.Errorf(app.CodeConflict, "A contact with this email address exists already")
}

// newGroup adds the group of an address.
func (b *contactBatch) newGroup(item *preparedContact, old *app.Contact, status contactStatus) (contactOutcome, error) {
	g := &contactGroup{contact: *item.contact, hash: item.hash, old: old}
	if err := g.fits(&g.contact); err != nil {
		return contactOutcome{}, err
	}
	if old == nil {
		if err := b.w.takeContactSlot(); err != nil {
			return contactOutcome{}, err
		}
	}
	b.byAddress[item.hash] = g
	b.groups = append(b.groups, g)
	return contactOutcome{group: g, status: status}, nil
}

// mergeRepeat handles an item whose address appeared earlier in the batch.
func (b *contactBatch) mergeRepeat(g *contactGroup, item *preparedContact) (contactOutcome, error) {
	switch b.conflict {
	case app.ConflictSkip:
		return contactOutcome{group: g, status: contactSkipped}, nil
	case app.ConflictUpsert:
		folded := g.contact
		folded.Fold(item.contact)
		if err := g.fits(&folded); err != nil {
			return contactOutcome{}, err
		}
		g.contact = folded
		return contactOutcome{group: g, status: contactUpdated}, nil
	}
	return contactOutcome{}, app.Errorf(app.CodeConflict, "An earlier item of this batch has the same email address")
}

// fits returns nil if the contact of the group can hold all properties of n.
func (g *contactGroup) fits(n *app.NewContact) error {
	var old app.Properties
	if g.old != nil {
		old = g.old.Properties
	}
	_, err := n.Changes.Apply(old)
	return err
}

// refuse lists the error of an item of a permissive batch, or returns the error that ends the batch
// (app.RefuseItem).
func (b *contactBatch) refuse(i int, err error) error {
	item, batchErr := app.RefuseItem("contacts", i, b.permissive, err)
	if item != nil {
		b.errors = append(b.errors, *item)
	}
	return batchErr
}

func (b *contactBatch) writeGroup(g *contactGroup) (err error) {
	if g.old != nil {
		g.id = g.old.ID
		return b.w.merge(&g.contact, *g.old)
	}
	g.id, err = b.w.create(&g.contact, g.hash)
	return err
}

func (b *contactBatch) result() *ContactBatchResult {
	out := &ContactBatchResult{Rows: make([]ContactBatchRow, len(b.outcomes)), Errors: b.errors}
	for i, o := range b.outcomes {
		if o.group != nil {
			o.id = o.group.id
		}
		out.Rows[i] = ContactBatchRow{Index: o.index, ID: o.id, Status: string(o.status)}
		switch o.status {
		case contactCreated:
			out.Created++
		case contactUpdated:
			out.Updated++
		case contactSkipped:
			out.Skipped++
		}
	}
	return out
}

// FoundContacts is the answer to a batch read.
type FoundContacts struct {
	Contacts []app.Contact
	Include  app.Include
	Missing  []int // indexes in the request of keys without a contact
}

// GetContacts reads many contacts, in the order of the request. Their properties reserve memory in
// the budget of ctx. Errors: CodeValidation, CodeServiceUnavailable.
func (s *Service) GetContacts(ctx context.Context, key *app.Key, in app.ContactRead) (*FoundContacts, error) {
	keys, include, err := in.Validate()
	if err != nil {
		return nil, err
	}
	hashes := s.hashContacts(key.TeamID, keys)
	out, memory := &FoundContacts{Include: include}, membudget.NewCounter(ctx)
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		for i, k := range keys {
			c, err := contactOf(r, key.TeamID, k, hashes[i])
			if errors.Is(err, db.ErrNotFound) {
				out.Missing = append(out.Missing, i)
				continue
			}
			if err == nil {
				err = memory.Add(c.Properties.Size())
			}
			if err != nil {
				return fmt.Errorf("look up contact: %w", err)
			}
			out.Contacts = append(out.Contacts, c)
		}
		if !include.Topics {
			return nil
		}
		return r.AddTopics(key.TeamID, out.Contacts)
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return out, nil
}

// hashContacts returns the address hash of each key with an address.
func (s *Service) hashContacts(teamID string, keys []app.ContactKey) []app.AddressHash {
	out := make([]app.AddressHash, len(keys))
	for i, k := range keys {
		if !k.Address.IsZero() {
			out[i] = s.Sealer.AddressHash(teamID, k.Address)
		}
	}
	return out
}

// contactOf reads the contact of a key; hash is the hash of its address. Error: db.ErrNotFound,
// also if id and address belong to different contacts.
func contactOf(r *db.Reader, teamID string, k app.ContactKey, hash app.AddressHash) (app.Contact, error) {
	if k.ID == "" {
		return r.ContactByAddress(teamID, hash)
	}
	c, err := r.Contact(teamID, k.ID)
	if err == nil && !k.Address.IsZero() && c.Hash != hash {
		return app.Contact{}, db.ErrNotFound
	}
	return c, err
}

// RemoveContacts deletes many contacts in one Write, skips unknown ones, and returns the ids of the
// deleted ones, each once. Errors: CodeValidation.
func (s *Service) RemoveContacts(ctx context.Context, key *app.Key, in app.ContactRemoval) (ids []string, err error) {
	keys, err := in.Validate()
	if err != nil {
		return nil, err
	}
	hashes := s.hashContacts(key.TeamID, keys)
	if in.Erase {
		return s.eraseAll(ctx, key.TeamID, keys, hashes)
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		found, err := contactsOf(&tx.Reader, key.TeamID, keys, hashes)
		if err != nil {
			return err
		}
		ids, err = s.deleteContacts(tx, found)
		return err
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	return ids, nil
}

// eraseAll erases the contacts of keys and returns their ids. It also erases addresses among the
// keys that have no contact.
func (s *Service) eraseAll(ctx context.Context, teamID string, keys []app.ContactKey, hashes []app.AddressHash) ([]string, error) {
	found, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Contact, error) { return contactsOf(r, teamID, keys, hashes) })
	if err != nil {
		return nil, base.Unavailable(err)
	}
	targets := slices.Clone(found)
	for i, k := range keys {
		if k.ID == "" && !slices.ContainsFunc(found, func(c app.Contact) bool { return c.Hash == hashes[i] }) {
			targets = append(targets, unknownContact(teamID, k.Address))
		}
	}
	if err := s.EraseContacts(ctx, teamID, targets); err != nil {
		return nil, base.Unavailable(err)
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	return ids, nil
}

// contactsOf reads the contacts of keys, each once.
func contactsOf(r *db.Reader, teamID string, keys []app.ContactKey, hashes []app.AddressHash) ([]app.Contact, error) {
	var out []app.Contact
	seen := make(map[string]bool, len(keys))
	for i, k := range keys {
		c, err := contactOf(r, teamID, k, hashes[i])
		if errors.Is(err, db.ErrNotFound) || err == nil && seen[c.ID] {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up contact: %w", err)
		}
		seen[c.ID] = true
		out = append(out, c)
	}
	return out, nil
}

// deleteContacts deletes contacts, skips deleted ones, and returns the ids of the others.
func (s *Service) deleteContacts(tx *db.Tx, contacts []app.Contact) (ids []string, err error) {
	for i := range contacts {
		err := s.deleteContact(tx, &contacts[i])
		if errors.Is(err, db.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, contacts[i].ID)
	}
	return ids, nil
}
