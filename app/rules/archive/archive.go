// Package archive is the file format of an exported team (`mailer export`, `mailer import`): a
// directory with one file for each kind of object, a JSON array with one object on each line. Data
// of other services is converted to this format first, so that there is only one import.
//
// Failure policy: an unreadable file is an error with its name and line. A directory without
// team.json is incomplete, and only the reader that started it can continue it. Values are not
// trusted: the import validates each.
package archive

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// Format is the highest version of the format that this Mailer reads. Higher versions are refused.
const Format = 2

// plainFormat is the version without the syntax and the variants of documents, which Mailers that do not
// know these read.
const plainFormat = 1

// Kind is a kind of object and its file name without .json.
type Kind string

// Kinds in the order of import.
const (
	Properties   Kind = "properties"
	Segments     Kind = "segments"
	Topics       Kind = "topics"
	Suppressions Kind = "suppressions"
	Choices      Kind = "choices"
	Contacts     Kind = "contacts"
	Images       Kind = "images"
	Blocks       Kind = "blocks"
	Templates    Kind = "templates"
	Forms        Kind = "forms"
	Broadcasts   Kind = "broadcasts"
	Issues       Kind = "issues" // in the archives of topics
	Feeds        Kind = "feeds"
	OptIns       Kind = "opt_ins"
	Records      Kind = "consents" // records of what contacts agreed to
	Domains      Kind = "domains"
	Webhooks     Kind = "webhooks"
	Destinations Kind = "route_destinations"
	Routes       Kind = "routes" // for received mail
	CustomEvents Kind = "custom_events"
	Automations  Kind = "automations"
	Starts       Kind = "automation_starts" // of automations for contacts
	Keys         Kind = "keys"
	Secrets      Kind = "secrets" // of domains, webhooks and keys
	Emails       Kind = "emails"
	Events       Kind = "events"
	Refusals     Kind = "refused" // refused rows of a source
	Unmovables   Kind = "cannot"  // objects of a source that can't be imported
	Consents     Kind = "consent" // columns of files that decide who gets mail
)

// kinds are all kinds.
var kinds = []Kind{Properties, Segments, Topics, Suppressions, Choices, Contacts, Images, Blocks, Templates, Forms, Broadcasts, Issues, Feeds, OptIns, Records, Domains, Webhooks, Destinations, Routes, CustomEvents, Automations, Starts, Keys, Secrets, Emails, Events, Refusals, Unmovables, Consents}

// Team is team.json, the description of the directory. It is written last.
type Team struct {
	Format     int       `json:"format"`
	Source     string    `json:"source"` // one of the sources
	Name       string    `json:"name,omitzero"`
	Version    string    `json:"version,omitzero"` // of the Mailer that wrote it
	ExportedAt time.Time `json:"exported_at"`
	// Left counts ignored suppressions: soft bounces and blocks.
	Left int `json:"left,omitzero"`
	// Emails: the team's emails are included.
	Emails bool `json:"emails,omitzero"`
	// ReplyAddresses: mail of the team gets reply addresses of its own.
	ReplyAddresses bool `json:"reply_addresses,omitzero"`
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

// Position is the position of an object in a file of the source.
type Position struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
}

// Refusal is a refused row. The reason contains no data of the row.
type Refusal struct {
	Position
	Reason string `json:"reason"`
	Kind   Kind   `json:"of,omitzero"` // kind of the row; empty: a contact
}

// Unmovable is an object that can't be imported, or only in part.
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
	ID        string      `json:"id"` // used by contacts and broadcasts
	Name      string      `json:"name"`
	Filter    *app.Filter `json:"filter,omitzero"` // nil: only members added by hand
	CreatedAt time.Time   `json:"created_at,omitzero"`
}

