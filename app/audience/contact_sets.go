package audience

import (
	"encoding/binary"
	"errors"
	"fmt"

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

// set is a set of items that is being written.
type set struct {
	*ContactWriter
	there   map[app.AddressHash]*app.Contact
	blocked map[app.AddressHash]app.SuppressionOrigin
	taken   map[string]bool // ids that items ask for and contacts have
	fresh   []*app.Contact  // to be inserted
	members []db.SegmentMember
}

// PutSet is Put for many items at once, for a writer that is quiet; their choices about
// topics are left out. An item whose contact has an id keeps it where the team has no
// other of it, and likewise its times. Errors are those of the store.
func (w *ContactWriter) PutSet(items []*app.NewContact, conflict app.OnConflict) ([]Written, error) {
	s := &set{ContactWriter: w, there: map[app.AddressHash]*app.Contact{}, blocked: map[app.AddressHash]app.SuppressionOrigin{}, taken: map[string]bool{}}
	hashes := make([]app.AddressHash, len(items))
	for i, n := range items {
		hashes[i] = w.s.Sealer.AddressHash(w.teamID, n.Folded)
	}
	if err := s.lookUp(items, hashes); err != nil {
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

// lookUp reads what is there of the items' addresses.
func (s *set) lookUp(items []*app.NewContact, hashes []app.AddressHash) error {
	contacts, err := s.tx.ContactsByAddresses(s.teamID, hashes)
	if err != nil {
		return fmt.Errorf("look up contacts: %w", err)
	}
	for i := range contacts {
		s.there[contacts[i].Hash] = &contacts[i]
	}
	suppressed, err := s.tx.SuppressionsAmong(s.teamID, hashes)
	if err != nil {
		return fmt.Errorf("look up suppressions: %w", err)
	}
	for i := range suppressed {
		s.blocked[suppressed[i].Hash] = suppressed[i].Origin
	}
	var ids []string
	for _, n := range items {
		if n.Contact.ID != "" {
			ids = append(ids, n.Contact.ID)
		}
	}
	taken, err := s.tx.ContactIDsTaken(s.teamID, ids)
	if err != nil {
		return fmt.Errorf("look up ids: %w", err)
	}
	for _, id := range taken {
		s.taken[id] = true
	}
	return nil
}

func (s *set) put(n *app.NewContact, hash app.AddressHash, conflict app.OnConflict, out *Written) error {
	if err := s.check(n); err != nil {
		return err
	}
	old := s.there[hash]
	if old == nil {
		return s.insert(n, hash, out)
	}
	out.ID, out.OptedOut = old.ID, n.Contact.Unsubscribed && !old.Unsubscribed
	switch conflict {
	case app.ConflictSkip:
		out.OptedOut = false
		return nil
	case ConflictFill:
		if n = lacking(n, old); adds(n, old) {
			break
		}
		return nil
	}
	if err := s.flush(); err != nil { // old may be one of them
		return err
	}
	merged := *n
	merged.Topics = nil
	if err := s.merge(&merged, *old); err != nil {
		return err
	}
	c, err := merged.Merge(*old)
	*old = c
	return err
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
	for _, id := range n.Segments {
		s.members = append(s.members, db.SegmentMember{SegmentID: id, ContactID: c.ID})
	}
	return nil
}

// flush inserts what is kept.
func (s *set) flush() error {
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
	s.fresh, s.members = nil, nil
	return nil
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
		hashes[i] = f.s.Sealer.AddressHash(f.teamID, n.Folded)
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
