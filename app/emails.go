package app

import (
	"slices"
	"strings"
	"time"
)

// Compat is the compatibility mode of the API.
type Compat string

// The values of --compat.
const (
	CompatStrict Compat = "strict"
	CompatResend Compat = "resend" // also accept what Resend accepts
)

// EmailIDHeader is the header that carries the email's id in every message.
const EmailIDHeader = "X-Mailer-Email-ID"

// EmailMessageID returns the Message-ID (RFC 5322 3.6.4) of an email, or of the email to a
// broadcast's recipient, without the angle brackets. domain is that of the sender.
func EmailMessageID(id, domain string) string { return id + "@" + domain }

// CutEmailMessageID splits a Message-ID that EmailMessageID made into its parts. The parts are not
// checked: in a Message-ID that a provider wrote, id is the provider's. Without an @, id is the
// whole text.
func CutEmailMessageID(messageID string) (id, domain string) {
	id, domain, _ = strings.Cut(messageID, "@")
	return id, domain
}

// EmailInput is a send as the caller wrote it, before validation. Empty strings and lists mean
// absent. Text distinguishes absent (nil) from no text ("").
type EmailInput struct {
	From        string
	To          []string
	Cc          []string
	Bcc         []string
	ReplyTo     []string
	Subject     string
	HTML        string
	Text        *string
	Headers     map[string]string
	Tags        []Tag
	Attachments []Attachment
	ScheduledAt string // as the caller wrote it, since idempotency compares it
	ExpiresIn   string // as the caller wrote it, like 10m; empty: the default of the relay
	TopicID     string // empty: none
	// Template is rendered before Validate (SampleValue, Fill); nil: none.
	Template *TemplateUse
	// Compat is the mode of the server; empty: CompatStrict. Callers can't set it.
	Compat Compat `json:"-"`
	// FetchAttachments reports whether the server fetches attachments from URLs. Callers can't set
	// it.
	FetchAttachments bool `json:"-"`
}

// Tag is a name and value that the caller chose and events repeat.
type Tag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Header is a custom header field with its value unfolded.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Attachment is a file of an email. Content is nil if only the metadata was requested. Size is in
// bytes.
type Attachment struct {
	ID          string
	Filename    string
	ContentType string
	ContentID   string // without angle brackets; empty: the HTML does not show the file
	Size        int64
	Content     []byte
	// Text is the content of a file in an EmailInput if it is not base64, otherwise empty.
	Text string
	// Path is the URL that Content is fetched from when the email is accepted; empty: Content is
	// given.
	Path string
}

// Inline reports whether the HTML shows the file.
func (a *Attachment) Inline() bool { return a.ContentID != "" }

// FetchesAttachments reports whether a file is given as a URL.
func (m *Mail) FetchesAttachments() bool { return FetchesAny(m.Attachments) }

// FetchesAny reports whether one of some files is given as a URL.
func FetchesAny(files []Attachment) bool {
	return slices.ContainsFunc(files, func(a Attachment) bool { return a.Path != "" })
}

// Mail is the content of a validated send. It never changes after acceptance.
type Mail struct {
	From        Address
	To          []Address
	Cc          []Address
	Bcc         []Address
	ReplyTo     []Address
	Subject     string
	HTML        string
	Text        string
	Headers     []Header // sorted by name, so that the message bytes are deterministic
	Tags        []Tag
	Attachments []Attachment
	TopicID     string // empty: none
	// Bodies replaces HTML and Text in mail of a broadcast; nil: other mail. Flatten returns
	// strings.
	Bodies *Bodies
	// Raw is the complete message, without fields that are not passed on, if the caller submitted
	// one. The fields above then describe its content. nil: the message is composed from the
	// fields.
	Raw []byte
}

// Recipients returns the envelope: the distinct mailboxes of to, cc and bcc in this order,
// compared without case.
func (m *Mail) Recipients() []string {
	seen := make(map[AddressKey]bool, len(m.To)+len(m.Cc)+len(m.Bcc))
	var out []string
	for _, list := range [][]Address{m.To, m.Cc, m.Bcc} {
		for _, a := range list {
			mailbox := a.Mailbox()
			if key := KeyOf(mailbox); !seen[key] {
				seen[key] = true
				out = append(out, mailbox)
			}
		}
	}
	return out
}

// Size returns the approximate size of the message on the wire, in bytes. Delivery limits its
// memory by it.
func (m *Mail) Size() int64 {
	n := int64(len(m.HTML) + len(m.Text) + m.Bodies.Size() + 2048 + len(m.Raw))
	if m.Raw != nil {
		return n
	}
	for _, a := range m.Attachments {
		n += a.Size * 4 / 3
	}
	return n
}

// AttachmentBytes returns the decoded size of all attachments.
func (m *Mail) AttachmentBytes() int64 { return SumSizes(m.Attachments) }

// SumSizes returns the decoded size of files in bytes.
func SumSizes(files []Attachment) (n int64) {
	for i := range files {
		n += files[i].Size
	}
	return n
}

// Email is an accepted email as it is stored.
type Email struct {
	ID          string
	TeamID      string
	KeyID       string // the key that sent it; empty for the command line
	BroadcastID string // empty: not of a broadcast
	TemplateID  string // empty: not made from a template
	Source      string // one of mail.Sources
	Relay       string // region of its relay
	MessageID   string // without angle brackets
	CreatedAt   time.Time
	ScheduledAt time.Time // zero: immediately
	LastEvent   LastEvent
	Situation   Situation // remaining work, as of the time when the email was read
	Unsent      bool      // record of a send that was refused because all recipients are suppressed
	ForOptIn    string    // id of the opt-in that it confirms, which hides it from its team; empty: another email
	Routed      string    // the rules by which its relays were chosen, in words; empty: none
	// AutomationRun and AutomationStep are the run of an automation that sent it, and the key of the step;
	// empty: another email.
	AutomationRun, AutomationStep string
	ForwardID                     string        // destination (ForwardAddress) to which it forwards a received email; empty: another email
	Automated                     Automated     // stored in the unit, as the next one; not read back
	ExpiresIn                     time.Duration // time after which the send fails; 0: the default of the relay
	// ContentDeletedAt is when bodies, attachments and the captured message were deleted, by
	// retention or an erasure; zero: not deleted.
	ContentDeletedAt time.Time
	Tracking         *Tracking // nil: opens and clicks are not tracked
	Insights         *Insights // nil: not inspected
	// Unsubscribe is the URL of the unsubscribe page of this email, fixed at acceptance; empty:
	// none (Mail.NeedsUnsubscribePage).
	Unsubscribe string
	// ReplyAddress is the Reply-To that the email gets at acceptance if it has none, and its domain and team want that;
	// zero: none. Not read back.
	ReplyAddress Address
	Envelope     []string // recipients independent of the headers; nil: Mail.Recipients. Not read back
	Mail
}

// State returns the current state of the email.
func (e *Email) State() State { return StateOf(e.LastEvent, e.Situation) }

// Tracking says how opens and clicks of one email are tracked. It is fixed at acceptance, so that
// every attempt has the same bytes.
type Tracking struct {
	// Base is the base URL of tracked links and the pixel, without a final slash.
	Base  string `json:"base"`
	Open  bool   `json:"open,omitzero"`
	Click bool   `json:"click,omitzero"`
	// Pages is the base URL of hosted pages, whose links are never tracked; empty: Base.
	Pages string `json:"pages,omitzero"`
}