// Topic is a topic.
type Topic struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description,omitzero"`
	Default     app.Subscription `json:"default_subscription"`
	Visibility  app.Visibility   `json:"visibility"`
	CreatedAt   time.Time        `json:"created_at,omitzero"`
	UpdatedAt   time.Time        `json:"updated_at,omitzero"`
	// Archive says who finds the archive of the topic, and ArchiveSince from when on broadcasts are added
	// to it; empty: no archive.
	Archive      app.TopicArchive `json:"archive,omitzero"`
	ArchiveSince time.Time        `json:"archive_since,omitzero"`
}

// Suppression is a suppressed address.
type Suppression struct {
	ID        string                `json:"id,omitzero"`
	Email     string                `json:"email"`
	Origin    app.SuppressionOrigin `json:"origin"`
	SourceID  string                `json:"source_id,omitzero"`
	CreatedAt time.Time             `json:"created_at,omitzero"`
	From      Position              `json:"from,omitzero"`
}

// Choice is the choice of an address about a topic.
type Choice struct {
	Email        string           `json:"email"`
	TopicID      string           `json:"topic_id"`
	Subscription app.Subscription `json:"subscription"`
	ChosenAt     time.Time        `json:"chosen_at,omitzero"`
	From         Position         `json:"from,omitzero"`
}

// Contact is a contact. An address that occurs more than once is one contact: the first occurrence
// has its values, the others add missing ones.
type Contact struct {
	ID           string         `json:"id,omitzero"`
	Email        string         `json:"email"`
	FirstName    string         `json:"first_name,omitzero"`
	LastName     string         `json:"last_name,omitzero"`
	Unsubscribed bool           `json:"unsubscribed,omitzero"`
	Properties   map[string]any `json:"properties,omitzero"`    // strings and numbers
	Segments     []string       `json:"segments,omitzero"`      // ids of segments
	Left         []string       `json:"left_segments,omitzero"` // ids of segments that it left
	Former       []string       `json:"former_addresses,omitzero"`
	// Again: it adds to an earlier one, and is not counted.
	Again     bool      `json:"again,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// When it last got an email, opened one, clicked a link and answered one.
	LastSentAt    time.Time `json:"last_sent_at,omitzero"`
	LastOpenedAt  time.Time `json:"last_opened_at,omitzero"`
	LastClickedAt time.Time `json:"last_clicked_at,omitzero"`
	LastRepliedAt time.Time `json:"last_replied_at,omitzero"`
	From          Position  `json:"from,omitzero"`
}

// Block is a saved block.
type Block struct {
	ID        string    `json:"id,omitzero"`
	Name      string    `json:"name"`
	HTML      string    `json:"html"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
}

// Content is the content of a template.
type Content struct {
	From      string         `json:"from,omitzero"`
	ReplyTo   []string       `json:"reply_to,omitzero"`
	Subject   string         `json:"subject,omitzero"`
	HTML      string         `json:"html,omitzero"`
	Text      *string        `json:"text,omitzero"` // nil: derived from HTML; empty: none
	Design    jsontext.Value `json:"design,omitzero"`
	Variables []Variable     `json:"variables,omitzero"`
	Document
}

// Document is the syntax of a template or broadcast, and its variants by language.
type Document struct {
	Syntax   string             `json:"syntax,omitzero"` // empty: plain
	Variants map[string]Variant `json:"variants,omitzero"`
}

// plain reports whether the document is what Mailers know that know no syntax and no variants.
func (d *Document) plain() bool { return d.Syntax == "" && len(d.Variants) == 0 }

// Variant is a document in another language. An absent part is that of the document.
type Variant struct {
	Subject string         `json:"subject,omitzero"`
	Preview string         `json:"preview_text,omitzero"`
	HTML    string         `json:"html,omitzero"`
	Text    *string        `json:"text,omitzero"` // nil: as app.Variant says; empty: none
	Design  jsontext.Value `json:"design,omitzero"`
}

