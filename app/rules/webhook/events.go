package webhook

import (
	"github.com/go-json-experiment/json/jsontext"

	"slices"
	"time"

	"mailer/app"
)

// EventName is the name of a webhook event.
type EventName string

// The names of all events.
const (
	EmailSent              EventName = "email.sent"
	EmailScheduled         EventName = "email.scheduled"
	EmailDelivered         EventName = "email.delivered"
	EmailDeliveryDelayed   EventName = "email.delivery_delayed"
	EmailBounced           EventName = "email.bounced"
	EmailComplained        EventName = "email.complained"
	EmailOpened            EventName = "email.opened"
	EmailClicked           EventName = "email.clicked"
	EmailFailed            EventName = "email.failed"
	EmailSuppressed        EventName = "email.suppressed"
	EmailReceived          EventName = "email.received"
	EmailReplied           EventName = "email.replied"
	ContactCreated         EventName = "contact.created"
	ContactUpdated         EventName = "contact.updated"
	ContactDeleted         EventName = "contact.deleted"
	ContactTopicsUpdated   EventName = "contact.topics.updated"
	ContactOptInRequested  EventName = "contact.opt_in_requested"
	ContactOptInConfirmed  EventName = "contact.opt_in_confirmed"
	FormLimited            EventName = "form.limited"
	FeedFailed             EventName = "feed.failed"
	DomainCreated          EventName = "domain.created"
	DomainUpdated          EventName = "domain.updated"
	DomainDeleted          EventName = "domain.deleted"
	DomainReportWarning    EventName = "domain.report_warning"
	SuppressionAdded       EventName = "suppression.added"
	SuppressionRemoved     EventName = "suppression.removed"
	TopicCreated           EventName = "topic.created"
	TopicUpdated           EventName = "topic.updated"
	TopicDeleted           EventName = "topic.deleted"
	RouteDestinationPaused EventName = "route.destination_paused"
	DeliverabilityWarning  EventName = "deliverability.warning"
	DeliverabilityPaused   EventName = "deliverability.paused"
	QuotaWarning           EventName = "quota.warning"
	QuotaReached           EventName = "quota.reached"
	RelaySwitched          EventName = "relay.switched"
)

// EventNames returns all names in documentation order.
func EventNames() []EventName {
	return []EventName{
		EmailSent, EmailScheduled, EmailDelivered, EmailDeliveryDelayed, EmailBounced, EmailComplained, EmailOpened, EmailClicked,
		EmailFailed, EmailSuppressed, EmailReceived, EmailReplied, ContactCreated, ContactUpdated, ContactDeleted, ContactTopicsUpdated,
		ContactOptInRequested, ContactOptInConfirmed, FormLimited, FeedFailed, DomainCreated, DomainUpdated, DomainDeleted, DomainReportWarning, SuppressionAdded, SuppressionRemoved, TopicCreated, TopicUpdated, TopicDeleted,
		RouteDestinationPaused, DeliverabilityWarning, DeliverabilityPaused, QuotaWarning, QuotaReached,
	}
}

// ServerEvents are the names of events about the server, which only webhooks of ScopeServer get.
func ServerEvents() []EventName { return []EventName{RelaySwitched} }

// OfServer reports whether only webhooks of ScopeServer get the event.
func (n EventName) OfServer() bool { return slices.Contains(ServerEvents(), n) }

// notSentYet are Resend's events that this service does not send. Webhooks may subscribe to them,
// since Resend's clients subscribe to all events.
var notSentYet = []EventName{
	"inbox.created", "inbox.updated", "inbox.deleted", "inbox.email.sent", "inbox.email.received",
	"inbox.draft.created", "inbox.draft.updated", "inbox.draft.deleted", "inbox.draft.sent",
	"inbox.thread.created", "inbox.thread.assigned", "inbox.thread.unassigned", "inbox.thread.folder.updated", "inbox.thread.labels.updated",
}

// Subscribable returns all names that webhooks may subscribe to.
func Subscribable() []EventName { return slices.Concat(EventNames(), ServerEvents(), notSentYet) }

// sent reports whether this service sends the event.
func (n EventName) sent() bool { return slices.Contains(EventNames(), n) || n.OfServer() }

// NotSent reports whether webhooks may subscribe to the event but never get it.
func (n EventName) NotSent() bool { return slices.Contains(notSentYet, n) }

// CheckTest returns the event for a test of a webhook: name, or if empty the first subscribed
// event that this service sends. Errors: CodeValidation.
func (w *Webhook) CheckTest(name EventName) (EventName, error) {
	switch at := slices.IndexFunc(w.Events, EventName.sent); {
	case name == "" && at >= 0:
		return w.Events[at], nil
	case name == "":
		return "", app.Invalid("event", "is required: this service does not send any of the webhook's events yet")
	case name.NotSent():
		return "", app.Invalid("event", "is %s, which this service does not send yet", name)
	case !name.sent() || name.OfServer() && w.Scope != ScopeServer:
		return "", app.Invalid("event", "is not the name of an event")
	}
	return name, nil
}

// Event is a webhook event with its final payload.
type Event struct {
	ID        string
	TeamID    string
	Seq       int64 // position among the team's events in the order of commits
	Type      EventName
	Payload   []byte // JSON: {type,created_at,data}
	CreatedAt time.Time
}

