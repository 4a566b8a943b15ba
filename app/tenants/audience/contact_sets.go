package audience

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/db"
)

// ConflictFill adds missing values to an existing contact: empty fields are filled, segments
// joined, and the contact opts out if the item does.
const ConflictFill app.OnConflict = "fill"

// SetResult is the outcome of one item of a set.
type SetResult struct {
	ID       string // of its contact; empty: refused
	Created  bool
	OptedOut bool  // the item unsubscribed a contact that was subscribed, or created an unsubscribed one
	Refusal  error // an *app.Error; nil: accepted
}

// contactSet writes a set of items. Changes of existing contacts are written immediately,
// everything else by flush.
type contactSet struct {
	*ContactWriter
	existing      map[app.AddressHash]*app.Contact
	suppressed    map[app.AddressHash]app.SuppressionOrigin
	subscriptions map[choiceKey]app.Subscription
	usedIDs       map[string]bool // ids that items ask for and contacts have

	newlySuppressed map[app.AddressHash]bool // addresses added to newSuppressions
	inserts         []*app.Contact           // contacts to be inserted, in later Writes of fields below
	members         []db.SegmentMember
	choices         []db.Choice
	newSuppressions []app.Suppression
	strongerOrigins []app.AddressHash // addresses whose suppression gets another origin
}

// choiceKey is a topic and an address.
type choiceKey struct {
	topicID string
	address app.AddressHash
}

// PutSet is Put for many items without topic choices; it announces no events. A contact keeps the
// id of its item if no other contact of the team has it, and the times of its item. Errors: those
// of the store.
func (w *ContactWriter) PutSet(items []*app.NewContact, conflict app.OnConflict) ([]SetResult, error) {
	hashes := make([]app.AddressHash, len(items))
	var ids []string
	for i, n := range items {
		hashes[i] = w.s.Sealer.AddressHash(w.teamID, n.Key)
		if n.Contact.ID != "" {
			ids = append(ids, n.Contact.ID)
		}
	}
	s, err := w.newSet(ids, nil, hashes)
	if err != nil {
		return nil, err
	}
	out := make([]SetResult, len(items))
	for i, n := range items {
		err := s.put(n, hashes[i], conflict, &out[i])
		var refusal *app.Error
		if errors.As(err, &refusal) && refusal.Code != app.CodeNotFound {
			out[i] = SetResult{Refusal: err}
		} else if err != nil {
			return nil, err
		}
	}
	return out, s.flush()
}

