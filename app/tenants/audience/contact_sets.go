package audience

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	inserts         []*app.Contact           // contacts to be inserted
	members         []db.SegmentMember
	choices         []db.Choice
	changes         []*app.Contact // contacts that change, if automations may have to know
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
	if err := s.tx.NoteReply(s.teamID, hash, "", n.Contact.LastRepliedAt); err != nil {
		return err
	}
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
	if !slices.Contains(s.inserts, old) {
		if err := s.wrote().before(old); err != nil {
			return err
		}
	}
	*old = c
	if !slices.Contains(s.inserts, old) {
		if changed {
			err = s.tx.UpdateContact(old)
		}
		s.changes = append(s.changes, old)
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
	if err := s.tx.SetChoices(s.choices); err != nil {
		return err
	}
	err = s.signalAll(added)
	s.inserts, s.members, s.choices, s.changes = nil, nil, nil, nil
	return err
}

// signalAll tells automations about the contacts, members and choices that were just written.
func (s *contactSet) signalAll(added []db.SegmentMember) error {
	g := s.wrote()
	for _, c := range s.inserts {
		if err := g.created(c); err != nil {
			return err
		}
	}
	for i := range s.choices {
		choice := &s.choices[i]
		c := s.existing[choice.Address]
		if c == nil { // an address without a contact
			continue
		}
		if err := g.chose(c.ID, []app.TopicChoice{{ID: choice.TopicID, Subscription: choice.Subscription}}); err != nil {
			return err
		}
		s.changes = append(s.changes, c)
	}
	for _, m := range added {
		if err := g.joined(m.ContactID, []string{m.SegmentID}); err != nil {
			return err
		}
	}
	all, err := g.watch()
	if err != nil || len(all) == 0 {
		return err
	}
	judged := map[string]bool{}
	for _, c := range slices.Concat(s.inserts, s.changes) {
		if judged[c.ID] {
			continue
		}
		judged[c.ID] = true
		if err := g.judge(c); err != nil {
			return err
		}
	}
	return nil
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

// readChoices reads the choices of addresses about a topic.
func (s *contactSet) readChoices(topicID string, hashes []app.AddressHash) error {
	all, err := s.tx.ChoicesAmong(topicID, hashes)
	if err != nil {
		return fmt.Errorf("look up choices: %w", err)
	}
	for i := range all {
		s.subscriptions[choiceKey{topicID, all[i].Address}] = all[i].Subscription
	}
	return nil
}

// choose buffers a choice that changes something. All items of a set make the same choice about a
// topic. It ignores an opt-in of an address that opted out: an import, possibly of an old list,
// resubscribes nobody.
func (s *contactSet) choose(choice app.TopicChoice, address app.AddressHash) {
	key := choiceKey{choice.ID, address}
	if current := s.subscriptions[key]; current == choice.Subscription || current == app.OptOut {
		return
	}
	s.subscriptions[key] = choice.Subscription
	s.choices = append(s.choices, db.Choice{TopicID: choice.ID, Address: address, Subscription: choice.Subscription, At: s.tx.Now})
}

// optOut unsubscribes the contact of an address. It returns false if there is no contact, or if it
// is unsubscribed already.
func (s *contactSet) optOut(address app.AddressHash) (bool, error) {
	old := s.existing[address]
	if old == nil || old.Unsubscribed {
		return false, nil
	}
	return true, s.merge(&app.NewContact{Contact: app.Contact{Unsubscribed: true}}, old)
}

// suppress adds an address to the suppression list, or changes the origin of its suppression to a
// stronger one.
func (s *contactSet) suppress(email string, address app.AddressHash, origin app.SuppressionOrigin) contactStatus {
	if !s.newlySuppressed[address] { // an erased suppression becomes visible again
		s.newlySuppressed[address] = true
		s.newSuppressions = append(s.newSuppressions, app.Suppression{ID: app.NewID(), TeamID: s.teamID, Email: strings.ToLower(email), Hash: address, Origin: origin, CreatedAt: s.tx.Now})
	}
	current, exists := s.suppressed[address]
	switch {
	case !exists:
		s.suppressed[address] = origin
		return contactCreated
	case current.WeakerThan(origin):
		s.suppressed[address] = origin
		s.strongerOrigins = append(s.strongerOrigins, address)
		return contactUpdated
	}
	return contactSkipped
}

// flushSuppressions writes the suppressions that suppress buffered.
func (s *contactSet) flushSuppressions() error {
	if _, err := s.tx.AddSuppressions(s.newSuppressions); err != nil {
		return fmt.Errorf("suppress: %w", err)
	}
	for _, address := range s.strongerOrigins {
		current, err := s.tx.SuppressionByAddress(s.teamID, address)
		if err != nil {
			return fmt.Errorf("look up suppression: %w", err)
		}
		if err := s.tx.ReplaceOrigin(s.teamID, current.ID, s.suppressed[address], current.SourceID); err != nil {
			return fmt.Errorf("change the origin of a suppression: %w", err)
		}
	}
	s.newSuppressions, s.strongerOrigins = nil, nil
	return nil
}

// suppressFormer suppresses the former addresses of a contact that unsubscribed, except those that
// another contact has now. Contacts of earlier items are written first.
func (s *contactSet) suppressFormer(c *app.Contact) error {
	former, err := s.tx.FormerAddresses(c.TeamID, c.ID)
	if err != nil {
		return fmt.Errorf("read former addresses: %w", err)
	}
	if len(former) == 0 {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	for _, f := range former { // later items may have these addresses
		if s.existing[f.Hash] == nil && s.suppressed[f.Hash] == "" {
			s.suppressed[f.Hash] = app.OriginUnsubscribe
		}
	}
	return s.s.suppressFormerAddresses(s.tx, c)
}