// Variable is a variable of a template.
type Variable struct {
	ID        string           `json:"id,omitzero"`
	Key       string           `json:"key"`
	Type      app.PropertyType `json:"type"`
	Fallback  jsontext.Value   `json:"fallback_value,omitzero"`
	CreatedAt time.Time        `json:"created_at,omitzero"`
	UpdatedAt time.Time        `json:"updated_at,omitzero"`
}

// JSON encodes the fallback of a variable: a string, a number, or nil for none.
func JSON(v any) jsontext.Value {
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil { // NaN
		return nil
	}
	return text
}

// Template is a template.
type Template struct {
	ID    string `json:"id,omitzero"`
	Name  string `json:"name"`
	Alias string `json:"alias,omitzero"`
	Content
	Published   *Content  `json:"published,omitzero"` // used by sends; nil: a draft
	PublishedAt time.Time `json:"published_at,omitzero"`
	CreatedAt   time.Time `json:"created_at,omitzero"`
	UpdatedAt   time.Time `json:"updated_at,omitzero"`
}

// Broadcast is a broadcast. One that Mailer sent has its counts; others are drafts, whatever their
// status.
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
	Text        *string             `json:"text,omitzero"` // nil: derived from HTML; empty: none
	Design      jsontext.Value      `json:"design,omitzero"`
	Attachments []Attachment        `json:"attachments,omitzero"`
	Status      app.BroadcastStatus `json:"status,omitzero"`
	CreatedAt   time.Time           `json:"created_at,omitzero"`
	ScheduledAt time.Time           `json:"scheduled_at,omitzero"`
	QueuedAt    time.Time           `json:"queued_at,omitzero"`
	SentAt      time.Time           `json:"sent_at,omitzero"`
	CanceledAt  time.Time           `json:"canceled_at,omitzero"`
	Counts      map[string]int      `json:"counts,omitzero"`
	Archive     *bool               `json:"archive,omitzero"` // in the archive of its topic; nil: if it is sent to the whole topic
	Document
	// Languages are the counts by language; "": the broadcast itself.
	Languages map[string]map[string]int `json:"languages,omitzero"`
}

// ImagesDir is the subdirectory of images, each named as in its URL.
const ImagesDir = "images"

// Image is an image for mail, in its widest size. Its file is in ImagesDir.
type Image struct {
	ID        string    `json:"id,omitzero"`
	File      string    `json:"file"` // in ImagesDir: the name in its URL
	Alt       string    `json:"alt,omitzero"`
	Width     int       `json:"width"` // pixels
	Height    int       `json:"height"`
	Size      int64     `json:"size"` // bytes
	UsedAt    time.Time `json:"used_at,omitzero"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// Domain is a sending domain.
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
	Receiving         bool             `json:"receiving,omitzero"`      // the team wants its mail
	Sources           app.NamedSources `json:"report_sources,omitzero"` // that the team named as its own or not
	Records           []app.DNSRecord  `json:"records,omitzero"`
	CreatedAt         time.Time        `json:"created_at,omitzero"`
}

// Webhook is a webhook.
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

// Secret is a secret of a domain, webhook or key.
type Secret struct {
	Kind  Kind   `json:"of"` // Domains, Webhooks or Keys
	Owner string `json:"id"` // its id in the archive

	// A DKIM key pair of a domain: its private key in PKCS #8 (RFC 5208).
	Selector  string        `json:"selector,omitzero"`
	State     app.DKIMState `json:"state,omitzero"`
	Public    string        `json:"public,omitzero"` // also of a key: the public part of its token
	Private   []byte        `json:"private,omitzero"`
	CreatedAt time.Time     `json:"created_at,omitzero"`
	RetiredAt time.Time     `json:"retired_at,omitzero"`

	// A signing secret of a webhook: whsec_…, and the end of an old one.
	Signing   string    `json:"signing,omitzero"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`

	// The SHA-256 of an API key's secret.
	Hash []byte `json:"hash,omitzero"`
}
