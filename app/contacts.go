package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Contact is a contact of a team's audience. Names may be empty.
type Contact struct {
	ID           string
	TeamID       string
	Hash         AddressHash // of the key of Email; contacts are looked up by it
	Email        string      // as the caller wrote it
	FirstName    string
	LastName     string
	Unsubscribed bool
	Properties   Properties
	Topics       []ContactTopic // only if they were requested
	CreatedAt    time.Time
	UpdatedAt    time.Time
	Activity
}

// Activity holds the times at which a contact last got an email, opened one, clicked a link and answered one in person;
// zero: never. A click counts as an open. A prefetch by a mail provider does not count.
type Activity struct {
	LastSentAt    time.Time
	LastOpenedAt  time.Time
	LastClickedAt time.Time
	LastRepliedAt time.Time
}

// Change is a member of a PATCH request: absent, null or a value.
type Change[T any] struct {
	Set   bool // the member is present
	Null  bool // the member is null
	Value T
}

// SegmentRef names a segment in an input.
type SegmentRef struct {
	ID string `json:"id"`
}

// ContactInput is a contact to create, or to merge into the contact with the same address.
type ContactInput struct {
	Email        string
	FirstName    string // empty: absent
	LastName     string
	Unsubscribed bool // false: absent
	Properties   PropertyChanges
	Segments     []SegmentRef
	Topics       []TopicChoice
}

// NewContact is a validated ContactInput: a contact without id, team, hash and times, and the
// segments and topics to add it to.
type NewContact struct {
	Contact  Contact
	Key      AddressKey // of Contact.Email; the contact is looked up by it
	Changes  PropertyChanges
	Segments []string
	Topics   []TopicChoice
}

// Validate checks the input without the database. The store checks whether segments and topics
// exist and whether values have the declared type.
func (in *ContactInput) Validate() (*NewContact, error) {
	if in.Email == "" {
		return nil, Invalid("email", "is required")
	}
	email, key, err := ParseBareAddress(in.Email)
	if err != nil {
		return nil, Invalid("email", "%s", err)
	}
	if err := checkContactNames(in.FirstName, in.LastName); err != nil {
		return nil, err
	}
	if err := in.Properties.Validate(); err != nil {
		return nil, err
	}
	out := &NewContact{Key: key, Changes: in.Properties, Contact: Contact{
		Email: email, FirstName: in.FirstName, LastName: in.LastName, Unsubscribed: in.Unsubscribed,
	}}
	if len(in.Segments) > MaxContactLinks {
		return nil, Invalid("segments", "can hold at most %d items", MaxContactLinks)
	}
	for i, s := range in.Segments {
		id, ok := ParseID(s.ID)
		if !ok {
			return nil, Invalid(fmt.Sprintf("segments[%d].id", i), "must be the id of a segment")
		}
		out.Segments = append(out.Segments, id)
	}
	choices, err := ValidateChoices("topics", in.Topics)
	if err != nil {
		return nil, err
	}
	out.Topics = lastChoices(choices)
	return out, nil
}

// lastChoices returns the last choice for each topic.
func lastChoices(choices []TopicChoice) []TopicChoice {
	var out []TopicChoice
	at := make(map[string]int, len(choices))
	for _, c := range choices {
		if i, ok := at[c.ID]; ok {
			out[i] = c
			continue
		}
		at[c.ID] = len(out)
		out = append(out, c)
	}
	return out
}

func checkContactNames(first, last string) error {
	for _, name := range []struct{ field, value string }{{"first_name", first}, {"last_name", last}} {
		if utf8.RuneCountInString(name.value) > MaxContactName {
			return Invalid(name.field, "can have at most %d characters", MaxContactName)
		}
		if !utf8.ValidString(name.value) || HasControl(name.value) {
			return Invalid(name.field, "must not contain line breaks or other control characters")
		}
	}
	return nil
}

// ContactPatch changes a contact. Segments is ignored: some clients repeat the contact's segments
// in it.
type ContactPatch struct {
	Email        string            // the new address; empty: unchanged
	Segments     map[string]string // ids by field name
	FirstName    Change[string]    // null clears, empty means absent
	LastName     Change[string]
	Unsubscribed *bool           // nil: unchanged; false subscribes again
	Properties   PropertyChanges // merged into the properties; nil values remove
}

// Validate checks the patch without the database.
func (p *ContactPatch) Validate() error {
	if err := checkContactNames(p.FirstName.Value, p.LastName.Value); err != nil {
		return err
	}
	return p.Properties.Validate()
}

// OptsOut reports whether the patch unsubscribes the contact.
func (p *ContactPatch) OptsOut() bool { return p.Unsubscribed != nil && *p.Unsubscribed }

// OptsIn reports whether the patch subscribes the contact again.
func (p *ContactPatch) OptsIn() bool { return p.Unsubscribed != nil && !*p.Unsubscribed }

// Apply returns the contact with the patch applied. Errors: CodeValidation if it would have more
// than MaxProperties properties.
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

// Merge returns the contact after an upsert: names change only if given, properties are merged,
// and the contact is never subscribed again. Errors: CodeValidation.
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

