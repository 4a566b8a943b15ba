package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of contacts (decisions.md 5; api.md, Limits).
const (
	MaxContactBatch = 1000 // items of one batch call
	maxContactName  = 255  // characters of a first or last name
	maxContactLinks = 1000 // segments or topics of one item
	MaxProperties   = 100  // keys of one contact
	maxPropertyText = 1000 // characters
	maxPropertyKey  = 200  // characters
)

// Contact is somebody in a team's audience. An empty name is none.
type Contact struct {
	ID           string
	TeamID       string
	Hash         AddressHash // of the folded address, by which it is found
	Email        string      // as given
	FirstName    string
	LastName     string
	Unsubscribed bool
	Properties   Properties
	Topics       []ContactTopic // where they were asked for
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Change is a member of a PATCH: absent, null or a value.
type Change[T any] struct {
	Set   bool // it was there
	Null  bool // it was null
	Value T
}

// SegmentRef names a segment in an input.
type SegmentRef struct {
	ID string `json:"id"`
}

// ContactInput is a contact to create, or to merge into the one of its address.
type ContactInput struct {
	Email        string
	FirstName    string // empty: not given
	LastName     string
	Unsubscribed bool // false: not given
	Properties   PropertyChanges
	Segments     []SegmentRef
	Topics       []TopicChoice
}

// NewContact is a ContactInput that was checked: a contact without id, team,
// hash and times, and what it is to be joined to.
type NewContact struct {
	Contact  Contact
	Folded   string // address by which it is found
	Changes  PropertyChanges
	Segments []string
	Topics   []TopicChoice
}

// Validate checks the input by itself: whether segments and topics exist, and
// whether declared properties have their type, is the store's to say.
func (in *ContactInput) Validate() (*NewContact, error) {
	if in.Email == "" {
		return nil, Invalid("email", "is required")
	}
	email, folded, err := ParseBareAddress(in.Email)
	if err != nil {
		return nil, Invalid("email", "%s", err)
	}
	if err := checkContactNames(in.FirstName, in.LastName); err != nil {
		return nil, err
	}
	if err := in.Properties.Validate(); err != nil {
		return nil, err
	}
	out := &NewContact{Folded: folded, Changes: in.Properties, Contact: Contact{
		Email: email, FirstName: in.FirstName, LastName: in.LastName, Unsubscribed: in.Unsubscribed,
	}}
	if len(in.Segments) > maxContactLinks {
		return nil, Invalid("segments", "can hold at most %d items", maxContactLinks)
	}
	for i, s := range in.Segments {
		id, ok := ParseID(s.ID)
		if !ok {
			return nil, Invalid(fmt.Sprintf("segments[%d].id", i), "must be the id of a segment")
		}
		out.Segments = append(out.Segments, id)
	}
	if out.Topics, err = ValidateChoices("topics", in.Topics); err != nil {
		return nil, err
	}
	return out, nil
}

func checkContactNames(first, last string) error {
	for _, name := range []struct{ field, value string }{{"first_name", first}, {"last_name", last}} {
		if utf8.RuneCountInString(name.value) > maxContactName {
			return Invalid(name.field, "can have at most %d characters", maxContactName)
		}
		if hasControl(name.value) {
			return Invalid(name.field, "must not contain line breaks or other control characters")
		}
	}
	return nil
}

// ContactPatch changes a contact (decisions.md 5).
type ContactPatch struct {
	FirstName    Change[string] // null clears, empty is absent
	LastName     Change[string]
	Unsubscribed *bool           // nil: as it is; false re-subscribes
	Properties   PropertyChanges // merged; nil values remove
}

// Validate checks the patch by itself.
func (p *ContactPatch) Validate() error {
	if err := checkContactNames(p.FirstName.Value, p.LastName.Value); err != nil {
		return err
	}
	return p.Properties.Validate()
}

// Apply gives the contact as the patch leaves it. Errors: CodeValidation for
// more properties than a contact can have.
func (p *ContactPatch) Apply(c Contact) (Contact, error) {
	for _, m := range []struct {
		change Change[string]
		field  *string
	}{{p.FirstName, &c.FirstName}, {p.LastName, &c.LastName}} {
		if m.change.Set && (m.change.Null || m.change.Value != "") {
			*m.field = m.change.Value
		}
	}
	if p.Unsubscribed != nil {
		c.Unsubscribed = *p.Unsubscribed
	}
	var err error
	c.Properties, err = p.Properties.Apply(c.Properties)
	return c, err
}

// Merge gives a contact as an upsert leaves it: names only where provided,
// properties merged, and never re-subscribed (api.md, POST /contacts/batch 2).
// Errors: CodeValidation.
func (n *NewContact) Merge(c Contact) (Contact, error) {
	if n.Contact.FirstName != "" {
		c.FirstName = n.Contact.FirstName
	}
	if n.Contact.LastName != "" {
		c.LastName = n.Contact.LastName
	}
	c.Unsubscribed = c.Unsubscribed || n.Contact.Unsubscribed
	var err error
	c.Properties, err = n.Changes.Apply(c.Properties)
	return c, err
}

// Fold takes a later item for the same address into this one: later scalars
// win, associations are united (api.md, POST /contacts/batch 1).
func (n *NewContact) Fold(later *NewContact) {
	if later.Contact.FirstName != "" {
		n.Contact.FirstName = later.Contact.FirstName
	}
	if later.Contact.LastName != "" {
		n.Contact.LastName = later.Contact.LastName
	}
	n.Contact.Unsubscribed = n.Contact.Unsubscribed || later.Contact.Unsubscribed
	changes := make(PropertyChanges, len(n.Changes)+len(later.Changes))
	maps.Copy(changes, n.Changes)
	maps.Copy(changes, later.Changes)
	n.Changes = changes
	n.Segments = slices.Concat(n.Segments, later.Segments)
	n.Topics = slices.Concat(n.Topics, later.Topics) // the later choice is written later
}

// OnConflict says what a batch does with an item whose address belongs to a
// contact already.
type OnConflict string

// The ways (api.md, POST /contacts/batch 1).
const (
	ConflictError  OnConflict = "error"
	ConflictSkip   OnConflict = "skip"
	ConflictUpsert OnConflict = "upsert"
)

// ParseOnConflict reads the query value; empty is ConflictError.
func ParseOnConflict(s string) (OnConflict, error) {
	switch o := OnConflict(s); o {
	case "":
		return ConflictError, nil
	case ConflictError, ConflictSkip, ConflictUpsert:
		return o, nil
	}
	return "", Invalid("on_conflict", "must be error, skip or upsert")
}

// ContactRef names a contact in a batch read, by id or by address.
type ContactRef struct {
	ID    string
	Email string
}

// ContactRemoval names contacts to delete: up to MaxContactBatch ids and as many
// addresses.
type ContactRemoval struct {
	IDs    []string
	Emails []string
	Erase  bool
}

// Include says what a list of contacts carries beyond their own fields.
type Include struct {
	Properties bool
	Topics     bool
}

// ParseInclude reads a comma-separated list of properties and topics.
func ParseInclude(s string) (Include, error) {
	var out Include
	if strings.TrimSpace(s) == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		switch strings.TrimSpace(part) {
		case "properties":
			out.Properties = true
		case "topics":
			out.Topics = true
		default:
			return out, Invalid("include", "must be a comma-separated list of properties and topics")
		}
	}
	return out, nil
}
