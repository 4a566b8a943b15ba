package listmonk

import (
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// page is an answer with pages. Some versions leave out per_page if there are no items.
type page struct {
	Data struct {
		Results *[]jsontext.Value `json:"results"`
		Total   *int              `json:"total"`
		PerPage int               `json:"per_page"`
	} `json:"data"`
}

// The known statuses and types.
const (
	enabled      = "enabled"
	blocklisted  = "blocklisted"
	blacklisted  = "blacklisted" // in old versions
	confirmed    = "confirmed"
	unconfirmed  = "unconfirmed"
	unsubscribed = "unsubscribed"
	public       = "public"
	archived     = "archived"
	single       = "single"
)

// list is a list, as in /lists and in subscribers.
type list struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Type        string `json:"type"`
	Optin       string `json:"optin"`
	Status      string `json:"status"` // since version 5
	CreatedAt   moment `json:"created_at"`
	UpdatedAt   moment `json:"updated_at"`
}

// membership is a list of a subscriber.
type membership struct {
	list
	Status  string `json:"subscription_status"`
	Changed moment `json:"subscription_updated_at"` // since version 2.3
}

// subscriber is a person.
type subscriber struct {
	ID        int64          `json:"id"`
	Email     string         `json:"email"`
	Name      string         `json:"name"`
	Attribs   jsontext.Value `json:"attribs"`
	Status    string         `json:"status"`
	Lists     []membership   `json:"lists"`
	CreatedAt moment         `json:"created_at"`
	UpdatedAt moment         `json:"updated_at"`
}

// receives reports whether a subscriber gets mail of a list. Unknown statuses do not.
func (s *subscriber) receives(m *membership, doubleOptin bool) bool {
	return s.Status == enabled && (m.Status == confirmed || m.Status == unconfirmed && !doubleOptin)
}

// isBlocked reports whether a subscriber must never get mail again.
func (s *subscriber) isBlocked() bool { return s.Status == blocklisted || s.Status == blacklisted }

// bounce is a bounce or complaint.
type bounce struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Email     string `json:"email"`
	CreatedAt moment `json:"created_at"`
}

// template is a template of campaigns, or a transactional template.
type template struct {
	ID        int64          `json:"id"`
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Subject   string         `json:"subject"`
	Body      string         `json:"body"`
	Source    jsontext.Value `json:"body_source"` // document of the visual editor
	Default   bool           `json:"is_default"`
	CreatedAt moment         `json:"created_at"`
	UpdatedAt moment         `json:"updated_at"`
}

// campaign is a mail to lists.
type campaign struct {
	ID          int64            `json:"id"`
	Name        string           `json:"name"`
	Subject     string           `json:"subject"`
	From        string           `json:"from_email"`
	Body        string           `json:"body"`
	Source      jsontext.Value   `json:"body_source"`
	AltBody     *string          `json:"altbody"`
	ContentType string           `json:"content_type"`
	Type        string           `json:"type"`
	Messenger   string           `json:"messenger"`
	Status      string           `json:"status"`
	TemplateID  int64            `json:"template_id"`
	Tags        []string         `json:"tags"`
	Headers     []jsontext.Value `json:"headers"`
	Media       []jsontext.Value `json:"media"`
	Lists       []struct {
		ID   int64  `json:"id"` // 0: a deleted list
		Name string `json:"name"`
	} `json:"lists"`
	CreatedAt moment `json:"created_at"`
}

// moment is a time; an invalid one is zero.
type moment struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(text []byte) error {
	m.Time, _ = time.Parse(time.RFC3339, strings.Trim(string(text), `"`))
	if !m.IsZero() {
		m.Time = m.UTC()
	}
	return nil
}

// errShape is the error of an item in an unknown format.
var errShape = errors.New("it is not of the shape that listmonk documents")

// decode decodes one item.
func decode(raw jsontext.Value, into any) error {
	if json.Unmarshal(raw, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return errShape
	}
	return nil
}
