package audience

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"mailer/app"
	"mailer/db"
)

// ConflictFill leaves a contact that is there as it is but for what it lacks: absent
// values are filled, segments joined, and it opts out where the item does.
const ConflictFill app.OnConflict = "fill"

// Written is what became of one item of a set.
type Written struct {
	ID       string // of its contact; empty: it was refused
	Created  bool
	OptedOut bool  // it unsubscribed, and its contact was not before
	Refusal  error // an *app.Error; nil: the item was taken
}

// set is a set of items that is being written: changes of contacts that are stored at
// once, everything else by flush.
type set struct {
	*ContactWriter
	there   map[app.AddressHash]*app.Contact
	blocked map[app.AddressHash]app.SuppressionOrigin
	chosen  map[choosing]app.Subscription
	taken   map[string]bool // ids that items ask for and contacts have

	listed  map[app.AddressHash]bool // in suppressions
	fresh   []*app.Contact           // to be inserted, with all that follows
	members []db.SegmentMember
	choices []db.Choice
	barred  []app.Suppression
	graver  []app.AddressHash // whose suppressions get another origin
}

// choosing is who chooses about what.
type choosing struct {
	topicID string
	address app.AddressHash
}

// PutSet is Put for many items at once that choose about no topics; webhooks are not told.
// An item whose contact has an id keeps it where the team has no
// other of it, and likewise its times. Errors are those of the store.
func (w *ContactWriter) PutSet(items []*app.NewContact, conflict app.OnConflict) ([]Written, error) {
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
	out := make([]Written, len(items))
	for i, n := range items {
		err := s.put(n, hashes[i], conflict, &out[i])
		var refusal *app.Error
		if errors.As(err, &refusal) && refusal.Code != app.CodeNotFound {
			out[i] = Written{Refusal: err}
		} else if err != nil {
			return nil, err
		}
	}
	return out, s.flush()
}