// RelaySwitch is the data of relay.switched. Relays are named in full.
type RelaySwitch struct {
	Region string `json:"region"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
	At     string `json:"at"`
}

// EventRetention is how long events are stored.
const EventRetention = 30 * 24 * time.Hour

// ContactData is the data of contact.created, .updated and .deleted.
type ContactData struct {
	ID           string   `json:"id"`
	AudienceID   string   `json:"audience_id"` // the first of SegmentIDs; empty: none
	SegmentIDs   []string `json:"segment_ids"` // segments it was added to by hand
	CreatedAt    string   `json:"created_at"`
	UpdatedAt    string   `json:"updated_at"`
	Email        string   `json:"email"`
	FirstName    *string  `json:"first_name"`
	LastName     *string  `json:"last_name"`
	Unsubscribed bool     `json:"unsubscribed"`
}

// AutomationStepData is the data of the event of a webhook step. Its type is the one that the step names.
type AutomationStepData struct {
	AutomationID string         `json:"automation_id"`
	RunID        string         `json:"run_id"`
	Step         string         `json:"step"`
	Contact      ContactData    `json:"contact"`
	Event        jsontext.Value `json:"event"` // payload of the event that started the run
}

// ContactTopicsData is the data of contact.topics.updated: the changed choices.
type ContactTopicsData struct {
	Email  string            `json:"email"`
	Topics []app.TopicChoice `json:"topics"`
}

// OptInData is the data of contact.opt_in_requested and .opt_in_confirmed.
type OptInData struct {
	ID          string          `json:"id"`
	Email       string          `json:"email"`
	Status      app.OptInStatus `json:"status"`
	FormID      *string         `json:"form_id"`    // null: asked for by API
	ContactID   *string         `json:"contact_id"` // null: not confirmed
	Topics      []string        `json:"topics"`     // ids: those asked for, or confirmed
	RequestedAt string          `json:"requested_at"`
	ConfirmedAt *string         `json:"confirmed_at"`
}

// FormLimitedData is the data of form.limited: confirmations of a form wait, because more were asked for
// than are sent in an hour or a day.
type FormLimitedData struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	PerHour int    `json:"per_hour"`
	PerDay  int    `json:"per_day"`
	Waiting int    `json:"waiting"` // at most 100,000
}

// FeedFailedData is the data of feed.failed: a due feed could not become a broadcast several times in a row.
type FeedFailedData struct {
	ID      string `json:"id"`
	URL     string `json:"url"`
	TopicID string `json:"topic_id"`
	Error   string `json:"error"` // of the last try
	Tries   int    `json:"tries"`
}

// SuppressionData is the data of suppression.added and .removed.
type SuppressionData struct {
	ID        string                `json:"id"`
	Email     string                `json:"email"`
	Origin    app.SuppressionOrigin `json:"origin"`
	SourceID  *string               `json:"source_id"`
	CreatedAt string                `json:"created_at"`
}

// TopicData is the data of topic.created, .updated and .deleted.
type TopicData struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description *string          `json:"description"`
	Default     app.Subscription `json:"default_subscription"`
	Deleted     bool             `json:"deleted"`
	CreatedAt   string           `json:"created_at"`
	UpdatedAt   string           `json:"updated_at"`
}

// EmailData is the data of all events of an email. Events about one recipient name it in addition.
type EmailData struct {
	EmailID     string            `json:"email_id"`
	MessageID   string            `json:"message_id"` // with angle brackets
	CreatedAt   string            `json:"created_at"` // of the email
	From        string            `json:"from"`
	To          []string          `json:"to"`
	Subject     string            `json:"subject"`
	BroadcastID string            `json:"broadcast_id,omitzero"`
	TemplateID  string            `json:"template_id,omitzero"`
	Tags        map[string]string `json:"tags,omitzero"`
	Headers     []app.Header      `json:"headers,omitzero"`
	EmailExtra
}

// EmailExtra is additional data of some events of an email.
type EmailExtra struct {
	Recipient  string          `json:"recipient,omitzero"`  // the affected recipient; empty: all
	Bounce     *BounceData     `json:"bounce,omitzero"`     // email.bounced
	Click      *ClickData      `json:"click,omitzero"`      // email.clicked
	Failed     *FailedData     `json:"failed,omitzero"`     // email.failed
	Suppressed *SuppressedData `json:"suppressed,omitzero"` // email.suppressed
}

// BounceData describes a bounce.
type BounceData struct {
	Message    string         `json:"message"`
	Type       app.BounceType `json:"type"`
	SubType    string         `json:"subType"`        // like "General", "NoEmail", "MailboxFull"
	Diagnostic []string       `json:"diagnosticCode"` // text of the receiving server
}

// ClickData describes a click.
type ClickData struct {
	IPAddress string `json:"ipAddress"`
	Link      string `json:"link"`
	Timestamp string `json:"timestamp"`
	UserAgent string `json:"userAgent"`
}

// FailedData is why an email failed.
type FailedData struct {
	Reason string `json:"reason"`
}

// SuppressedData is why a recipient was skipped.
type SuppressedData struct {
	Message    string            `json:"message"`
	Type       string            `json:"type"` // AccountSuppressedType
	Reason     SuppressionReason `json:"reason"`
	Diagnostic []string          `json:"diagnosticCode"` // text of the receiving server, for a bounce that caused it
}

// SuppressionReason is the cause of a suppression. Resend's clients know the first two.
type SuppressionReason string

// The reasons.
const (
	PreviousBounce     SuppressionReason = "previous_bounce"
	PreviousComplaint  SuppressionReason = "previous_complaint"
	SuppressedManually SuppressionReason = "manual"
	Unsubscribed       SuppressionReason = "unsubscribe"
)

// ReasonOf returns the reason for the origin of a suppression; without an origin it is an opt-out.
func ReasonOf(origin app.SuppressionOrigin) SuppressionReason {
	switch origin {
	case app.OriginBounce:
		return PreviousBounce
	case app.OriginComplaint:
		return PreviousComplaint
	case app.OriginManual:
		return SuppressedManually
	}
	return Unsubscribed
}

// AccountSuppressedType is the type in SuppressedData for the team's own list.
const AccountSuppressedType = "OnAccountSuppressionList"
