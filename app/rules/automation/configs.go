package automation

import (
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// TriggerConfig configures the trigger of an automation: a custom event or one of app.Triggers. The
// members after EventName belong to the triggers of Mailer itself.
type TriggerConfig struct {
	EventName string `json:"event_name"`
	// FilterRule is a condition on the event and the contact; nil: each event starts a run.
	FilterRule *Rule `json:"filter_rule,omitzero"`

	TopicID     string `json:"topic_id,omitzero"`     // mailer:contact.opt_in; empty: any topic
	SegmentID   string `json:"segment_id,omitzero"`   // mailer:segment.joined, mailer:schedule: required
	BroadcastID string `json:"broadcast_id,omitzero"` // mailer:email.*; empty: any mail
	TemplateID  string `json:"template_id,omitzero"`  // mailer:email.*
	Property    string `json:"property,omitzero"`     // mailer:date: a date as a string property
	Days        int    `json:"days,omitzero"`         // mailer:date: after the date; negative: before it; -365 to 365
	Hour        int    `json:"hour,omitzero"`         // mailer:date: 0 to 23, in the contact's time zone
	Yearly      bool   `json:"yearly,omitzero"`       // mailer:date: each year, like a birthday
	Schedule    string `json:"schedule,omitzero"`     // mailer:schedule: five cron fields, at most once a day
	TimeZone    string `json:"time_zone,omitzero"`    // mailer:schedule; empty: that of the team
}

// SendEmailConfig sends an email made from a template.
type SendEmailConfig struct {
	Template      TemplateConfig `json:"template"`
	Subject       string         `json:"subject,omitzero"` // empty: that of the template, as are the next two
	From          string         `json:"from,omitzero"`
	ReplyTo       string         `json:"reply_to,omitzero"`
	TopicID       string         `json:"topic_id,omitzero"`      // empty: that of the automation
	Transactional bool           `json:"transactional,omitzero"` // the mail needs no consent: opt-outs do not stop it, suppressions do
}

// TemplateConfig names a template and the values of its variables. A value is a JSON value, or
// {"var": "event.plan"} for a value of the event or the contact.
type TemplateConfig struct {
	ID        string                    `json:"id"`
	Variables map[string]jsontext.Value `json:"variables,omitzero"`
}

// DelayConfig waits for a duration like "30 minutes", "3 days" or "90m".
type DelayConfig struct {
	Duration string `json:"duration"`
}

// WaitForEventConfig waits for an event of the contact.
type WaitForEventConfig struct {
	EventName  string `json:"event_name"`
	Timeout    string `json:"timeout,omitzero"`     // a duration; empty: none
	FilterRule *Rule  `json:"filter_rule,omitzero"` // fields event.… are those of the awaited event
}

// WaitUntilConfig waits until an hour, and a day of the week, in the contact's time zone.
type WaitUntilConfig struct {
	Hour     int      `json:"hour"`               // 0 to 23
	Minute   int      `json:"minute,omitzero"`    // 0 to 59
	Weekdays []string `json:"weekdays,omitzero"`  // monday to sunday; empty: every day
	TimeZone string   `json:"time_zone,omitzero"` // of contacts without one; empty: that of the team
}

// ContactUpdateConfig changes the contact. Each value is a JSON value, null to clear, or {"var": …}.
type ContactUpdateConfig struct {
	FirstName    jsontext.Value            `json:"first_name,omitzero"`
	LastName     jsontext.Value            `json:"last_name,omitzero"`
	Unsubscribed jsontext.Value            `json:"unsubscribed,omitzero"`
	Properties   map[string]jsontext.Value `json:"properties,omitzero"`
}

// ContactDeleteConfig deletes the contact and ends the run.
type ContactDeleteConfig struct{}

// SegmentConfig adds the contact to a segment, or removes it from one.
type SegmentConfig struct {
	SegmentID string `json:"segment_id"`
}

// SetTopicConfig stores a choice of the contact about a topic.
type SetTopicConfig struct {
	TopicID      string           `json:"topic_id"`
	Subscription app.Subscription `json:"subscription"`
}

// WebhookConfig queues one event for an endpoint of the team.
type WebhookConfig struct {
	WebhookID string `json:"webhook_id"`
	Type      string `json:"type"` // of the event that the endpoint receives
}

// SplitConfig sends a share of the contacts to condition_met and the others to condition_not_met.
type SplitConfig struct {
	Percent int `json:"percent"` // 1 to 99
}

// GoalConfig ends the run, wherever it is, when an event or the membership in a segment is met. As a
// step it does nothing else. One of the two is set.
type GoalConfig struct {
	EventName  string `json:"event_name,omitzero"`
	SegmentID  string `json:"segment_id,omitzero"`
	FilterRule *Rule  `json:"filter_rule,omitzero"` // with an event
}

// Rule is a condition: a comparison, or several joined by and, or.
type Rule struct {
	Type     string         `json:"type"` // rule, and, or
	Field    string         `json:"field,omitzero"`
	Operator string         `json:"operator,omitzero"`
	Value    jsontext.Value `json:"value,omitzero"`
	Rules    []Rule         `json:"rules,omitzero"`
}