// newSet reads the existing data of ids, topics and addresses.
func (w *ContactWriter) newSet(ids []string, topics []app.TopicChoice, addresses []app.AddressHash) (*contactSet, error) {
	s := &contactSet{ContactWriter: w, existing: map[app.AddressHash]*app.Contact{}, suppressed: map[app.AddressHash]app.SuppressionOrigin{},
		subscriptions: map[choiceKey]app.Subscription{}, usedIDs: map[string]bool{}, newlySuppressed: map[app.AddressHash]bool{}}
	contacts, err := s.tx.ContactsByAddresses(s.teamID, addresses)
	if err != nil {
		return nil, fmt.Errorf("look up contacts: %w", err)
	}
	for i := range contacts {
		s.existing[contacts[i].Hash] = &contacts[i]
	}
	suppressed, err := s.tx.SuppressionsAmong(s.teamID, addresses)
	if err != nil {
		return nil, fmt.Errorf("look up suppressions: %w", err)
	}
	for i := range suppressed {
		s.suppressed[suppressed[i].Hash] = suppressed[i].Origin
	}
	taken, err := s.tx.ContactIDsTaken(s.teamID, ids)
	if err != nil {
		return nil, fmt.Errorf("look up ids: %w", err)
	}
	for _, id := range taken {
		s.usedIDs[id] = true
	}
	for _, choice := range topics {
		if err := s.readChoices(choice.ID, addresses); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// put is Put for one item of a set.
func (s *contactSet) put(n *app.NewContact, hash app.AddressHash, conflict app.OnConflict, out *SetResult) error {
	if err := s.check(n); err != nil {
		return err
	}
	old := s.existing[hash]
	if old == nil {
		return s.insert(n, hash, out)
	}
	s.tx.NoteActivity(s.teamID, hash, app.EventType(app.Sent), n.Contact.LastSentAt)
	s.tx.NoteActivity(s.teamID, hash, app.EventType(app.Opened), n.Contact.LastOpenedAt)
	s.tx.NoteActivity(s.teamID, hash, app.EventType(app.Clicked), n.Contact.LastClickedAt)
	out.ID, out.OptedOut = old.ID, n.Contact.Unsubscribed && !old.Unsubscribed
	switch conflict {
	case app.ConflictSkip:
		out.OptedOut = false
		return nil
	case app.ConflictError:
		return errContactExists()
	case ConflictFill:
		if n = missingValues(n, old); !addsAnything(n, old) {
			return nil
		}
	}
	return s.merge(n, old)
}

// insert buffers a contact to be inserted.
func (s *contactSet) insert(n *app.NewContact, hash app.AddressHash, out *SetResult) (err error) {
	c := n.Contact
	if c.Properties, err = n.Changes.Apply(nil); err != nil {
		return err
	}
	if err := s.takeContactSlot(); err != nil {
		return err
	}
	out.Created, out.OptedOut = true, c.Unsubscribed
	if c.ID == "" || s.usedIDs[c.ID] {
		c.ID = app.NewID()
	}
	s.usedIDs[c.ID] = true
	c.Unsubscribed = c.Unsubscribed || !s.Exact && s.suppressed[hash] == app.OriginUnsubscribe
	c.TeamID, c.Hash = s.teamID, hash
	if c.CreatedAt.IsZero() {
		c.CreatedAt = s.tx.Now
	}
	if c.UpdatedAt.IsZero() {
		c.UpdatedAt = c.CreatedAt
	}
	out.ID, s.existing[hash] = c.ID, &c
	s.inserts = append(s.inserts, &c)
	s.deferJoins(n, &c)
	return nil
}

// merge merges an item into a contact (NewContact.Merge).
func (s *contactSet) merge(n *app.NewContact, old *app.Contact) error {
	c, changed, err := s.merged(n, *old)
	if err != nil {
		return err
	}
	leaves := c.Unsubscribed && !old.Unsubscribed
	*old = c
	if !slices.Contains(s.inserts, old) {
		if changed {
			err = s.tx.UpdateContact(old)
		}
		if err == nil && leaves {
			err = s.suppressFormer(old)
		}
		if err != nil {
			return err
		}
	}
	s.deferJoins(n, old)
	return nil
}

// deferJoins buffers the segments and choices of an item for flush.
func (s *contactSet) deferJoins(n *app.NewContact, c *app.Contact) {
	for _, id := range n.Segments {
		s.members = append(s.members, db.SegmentMember{SegmentID: id, ContactID: c.ID})
	}
	for _, choice := range n.Topics {
		s.choose(choice, c.Hash)
	}
}

// flush writes the buffered rows.
func (s *contactSet) flush() error {
	if err := s.flushSuppressions(); err != nil {
		return err
	}
	if err := s.tx.InsertContacts(s.inserts); err != nil {
		return err
	}
	added, err := s.tx.AddMembers(s.members)
	if err != nil {
		return err
	}
	for _, m := range added {
		s.ContactWriter.members[m.SegmentID]++
	}
	s.created += len(s.inserts)
	err = s.tx.SetChoices(s.choices)
	s.inserts, s.members, s.choices = nil, nil, nil
	return err
}

// missingValues returns the values of an item that a contact does not have yet.
func missingValues(n *app.NewContact, old *app.Contact) *app.NewContact {
	out := *n
	if old.FirstName != "" {
		out.Contact.FirstName = ""
	}
	if old.LastName != "" {
		out.Contact.LastName = ""
	}
	out.Changes = nil
	for key, v := range n.Changes {
		if _, exists := old.Properties[key]; !exists && v != nil {
			if out.Changes == nil {
				out.Changes = app.PropertyChanges{}
			}
			out.Changes[key] = v
		}
	}
	return &out
}

// addsAnything reports whether the result of missingValues changes the contact.
func addsAnything(n *app.NewContact, old *app.Contact) bool {
	return n.Contact.FirstName != "" || n.Contact.LastName != "" || len(n.Changes) > 0 || len(n.Segments) > 0 || n.Contact.Unsubscribed && !old.Unsubscribed
}

// DryRun predicts what PutSet with ConflictFill would do with a series of sets, and writes nothing.
type DryRun struct {
	s            *Service
	teamID       string
	types        map[string]app.PropertyType // by property key
	contactsLeft int                         // contacts that the plan still allows; negative: no limit
	seen         map[uint64]struct{}         // addresses of earlier items
}

// NewDryRun makes a DryRun. It treats the properties in types as declared.
func NewDryRun(s *Service, r *db.Reader, teamID string, types map[string]app.PropertyType) (*DryRun, error) {
	contactsLeft, err := s.teams.ContactsLeft(r, teamID)
	return &DryRun{s: s, teamID: teamID, types: types, contactsLeft: contactsLeft, seen: map[uint64]struct{}{}}, err
}

// Set predicts the outcome of a set.
func (f *DryRun) Set(r *db.Reader, items []*app.NewContact) ([]SetResult, error) {
	hashes := make([]app.AddressHash, len(items))
	for i, n := range items {
		hashes[i] = f.s.Sealer.AddressHash(f.teamID, n.Key)
	}
	contacts, err := r.ContactsByAddresses(f.teamID, hashes)
	if err != nil {
		return nil, fmt.Errorf("look up contacts: %w", err)
	}
	existing := make(map[app.AddressHash]*app.Contact, len(contacts))
	for i := range contacts {
		existing[contacts[i].Hash] = &contacts[i]
	}
	out := make([]SetResult, len(items))
	for i, n := range items {
		out[i] = f.item(n, existing[hashes[i]], binary.LittleEndian.Uint64(hashes[i][:]))
	}
	return out, nil
}

func (f *DryRun) item(n *app.NewContact, old *app.Contact, address uint64) SetResult {
	if err := n.Changes.Fits(f.types); err != nil {
		return SetResult{Refusal: err}
	}
	_, repeated := f.seen[address]
	switch {
	case repeated:
		return SetResult{}
	case old != nil:
		if _, err := missingValues(n, old).Merge(*old); err != nil {
			return SetResult{Refusal: err}
		}
		w := SetResult{ID: old.ID, OptedOut: n.Contact.Unsubscribed && !old.Unsubscribed}
		if w.OptedOut {
			f.seen[address] = struct{}{}
		}
		return w
	case f.contactsLeft == 0:
		return SetResult{Refusal: errContactLimit()}
	}
	f.contactsLeft--
	f.seen[address] = struct{}{}
	return SetResult{Created: true, OptedOut: n.Contact.Unsubscribed}
}