// newSet reads what is there of the ids that items ask for, of topics and of addresses.
func (w *ContactWriter) newSet(ids []string, topics []app.TopicChoice, addresses []app.AddressHash) (*set, error) {
	s := &set{ContactWriter: w, there: map[app.AddressHash]*app.Contact{}, blocked: map[app.AddressHash]app.SuppressionOrigin{},
		chosen: map[choosing]app.Subscription{}, taken: map[string]bool{}, listed: map[app.AddressHash]bool{}}
	contacts, err := s.tx.ContactsByAddresses(s.teamID, addresses)
	if err != nil {
		return nil, fmt.Errorf("look up contacts: %w", err)
	}
	for i := range contacts {
		s.there[contacts[i].Hash] = &contacts[i]
	}
	suppressed, err := s.tx.SuppressionsAmong(s.teamID, addresses)
	if err != nil {
		return nil, fmt.Errorf("look up suppressions: %w", err)
	}
	for i := range suppressed {
		s.blocked[suppressed[i].Hash] = suppressed[i].Origin
	}
	taken, err := s.tx.ContactIDsTaken(s.teamID, ids)
	if err != nil {
		return nil, fmt.Errorf("look up ids: %w", err)
	}
	for _, id := range taken {
		s.taken[id] = true
	}
	for _, choice := range topics {
		if err := s.readChoices(choice.ID, addresses); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// put is Put for one item of a set.
func (s *set) put(n *app.NewContact, hash app.AddressHash, conflict app.OnConflict, out *Written) error {
	if err := s.check(n); err != nil {
		return err
	}
	old := s.there[hash]
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
		if n = lacking(n, old); !adds(n, old) {
			return nil
		}
	}
	return s.bringUp(n, old)
}

// insert keeps a contact to be inserted.
func (s *set) insert(n *app.NewContact, hash app.AddressHash, out *Written) (err error) {
	c := n.Contact
	if c.Properties, err = n.Changes.Apply(nil); err != nil {
		return err
	}
	if err := s.admit(); err != nil {
		return err
	}
	out.Created, out.OptedOut = true, c.Unsubscribed
	if c.ID == "" || s.taken[c.ID] {
		c.ID = app.NewID()
	}
	s.taken[c.ID] = true
	c.Unsubscribed = c.Unsubscribed || !s.Exact && s.blocked[hash] == app.OriginUnsubscribe
	c.TeamID, c.Hash = s.teamID, hash
	if c.CreatedAt.IsZero() {
		c.CreatedAt = s.tx.Now
	}
	if c.UpdatedAt.IsZero() {
		c.UpdatedAt = c.CreatedAt
	}
	out.ID, s.there[hash] = c.ID, &c
	s.fresh = append(s.fresh, &c)
	s.joinLater(n, &c)
	return nil
}

// bringUp brings a contact up to an item (NewContact.Merge).
func (s *set) bringUp(n *app.NewContact, old *app.Contact) error {
	c, changed, err := s.merged(n, *old)
	if err != nil {
		return err
	}
	leaves := c.Unsubscribed && !old.Unsubscribed
	*old = c
	if !slices.Contains(s.fresh, old) {
		if changed {
			err = s.tx.UpdateContact(old)
		}
		if err == nil && leaves {
			err = s.leaveFormer(old)
		}
		if err != nil {
			return err
		}
	}
	s.joinLater(n, old)
	return nil
}

// joinLater keeps the segments and choices of an item for flush.
func (s *set) joinLater(n *app.NewContact, c *app.Contact) {
	for _, id := range n.Segments {
		s.members = append(s.members, db.SegmentMember{SegmentID: id, ContactID: c.ID})
	}
	for _, choice := range n.Topics {
		s.choose(choice, c.Hash)
	}
}

// flush writes what is kept.
func (s *set) flush() error {
	if err := s.flushSuppressions(); err != nil {
		return err
	}
	if err := s.tx.InsertContacts(s.fresh); err != nil {
		return err
	}
	added, err := s.tx.AddMembers(s.members)
	if err != nil {
		return err
	}
	for _, m := range added {
		s.ContactWriter.members[m.SegmentID]++
	}
	s.created += len(s.fresh)
	err = s.tx.SetChoices(s.choices)
	s.fresh, s.members, s.choices = nil, nil, nil
	return err
}

// lacking is what an item adds to a contact that has its own values.
func lacking(n *app.NewContact, old *app.Contact) *app.NewContact {
	out := *n
	if old.FirstName != "" {
		out.Contact.FirstName = ""
	}
	if old.LastName != "" {
		out.Contact.LastName = ""
	}
	out.Changes = nil
	for key, v := range n.Changes {
		if _, there := old.Properties[key]; !there && v != nil {
			if out.Changes == nil {
				out.Changes = app.PropertyChanges{}
			}
			out.Changes[key] = v
		}
	}
	return &out
}

// adds reports whether an item that lacking made changes the contact.
func adds(n *app.NewContact, old *app.Contact) bool {
	return n.Contact.FirstName != "" || n.Contact.LastName != "" || len(n.Changes) > 0 || len(n.Segments) > 0 || n.Contact.Unsubscribed && !old.Unsubscribed
}

// Foresight says what PutSet with ConflictFill would do of sets of items, one after the
// other, and writes nothing.
type Foresight struct {
	s      *Service
	teamID string
	types  map[string]app.PropertyType // of properties, by key
	room   int                         // contacts that the plan has a place for; negative: any number
	seen   map[uint64]struct{}         // addresses of items before
}

// NewForesight makes one. Properties of types count as declared.
func NewForesight(s *Service, r *db.Reader, teamID string, types map[string]app.PropertyType) (*Foresight, error) {
	room, err := s.teams.ContactRoom(r, teamID)
	return &Foresight{s: s, teamID: teamID, types: types, room: room, seen: map[uint64]struct{}{}}, err
}

// Set foresees a set.
func (f *Foresight) Set(r *db.Reader, items []*app.NewContact) ([]Written, error) {
	hashes := make([]app.AddressHash, len(items))
	for i, n := range items {
		hashes[i] = f.s.Sealer.AddressHash(f.teamID, n.Key)
	}
	contacts, err := r.ContactsByAddresses(f.teamID, hashes)
	if err != nil {
		return nil, fmt.Errorf("look up contacts: %w", err)
	}
	there := make(map[app.AddressHash]*app.Contact, len(contacts))
	for i := range contacts {
		there[contacts[i].Hash] = &contacts[i]
	}
	out := make([]Written, len(items))
	for i, n := range items {
		out[i] = f.item(n, there[hashes[i]], binary.LittleEndian.Uint64(hashes[i][:]))
	}
	return out, nil
}

func (f *Foresight) item(n *app.NewContact, old *app.Contact, address uint64) Written {
	if err := n.Changes.Fits(f.types); err != nil {
		return Written{Refusal: err}
	}
	_, again := f.seen[address]
	switch {
	case again:
		return Written{}
	case old != nil:
		if _, err := lacking(n, old).Merge(*old); err != nil {
			return Written{Refusal: err}
		}
		w := Written{ID: old.ID, OptedOut: n.Contact.Unsubscribed && !old.Unsubscribed}
		if w.OptedOut {
			f.seen[address] = struct{}{}
		}
		return w
	case f.room == 0:
		return Written{Refusal: errNoRoom()}
	}
	f.room--
	f.seen[address] = struct{}{}
	return Written{Created: true, OptedOut: n.Contact.Unsubscribed}
}