// Fold merges a later item with the same address into n: later scalar values win, segments and
// topics are united. Maps and slices that n shares with other items are not modified.
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
	n.Topics = lastChoices(slices.Concat(n.Topics, later.Topics))
}

// OnConflict says what a batch does with an item whose address belongs to an existing contact.
type OnConflict string

// The values of on_conflict.
const (
	ConflictError  OnConflict = "error"
	ConflictSkip   OnConflict = "skip"
	ConflictUpsert OnConflict = "upsert"
)

// ParseOnConflict parses the query value; empty means ConflictError.
func ParseOnConflict(s string) (OnConflict, error) {
	switch o := OnConflict(s); o {
	case "":
		return ConflictError, nil
	case ConflictError, ConflictSkip, ConflictUpsert:
		return o, nil
	}
	return "", Invalid("on_conflict", "must be error, skip or upsert")
}

// ContactRef names a contact in a batch read by id or address. If both are given, both must match.
type ContactRef struct {
	ID    string
	Email string
}

// ContactKey is a validated ContactRef. One of the fields may be empty.
type ContactKey struct {
	ID      string
	Address AddressKey
}

// ContactRead names 1 to MaxContactBatch contacts to read, and which of their associations to
// include.
type ContactRead struct {
	Contacts []ContactRef
	Include  []string
}

// Validate checks the input without the database and returns a key for each contact in order.
func (in *ContactRead) Validate() ([]ContactKey, Include, error) {
	if err := checkBatch("contacts", len(in.Contacts)); err != nil {
		return nil, Include{}, err
	}
	out := make([]ContactKey, len(in.Contacts))
	for i, ref := range in.Contacts {
		at := fmt.Sprintf("contacts[%d]", i)
		if ref.ID == "" && ref.Email == "" {
			return nil, Include{}, Invalid(at, "needs an `id` or an `email`")
		}
		var err error
		if out[i].ID, err = parseContactID(at+".id", ref.ID); err != nil {
			return nil, Include{}, err
		}
		if out[i].Address, err = parseContactEmail(at+".email", ref.Email); err != nil {
			return nil, Include{}, err
		}
	}
	var include Include
	for i, name := range in.Include {
		if !include.add(name) {
			return nil, Include{}, Invalid(fmt.Sprintf("include[%d]", i), "must be properties or topics")
		}
	}
	return out, include, nil
}

// parseContactID parses the id of a contact; empty stays empty.
func parseContactID(field, s string) (string, error) {
	id, ok := ParseID(s)
	if s != "" && !ok {
		return "", Invalid(field, "must be the id of a contact")
	}
	return id, nil
}

// parseContactEmail returns the key of a bare address, the zero key for an empty one.
func parseContactEmail(field, s string) (AddressKey, error) {
	_, key, err := ParseBareAddress(s)
	if s != "" && err != nil {
		return key, Invalid(field, "%s", err)
	}
	return key, nil
}

// ContactRemoval names contacts to delete: up to MaxContactBatch ids and as many addresses, at
// least one in total.
type ContactRemoval struct {
	IDs    []string
	Emails []string
	Erase  bool
}

// Validate checks the input without the database and returns the distinct keys, ids first.
func (in *ContactRemoval) Validate() ([]ContactKey, error) {
	if len(in.IDs) == 0 && len(in.Emails) == 0 {
		return nil, Invalid("ids", "or `emails` is required")
	}
	var keys []ContactKey
	if len(in.IDs) > 0 {
		ids, err := eachOnce("ids", in.IDs, func(field, s string) (string, error) {
			if s == "" {
				return "", Invalid(field, "must be the id of a contact")
			}
			return parseContactID(field, s)
		})
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			keys = append(keys, ContactKey{ID: id})
		}
	}
	if len(in.Emails) > 0 {
		addresses, err := eachOnce("emails", in.Emails, func(field, s string) (AddressKey, error) {
			if s == "" {
				return AddressKey{}, Invalid(field, "is empty")
			}
			return parseContactEmail(field, s)
		})
		if err != nil {
			return nil, err
		}
		for _, address := range addresses {
			keys = append(keys, ContactKey{Address: address})
		}
	}
	return keys, nil
}

// Include says which associations a list of contacts contains.
type Include struct {
	Properties bool
	Topics     bool
}

func (in *Include) add(name string) bool {
	switch name {
	case "properties":
		in.Properties = true
	case "topics":
		in.Topics = true
	default:
		return false
	}
	return true
}

// ParseInclude parses a comma-separated list of "properties" and "topics".
func ParseInclude(s string) (Include, error) {
	var out Include
	if strings.TrimSpace(s) == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		if !out.add(strings.TrimSpace(part)) {
			return out, Invalid("include", "must be a comma-separated list of properties and topics")
		}
	}
	return out, nil
}

// CutText returns the longest prefix of s of at most limit bytes that does not split a character.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// The names of a contact's own fields in the API and in headings of imported files.
const (
	EmailField     = "email"
	FirstNameField = "first_name"
	LastNameField  = "last_name"
)
