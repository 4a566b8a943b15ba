package feedback

import (
	"time"

	"mailer/app"
)

// FeedbackKind says what the outside reports of an email.
type FeedbackKind string

// The kinds of feedback.
const (
	FeedbackTaken      FeedbackKind = "sent" // the provider took it: what the relay's own reply says
	FeedbackDelivered  FeedbackKind = "delivered"
	FeedbackDelayed    FeedbackKind = "delayed" // still being tried by the provider
	FeedbackBounced    FeedbackKind = "bounced"
	FeedbackComplained FeedbackKind = "complained"
	FeedbackOpened     FeedbackKind = "opened"
	FeedbackClicked    FeedbackKind = "clicked"
	FeedbackFailed     FeedbackKind = "failed" // the provider took it and did not send it
)

// Feedback is one report about one recipient of an email: from a provider's
// event hook or from the bounce listener. It is believed only after its door
// proved where it comes from.
type Feedback struct {
	Source string // SourceSES and the like, or BounceSource
	// ID is the provider's own id of this report about this recipient, or a hash
	// of what it says; the same Source and ID again change nothing.
	ID         string
	Kind       FeedbackKind
	EmailID    string // of X-Mailer-Email-ID or of our signed return path; empty: not known
	ProviderID string // that the relay gave the message in its reply; empty: not known
	MessageID  string // of RFC 5322, without angle brackets; empty: not known
	Recipient  string // empty: all of the email
	Bounce     app.BounceType
	SubType    string // why, like "General", "NoEmail", "MailboxFull"
	Enhanced   string // RFC 3463; empty: none
	Diagnostic string // the other server's words, one line of at most 500 bytes
	Link       string // that was clicked
	UserAgent  string
	IPAddress  string
	// Machine: the provider itself says that a machine opened or clicked.
	Machine bool
	// Taken is when the provider took the message, by its own word; zero: it did
	// not say.
	Taken time.Time
	At    time.Time // when it happened; zero: unknown
}

// Readers read what the providers with a secret in the path send.
var Readers = map[string]func(body []byte) ([]Feedback, error){
	app.SourcePostmark: PostmarkFeedback,
	app.SourceMailgun:  MailgunFeedback,
	app.SourceSendgrid: SendgridFeedback,
	app.SourceGeneric:  GenericFeedback,
}

// ReadFeedback reads what a source of FeedbackSources posted. Errors: CodeNotFound
// for any other source, CodeInvalidPayload; CodeValidation for the generic form.
func ReadFeedback(source string, body []byte) ([]Feedback, error) {
	read := Readers[source]
	if read == nil {
		return nil, app.Errorf(app.CodeNotFound, "There is nothing at this address")
	}
	return read(body)
}
