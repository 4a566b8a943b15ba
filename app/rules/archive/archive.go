// Package archive is a team on disk, as `mailer export` writes it and `mailer import`
// takes it: a directory with one file a kind of thing, each a JSON array with one object
// a line. What comes from another service is brought into this form first, so that there
// is one way into a team. It knows files and nothing of databases; the readers of other
// services, the transfer and the commands may import it.
//
// Failure policy: a file that can't be read is an error that names it and the line; a
// directory without team.json is not whole, and only that which began it may go on with
// it. Nothing of a directory is believed: who applies it checks each value.
package archive

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// Format is the version of the files. One that is higher is refused.
const Format = 1

// Kind names a kind of thing and its file, without .json.
type Kind string

// The kinds, in the order in which they are applied.
const (
	Properties   Kind = "properties"
	Segments     Kind = "segments"
	Topics       Kind = "topics"
	Suppressions Kind = "suppressions"
	Choices      Kind = "choices"
	Contacts     Kind = "contacts"
	Templates    Kind = "templates"
	Broadcasts   Kind = "broadcasts"
	Domains      Kind = "domains"
	Webhooks     Kind = "webhooks"
	Keys         Kind = "keys"
	Secrets      Kind = "secrets" // of domains, webhooks and keys
	Emails       Kind = "emails"
	Events       Kind = "events"
	Refusals     Kind = "refused" // rows of a source that can't be taken
	Unmovables   Kind = "cannot"  // what of a source can't move at all
	Consents     Kind = "consent" // columns of files that decide who gets mail
)

// kinds are all of them.
var kinds = []Kind{Properties, Segments, Topics, Suppressions, Choices, Contacts, Templates, Broadcasts, Domains, Webhooks, Keys, Secrets, Emails, Events, Refusals, Unmovables, Consents}

// Team is team.json: what the directory holds. It is written last.
type Team struct {
	Format     int       `json:"format"`
	Source     string    `json:"source"` // one of the sources
	Name       string    `json:"name,omitzero"`
	Version    string    `json:"version,omitzero"` // of the Mailer that wrote it
	ExportedAt time.Time `json:"exported_at"`
	// Left counts suppressions that are none here: soft bounces and blocks.
	Left int `json:"left,omitzero"`
	// Emails: those of the team are there too.
	Emails bool `json:"emails,omitzero"`
}

// FromMailer reports whether a Mailer wrote the directory: its ids are kept where they are
// free, and what was sent stays sent.
func (t *Team) FromMailer() bool { return t.Source == SourceMailer }

// The sources.
const (
	SourceMailer       = "mailer"
	SourceResend       = "resend"
	SourceListmonk     = "listmonk"
	SourceCSV          = "csv"
	SourceSuppressions = "suppressions"
)

// sources are all of them.
var sources = []string{SourceMailer, SourceResend, SourceListmonk, SourceCSV, SourceSuppressions}

// Position is where something stood in a file of the source.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
}

// Refusal is a row that can't be taken. The reason holds nothing of the row.
type Refusal struct {
	Position
	Reason string `json:"reason"`
	Kind   Kind   `json:"of,omitzero"` // what the row would have been; empty: a contact
}

// Unmovable is a thing that can't move, or not whole.
type Unmovable struct {
	Item   string `json:"what"` // like `template "Welcome", line 12: {{ if .x }}`
	Reason string `json:"why"`
}

// Consent is a column of a file that decides who gets mail.
type Consent struct {
	File   string `json:"file"`
	Column string `json:"column"`
	ReadAs string `json:"read_as"`
}

// Property is a declared contact property.
type Property struct {
	ID        string           `json:"id,omitzero"`
	Key       string           `json:"key"`
	Type      app.PropertyType `json:"type"`
	Fallback  any              `json:"fallback_value,omitzero"` // string or number
	CreatedAt time.Time        `json:"created_at,omitzero"`
}

// Segment is a group of contacts.
type Segment struct {
	ID        string      `json:"id"` // by which contacts and broadcasts name it
	Name      string      `json:"name"`
	Filter    *app.Filter `json:"filter,omitzero"` // nil: members by hand alone
	CreatedAt time.Time   `json:"created_at,omitzero"`
}

// Topic is what contacts can subscribe to.
type Topic struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description,omitzero"`
	Default     app.Subscription `json:"default_subscription"`
	Visibility  app.Visibility   `json:"visibility"`
	CreatedAt   time.Time        `json:"created_at,omitzero"`
	UpdatedAt   time.Time        `json:"updated_at,omitzero"`
}

// Suppression is an address that gets no mail.
type Suppression struct {
	ID        string                `json:"id,omitzero"`
	Email     string                `json:"email"`
	Origin    app.SuppressionOrigin `json:"origin"`
	SourceID  string                `json:"source_id,omitzero"`
	CreatedAt time.Time             `json:"created_at,omitzero"`
	From      Position              `json:"from,omitzero"`
}

// Choice is what an address said about a topic.
type Choice struct {
	Email        string           `json:"email"`
	TopicID      string           `json:"topic_id"`
	Subscription app.Subscription `json:"subscription"`
	ChosenAt     time.Time        `json:"chosen_at,omitzero"`
	From         Position         `json:"from,omitzero"`
}

