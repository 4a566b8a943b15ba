package app

import (
	"fmt"
	"slices"
	"time"
)

// OptInStatus is what became of an opt-in.
type OptInStatus string

// The states of an opt-in.
const (
	OptInPending   OptInStatus = "pending"
	OptInConfirmed OptInStatus = "confirmed"
	OptInExpired   OptInStatus = "expired"
	OptInRefused   OptInStatus = "refused"
)

// OptInStatuses are the states of an opt-in.
var OptInStatuses = []OptInStatus{OptInPending, OptInConfirmed, OptInExpired, OptInRefused}

// ParseOptInStatus reads a state; empty: all. Errors: CodeValidation.
func ParseOptInStatus(text string) (OptInStatus, error) {
	status := OptInStatus(text)
	if status != "" && !slices.Contains(OptInStatuses, status) {
		return "", Invalid("status", "must be pending, confirmed, expired or refused")
	}
	return status, nil
}

// How long the link of a confirmation works, how long an opt-in waits for a confirmation that is above
// the limits, and how long a team sends no confirmation to an address that refused.
const (
	OptInLinkFor  = 7 * 24 * time.Hour
	OptInWaitsFor = 24 * time.Hour
	RefusedFor    = 365 * 24 * time.Hour
)

// SignUp is an opt-in that was asked for. Until it is confirmed its address is not a contact.
type SignUp struct {
	ID          string
	TeamID      string
	FormID      string // empty: asked for by API
	FormVersion int64
	Hash        AddressHash
	Email       string
	Status      OptInStatus
	Request     SignUpRequest
	ContactID   string // empty: not confirmed, or deleted
	RequestedAt time.Time
	DecidedAt   time.Time // zero: pending
}

// SignUpRequest is what was asked for, by whom, and after which text.
type SignUpRequest struct {
	Topics     []string   `json:"topics,omitzero"`   // ids
	Segments   []string   `json:"segments,omitzero"` // ids
	FirstName  string     `json:"first_name,omitzero"`
	LastName   string     `json:"last_name,omitzero"`
	Properties Properties `json:"properties,omitzero"`
	Language   string     `json:"language,omitzero"` // of Languages
	Text       string     `json:"text,omitzero"`     // that was shown
	FormName   string     `json:"form,omitzero"`
	Visitor    Visitor    `json:"visitor,omitzero"`
}

// Visitor is who sent a request to a public page.
type Visitor struct {
	IP        string `json:"ip,omitzero"`
	UserAgent string `json:"user_agent,omitzero"`
}

// SignUpInput starts a confirmed opt-in by API.
type SignUpInput struct {
	Email      string
	Topics     []string // ids
	Segments   []string // ids
	FirstName  string
	LastName   string
	Properties PropertyChanges
	FormID     string // its sender, templates and language; empty: a verified domain of the team and the built-in mail
}

// Consent is what a contact agreed to.
type Consent struct {
	ID        string
	TeamID    string
	ContactID string
	OptInID   string // empty: by a form without confirmation
	FormID    string // empty: by API
	Record    ConsentRecord
	CreatedAt time.Time
}

// ConsentRecord is the proof of a consent.
type ConsentRecord struct {
	Email        string        `json:"email"`
	Form         string        `json:"form,omitzero"` // its name
	FormVersion  int64         `json:"form_version,omitzero"`
	Topics       []ConsentItem `json:"topics,omitzero"`
	Text         string        `json:"text,omitzero"`         // that was shown when it was asked for
	ConfirmText  string        `json:"confirm_text,omitzero"` // that was shown when it was confirmed
	Language     string        `json:"language,omitzero"`
	RequestedAt  time.Time     `json:"requested_at"`
	RequestedBy  Visitor       `json:"requested_by,omitzero"`
	ConfirmedAt  time.Time     `json:"confirmed_at,omitzero"`
	ConfirmedBy  Visitor       `json:"confirmed_by,omitzero"`
	Resubscribed bool          `json:"resubscribed,omitzero"` // the person asked to receive mail again after an unsubscribe
}

// ConsentItem is a topic as it was called when the person agreed.
type ConsentItem struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// Names returns the names of the values of a request in sorted order, names of persons first.
func (r *SignUpRequest) Names() (names []string) {
	if r.FirstName != "" {
		names = append(names, FirstNameField)
	}
	if r.LastName != "" {
		names = append(names, LastNameField)
	}
	return append(names, SortedKeys(r.Properties)...)
}

// Value returns a value of a request as text; empty: none.
func (r *SignUpRequest) Value(name string) string {
	switch name {
	case FirstNameField:
		return r.FirstName
	case LastNameField:
		return r.LastName
	}
	if v, ok := r.Properties[name]; ok {
		return v.String()
	}
	return ""
}

// Offers reports whether a form offers a topic.
func (f *Form) Offers(topicID string) bool {
	for _, t := range f.Topics {
		if t.ID == topicID {
			return true
		}
	}
	return false
}

// Validate checks the input without the database and returns the contact that it asks for. Errors:
// CodeValidation.
func (in *SignUpInput) Validate() (*NewContact, error) {
	c := ContactInput{Email: in.Email, FirstName: in.FirstName, LastName: in.LastName, Properties: in.Properties}
	for i, id := range in.Topics {
		canonical, ok := ParseID(id)
		if !ok {
			return nil, Invalid(fmt.Sprintf("topics[%d]", i), "must be the id of a topic")
		}
		c.Topics = append(c.Topics, TopicChoice{ID: canonical, Subscription: OptIn})
	}
	for i, id := range in.Segments {
		canonical, ok := ParseID(id)
		if !ok {
			return nil, Invalid(fmt.Sprintf("segments[%d]", i), "must be the id of a segment")
		}
		c.Segments = append(c.Segments, SegmentRef{ID: canonical})
	}
	if in.FormID != "" {
		canonical, ok := ParseID(in.FormID)
		if !ok {
			return nil, Invalid("form", "must be the id of a form")
		}
		in.FormID = canonical
	}
	return c.Validate()
}
