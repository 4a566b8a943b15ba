package app

import (
	"strings"
	"time"
)

// Compat is how much beyond the rules of this API requests may say.
type Compat string

// The modes: what --compat takes.
const (
	CompatStrict Compat = "strict"
	CompatResend Compat = "resend" // also what Resend takes
)

// Limits of one email.
const (
	MaxRecipients  = 50
	MaxTags        = 50
	MaxTagLength   = 256
	MaxAttachments = 100
	MaxBatch       = 100 // emails in one POST /emails/batch
	// MaxSubject is in bytes: what a mail reader can show is far less, and one
	// header must not outgrow what relays take.
	MaxSubject = 2000
	// DefaultMaxAttachmentBytes is the decoded sum that a self-hosted server
	// takes in one email.
	DefaultMaxAttachmentBytes = 25 << 20
)

// EmailIDHeader is the header of every message that carries the email's id.
const EmailIDHeader = "X-Mailer-Email-ID"

// EmailMessageID returns the Message-ID (RFC 5322 3.6.4) of an email or of a
// broadcast's recipient by its id and the domain of its sender, without the angle
// brackets, as it is stored and compared.
func EmailMessageID(id, domain string) string { return id + "@" + domain }

// CutEmailMessageID returns the two parts of what EmailMessageID made, unchecked:
// of a Message-ID that a provider wrote, id is the provider's own. Without an @, id
// is all of it.
func CutEmailMessageID(messageID string) (id, domain string) {
	id, domain, _ = strings.Cut(messageID, "@")
	return id, domain
}

// EmailInput is a send as the caller wrote it, before any check. Empty strings
// and empty lists stand for absent ones; Text tells absent (nil) from opted
// out ("").
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
	ScheduledAt string // as the caller wrote it: what idempotency compares
	ExpiresIn   string // as the caller wrote it, like 10m; empty: as the relay has it
	TopicID     string // empty: none
	// Template is filled before Validate (StandIn, Fill); nil: none.
	Template *TemplateUse
	// Compat is the mode of the server, which the caller does not write; empty:
	// CompatStrict.
	Compat Compat `json:"-"`
}

// Tag is a name and value of the caller's that comes back in events.
type Tag struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Header is one custom header field of a message, its value unfolded.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Attachment is a file of an email. Content is nil where only the metadata was
// asked for; Size is in bytes.
type Attachment struct {
	ID          string
	Filename    string
	ContentType string
	ContentID   string // under which the HTML shows it, without angle brackets; empty: it does not
	Size        int64
	Content     []byte
	// Text is what stood for the content of a file in an EmailInput and is not
	// base64; empty in all others.
	Text string
}

// Inline reports whether the HTML shows the file.
func (a *Attachment) Inline() bool { return a.ContentID != "" }

// Mail is what a send says once it is checked: the part of an email that never
// changes after acceptance.
type Mail struct {
	From        Address
	To          []Address
	Cc          []Address
	Bcc         []Address
	ReplyTo     []Address
	Subject     string
	HTML        string
	Text        string
	Headers     []Header // sorted by name, so that the bytes repeat
	Tags        []Tag
	Attachments []Attachment
	TopicID     string // empty: none
	// Bodies stand in the place of HTML and Text in a mail of a broadcast; nil:
	// any other. Whoever wants strings asks for Whole.
	Bodies *Bodies
	// Raw is what leaves instead of the fields above, which say what it holds: a message
	// that was handed in whole, without what is not sent on. nil: it is made of them.
	Raw []byte
}

// Recipients is the envelope: to, cc and bcc in that order, each mailbox once
// (compared without case).
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

// Size is roughly what the message weighs on the wire, in bytes. Delivery
// bounds memory with it.
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

// AttachmentBytes is the decoded sum of all attachments.
func (m *Mail) AttachmentBytes() int64 {
	var n int64
	for _, a := range m.Attachments {
		n += a.Size
	}
	return n
}

// Email is an email as it is kept and read back.
type Email struct {
	ID          string
	TeamID      string
	KeyID       string // the key that sent it; empty for the command line
	BroadcastID string // that it is of; empty: none
	TemplateID  string // that it was made of; empty: none
	Source      string // how it came: one of mail.Sources
	Relay       string // region of the relay that it leaves through
	MessageID   string // without angle brackets
	CreatedAt   time.Time
	ScheduledAt time.Time // zero: at once
	LastEvent   LastEvent
	Situation   Situation     // what is still to be done; as it was when the email was read
	Unsent      bool          // it is the record of a send that was refused, all of its recipients being suppressed
	ExpiresIn   time.Duration // of a send: after which it fails; 0: as the relay has it. Its unit keeps it
	// ContentDeletedAt is when bodies, attachments and captured message were deleted,
	// being older than what is kept; zero: they are there.
	ContentDeletedAt time.Time
	Tracking         *Tracking // nil: opens and clicks are not seen
	Insights         *Insights // nil: not looked at
	// Unsubscribe is the address of the page that this email leads to, fixed at
	// acceptance; empty: none (Mail.NeedsUnsubscribePage).
	Unsubscribe string
	Envelope    []string // whom it goes to, whatever its headers say; nil: Mail.Recipients. Not read back
	Mail
}

// State is how the email is now.
func (e *Email) State() State { return StateOf(e.LastEvent, e.Situation) }

// Tracking says how the opens and clicks of one email are seen. It is fixed at
// acceptance, so that every attempt has the same bytes.
type Tracking struct {
	// Base is where the links and the pixel lead, without a slash at its end.
	Base  string `json:"base"`
	Open  bool   `json:"open,omitzero"`
	Click bool   `json:"click,omitzero"`
	// Pages is where hosted pages are reached, whose links are never tracked;
	// empty: at Base.
	Pages string `json:"pages,omitzero"`
}