// Contact is a person. One whose address stands there more than once is one contact:
// the first has its values, the others add what it lacks.
type Contact struct {
	ID           string         `json:"id,omitzero"`
	Email        string         `json:"email"`
	FirstName    string         `json:"first_name,omitzero"`
	LastName     string         `json:"last_name,omitzero"`
	Unsubscribed bool           `json:"unsubscribed,omitzero"`
	Properties   map[string]any `json:"properties,omitzero"`    // strings and numbers
	Segments     []string       `json:"segments,omitzero"`      // ids of Segments
	Left         []string       `json:"left_segments,omitzero"` // ids of Segments that they left
	Former       []string       `json:"former_addresses,omitzero"`
	// Again: it adds to one that stands before it, and is not counted as another.
	Again     bool      `json:"again,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// When it last got an email, opened one and clicked in one.
	LastSentAt    time.Time `json:"last_sent_at,omitzero"`
	LastOpenedAt  time.Time `json:"last_opened_at,omitzero"`
	LastClickedAt time.Time `json:"last_clicked_at,omitzero"`
	From          Position  `json:"from,omitzero"`
}

// Content is what a template says.
type Content struct {
	From      string         `json:"from,omitzero"`
	ReplyTo   []string       `json:"reply_to,omitzero"`
	Subject   string         `json:"subject,omitzero"`
	HTML      string         `json:"html,omitzero"`
	Text      *string        `json:"text,omitzero"` // nil: made of HTML; empty: none
	Design    jsontext.Value `json:"design,omitzero"`
	Variables []Variable     `json:"variables,omitzero"`
}

// Variable is what a send fills in.
type Variable struct {
	ID        string           `json:"id,omitzero"`
	Key       string           `json:"key"`
	Type      app.PropertyType `json:"type"`
	Fallback  any              `json:"fallback_value,omitzero"`
	CreatedAt time.Time        `json:"created_at,omitzero"`
	UpdatedAt time.Time        `json:"updated_at,omitzero"`
}

// Template is a mail to be filled.
type Template struct {
	ID    string `json:"id,omitzero"`
	Name  string `json:"name"`
	Alias string `json:"alias,omitzero"`
	Content
	Published   *Content  `json:"published,omitzero"` // what sends use; nil: a draft
	PublishedAt time.Time `json:"published_at,omitzero"`
	CreatedAt   time.Time `json:"created_at,omitzero"`
	UpdatedAt   time.Time `json:"updated_at,omitzero"`
}

// Broadcast is a mail to contacts. One that a Mailer sent comes with its figures; any
// other is a draft, whatever its status says.
type Broadcast struct {
	ID          string              `json:"id,omitzero"`
	Name        string              `json:"name,omitzero"`
	SegmentID   string              `json:"segment_id,omitzero"`
	TopicID     string              `json:"topic_id,omitzero"`
	From        string              `json:"from,omitzero"`
	ReplyTo     []string            `json:"reply_to,omitzero"`
	Subject     string              `json:"subject,omitzero"`
	Preview     string              `json:"preview_text,omitzero"`
	HTML        string              `json:"html,omitzero"`
	Text        *string             `json:"text,omitzero"` // nil: made of HTML; empty: none
	Design      jsontext.Value      `json:"design,omitzero"`
	Status      app.BroadcastStatus `json:"status,omitzero"`
	CreatedAt   time.Time           `json:"created_at,omitzero"`
	ScheduledAt time.Time           `json:"scheduled_at,omitzero"`
	QueuedAt    time.Time           `json:"queued_at,omitzero"`
	SentAt      time.Time           `json:"sent_at,omitzero"`
	CanceledAt  time.Time           `json:"canceled_at,omitzero"`
	Counts      map[string]int      `json:"counts,omitzero"`
}

// Domain is what a team sends from.
type Domain struct {
	ID                string           `json:"id,omitzero"`
	Name              string           `json:"name"`
	Region            string           `json:"region,omitzero"`
	ReturnPath        string           `json:"custom_return_path,omitzero"`
	OpenTracking      bool             `json:"open_tracking,omitzero"`
	ClickTracking     bool             `json:"click_tracking,omitzero"`
	TrackingSubdomain string           `json:"tracking_subdomain,omitzero"`
	Status            app.DomainStatus `json:"status,omitzero"`
	Trusted           bool             `json:"trusted,omitzero"`
	Records           []app.DNSRecord  `json:"records,omitzero"`
	CreatedAt         time.Time        `json:"created_at,omitzero"`
}

// Webhook is an endpoint that hears of events.
type Webhook struct {
	ID        string    `json:"id,omitzero"`
	Endpoint  string    `json:"endpoint"`
	Events    []string  `json:"events"`
	Status    string    `json:"status,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Key is an API key without its secret.
type Key struct {
	ID         string         `json:"id,omitzero"`
	Name       string         `json:"name"`
	Permission app.Permission `json:"permission,omitzero"`
	Role       app.Role       `json:"role,omitzero"`
	DomainID   string         `json:"domain_id,omitzero"`
	AllowedIPs []string       `json:"allowed_ips,omitzero"`
	ExpiresAt  time.Time      `json:"expires_at,omitzero"`
	CreatedAt  time.Time      `json:"created_at,omitzero"`
	LastUsedAt time.Time      `json:"last_used_at,omitzero"`
}

// Secret is what a domain, webhook or key needs to go on as it was.
type Secret struct {
	Kind  Kind   `json:"of"` // Domains, Webhooks or Keys
	Owner string `json:"id"` // its id in the archive

	// A DKIM key pair of a domain: its private half in PKCS #8 (RFC 5208).
	Selector  string        `json:"selector,omitzero"`
	State     app.DKIMState `json:"state,omitzero"`
	Public    string        `json:"public,omitzero"` // of a key too: what stands before its secret
	Private   []byte        `json:"private,omitzero"`
	CreatedAt time.Time     `json:"created_at,omitzero"`
	RetiredAt time.Time     `json:"retired_at,omitzero"`

	// A signing secret of a webhook: whsec_…, and until when an old one counts.
	Signing   string    `json:"signing,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`

	// The SHA-256 of an API key's secret.
	Hash []byte `json:"hash,omitzero"`
}
