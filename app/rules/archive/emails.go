package archive

import (
	"time"

	"mailer/app"
)

// FilesDir is the subdirectory of attachments, each named by its id.
const FilesDir = "attachments"

// Email is a finished email, which is never sent again. Addresses are in the form of the API.
type Email struct {
	ID          string        `json:"id"`
	MessageID   string        `json:"message_id"` // without angle brackets
	From        string        `json:"from"`
	To          []string      `json:"to,omitzero"`
	Cc          []string      `json:"cc,omitzero"`
	Bcc         []string      `json:"bcc,omitzero"`
	ReplyTo     []string      `json:"reply_to,omitzero"`
	Subject     string        `json:"subject,omitzero"`
	HTML        string        `json:"html,omitzero"`
	Text        string        `json:"text,omitzero"`
	Headers     []app.Header  `json:"headers,omitzero"`
	Tags        []app.Tag     `json:"tags,omitzero"`
	TopicID     string        `json:"topic_id,omitzero"`
	TemplateID  string        `json:"template_id,omitzero"`
	KeyID       string        `json:"key_id,omitzero"` // of the sender
	Source      string        `json:"source"`
	Relay       string        `json:"relay"` // that it left through
	CreatedAt   time.Time     `json:"created_at"`
	ScheduledAt time.Time     `json:"scheduled_at,omitzero"`
	LastEvent   app.LastEvent `json:"last_event"`
	// ContentDeletedAt: bodies and attachments were deleted then; zero: they are there.
	ContentDeletedAt time.Time     `json:"content_deleted_at,omitzero"`
	Insights         *app.Insights `json:"insights,omitzero"`
	Recipients       []Recipient   `json:"recipients"`
	Attachments      []Attachment  `json:"attachments,omitzero"`
}

// Recipient is a recipient of an email with its state.
type Recipient struct {
	Email string        `json:"email"`
	State app.LastEvent `json:"state"`
}

// Attachment is a file of an email or a broadcast. Its content is in FilesDir.
type Attachment struct {
	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	ContentID   string `json:"content_id,omitzero"`
	Size        int64  `json:"size"`
}

// Event is an event of an email's timeline. Events of one email are adjacent, oldest first.
type Event struct {
	EmailID   string          `json:"email_id"`
	ID        string          `json:"id"`
	Type      app.EventType   `json:"type"`
	Recipient string          `json:"recipient,omitzero"`
	CreatedAt time.Time       `json:"created_at"`
	Detail    app.EventDetail `json:"detail"`
}
