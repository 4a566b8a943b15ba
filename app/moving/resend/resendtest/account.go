// Package resendtest is a fake of Resend's API for tests: it answers from an Account as Resend's
// API document and recorded answers do. It is read-only.
package resendtest

import "time"

// Account is the data of the fake. Lists are sorted newest first.
type Account struct {
	Key     string // with full access
	Sending string // a sending-only key

	Properties   []Property
	Segments     []Segment
	Audiences    []Segment // in addition to the segments, which the route lists too
	Topics       []Topic
	Contacts     []Contact
	Templates    []Template
	Broadcasts   []Broadcast
	Domains      []Domain
	Webhooks     []Webhook
	Keys         []Key
	Suppressions []Suppression
	Automations  []Automation
	Events       []Event
	Emails       []Email
	Received     []Email
}

// Stamp formats a time as Resend does.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999+00") }

// Property is a contact property.
type Property struct {
	Object    string `json:"object,omitzero"`
	ID        string `json:"id"`
	Key       string `json:"key"`
	Type      string `json:"type"`
	Fallback  any    `json:"fallback_value"`
	CreatedAt string `json:"created_at"`
}

// Segment is a segment or an audience.
type Segment struct {
	Object    string         `json:"object,omitzero"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	CreatedAt string         `json:"created_at"`
	Filter    map[string]any `json:"filter,omitzero"` // not in lists
}

// Topic is a topic.
type Topic struct {
	Object      string `json:"object,omitzero"`
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Default     string `json:"default_subscription"`
	Visibility  string `json:"visibility"`
	CreatedAt   string `json:"created_at"`
}

// Contact is a contact with the ids of its segments and its topic choices.
type Contact struct {
	Object       string           `json:"object,omitzero"`
	ID           string           `json:"id"`
	Email        string           `json:"email"`
	FirstName    *string          `json:"first_name"`
	LastName     *string          `json:"last_name"`
	CreatedAt    string           `json:"created_at"`
	Unsubscribed bool             `json:"unsubscribed"`
	Properties   map[string]Value `json:"properties,omitzero"` // not in lists

	Segments []string          `json:"-"`
	Choices  map[string]string `json:"-"` // by topic; default: the topic's
}

// Value is the value of a contact property.
type Value struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// Choice is a topic with the contact's choice.
type Choice struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Subscription string `json:"subscription"`
}

// Template is a template.
type Template struct {
	TemplateRow
	Object      string     `json:"object"`
	Version     string     `json:"current_version_id"`
	From        *string    `json:"from"`
	Subject     *string    `json:"subject"`
	ReplyTo     []string   `json:"reply_to"`
	HTML        string     `json:"html"`
	Text        *string    `json:"text"`
	Variables   []Variable `json:"variables"`
	Unpublished bool       `json:"has_unpublished_versions"`
}

// TemplateRow is a template in a list.
type TemplateRow struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Alias       *string `json:"alias"`
	Status      string  `json:"status"`
	PublishedAt *string `json:"published_at"`
	CreatedAt   string  `json:"created_at"`
	UpdatedAt   string  `json:"updated_at"`
}

// Variable is a variable of a template.
type Variable struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	Type      string `json:"type"`
	Fallback  any    `json:"fallback_value"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// Broadcast is a broadcast.
type Broadcast struct {
	BroadcastRow
	Object  string   `json:"object"`
	From    string   `json:"from"`
	Subject string   `json:"subject"`
	ReplyTo []string `json:"reply_to"`
	Preview *string  `json:"preview_text"`
	HTML    *string  `json:"html"`
	Text    *string  `json:"text"`
}

// BroadcastRow is a broadcast in a list.
type BroadcastRow struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	AudienceID  *string `json:"audience_id"`
	SegmentID   *string `json:"segment_id"`
	Status      string  `json:"status"`
	CreatedAt   string  `json:"created_at"`
	ScheduledAt *string `json:"scheduled_at"`
	SentAt      *string `json:"sent_at"`
	TopicID     *string `json:"topic_id"`
}

// Domain is a domain.
type Domain struct {
	Object string `json:"object"`
	DomainRow
	Tracking *string  `json:"tracking_subdomain"`
	Records  []Record `json:"records"`
}

// DomainRow is a domain in a list.
type DomainRow struct {
	ID            string       `json:"id"`
	Name          string       `json:"name"`
	Status        string       `json:"status"`
	CreatedAt     string       `json:"created_at"`
	Region        string       `json:"region"`
	OpenTracking  bool         `json:"open_tracking"`
	ClickTracking bool         `json:"click_tracking"`
	Capabilities  Capabilities `json:"capabilities"`
}

// Capabilities says what a domain can be used for.
type Capabilities struct {
	Sending   string `json:"sending"`
	Receiving string `json:"receiving"`
}

// Record is a DNS record of a domain.
type Record struct {
	Record   string `json:"record"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	TTL      string `json:"ttl"`
	Status   string `json:"status"`
	Value    string `json:"value"`
	Priority int    `json:"priority,omitzero"`
}

// Webhook is a webhook.
type Webhook struct {
	Object    string   `json:"object,omitzero"`
	ID        string   `json:"id"`
	Endpoint  string   `json:"endpoint"`
	Events    []string `json:"events"`
	Status    string   `json:"status"`
	CreatedAt string   `json:"created_at"`
	Secret    string   `json:"signing_secret,omitzero"` // not in lists
}

// Key is an API key.
type Key struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	CreatedAt  string  `json:"created_at"`
	LastUsedAt *string `json:"last_used_at"`
}

// Suppression is a suppressed address.
type Suppression struct {
	Object    string  `json:"object,omitzero"`
	ID        string  `json:"id"`
	Email     string  `json:"email"`
	Origin    string  `json:"origin"`
	SourceID  *string `json:"source_id"`
	CreatedAt string  `json:"created_at"`
}

// Automation is an automation.
type Automation struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

// Event is a custom event type of the account.
type Event struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Schema    map[string]string `json:"schema"`
	CreatedAt string            `json:"created_at"`
	UpdatedAt *string           `json:"updated_at"`
}

// Email is a sent or received email.
type Email struct {
	Object    string   `json:"object,omitzero"` // in the list of sent emails
	ID        string   `json:"id"`
	MessageID string   `json:"message_id"`
	To        []string `json:"to"`
	From      string   `json:"from"`
	CreatedAt string   `json:"created_at"`
	Subject   string   `json:"subject"`
	BCC       []string `json:"bcc"`
	CC        []string `json:"cc"`
	ReplyTo   []string `json:"reply_to"`
	LastEvent string   `json:"last_event,omitzero"` // of sent emails
}
