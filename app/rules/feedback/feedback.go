// Package feedback reads what the outside reports of mail: event hooks of providers,
// bounces and complaints that came to a return path, the generic form of our own; and
// says what follows from a report. Package sns, the services and the doors may
// import it; it does no I/O and keeps no state.
//
// Failure policy: a body that is not what its source sends is refused
// (CodeInvalidPayload); events and mail that say nothing about a message are left out
// without a word. Nothing that was read is believed here: its door proves where it
// comes from, and Believe what a return path proves.
package feedback

import (
	"time"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// Kind says what the outside reports of an email.
type Kind string

// The kinds of feedback.
const (
	Accepted   Kind = "sent" // the provider took it: what the relay's own reply says
	Delivered  Kind = "delivered"
	Delayed    Kind = "delayed" // still being tried by the provider
	Bounced    Kind = "bounced"
	Complained Kind = "complained"
	Opened     Kind = "opened"
	Clicked    Kind = "clicked"
	Failed     Kind = "failed" // the provider took it and did not send it
)

// Report is one report about one recipient of an email: from a provider's
// event hook or from the bounce listener. It is believed only after its door
// proved where it comes from.
type Report struct {
	Source string // SourceSES and the like, or BounceSource
	// ID is the provider's own id of this report about this recipient, or a hash
	// of what it says; the same Source and ID again change nothing.
	ID         string
	Kind       Kind
	EmailID    string // of X-Mailer-Email-ID or of our signed return path; empty: not known
	ProviderID string // that the relay gave the message in its reply; empty: not known
	MessageID  string // of RFC 5322, without angle brackets; empty: not known
	Recipient  string // empty: all of the email
	// Class says what a bounce means for further mail; empty: it was not judged yet.
	Class  bounce.Class
	Reason bounce.Reason // why Verdict is so
	// Unauthenticated: its return path does not prove whom a bounce is about.
	Unauthenticated bool
	Bounce          app.BounceType
	SubType         string // why, like "General", "NoEmail", "MailboxFull"
	Enhanced        string // RFC 3463; empty: none
	Diagnostic      string // the other server's words, one line of at most 500 bytes
	Link            string // that was clicked
	UserAgent       string
	IPAddress       string
	// Machine: the provider itself says that a machine opened or clicked.
	Machine bool
	// Accepted is when the provider took the message, by its own word; zero: it did
	// not say.
	AcceptedBy time.Time
	At         time.Time // when it happened; zero: unknown
}

// readers read what the providers with a secret in the path send.
var readers = map[string]func(body []byte) ([]Report, error){
	app.SourcePostmark: readPostmark,
	app.SourceMailgun:  readMailgun,
	app.SourceSendgrid: readSendgrid,
	app.SourceGeneric:  readGeneric,
}

// Read reads what a source of FeedbackSources posted. Errors: CodeNotFound
// for any other source, CodeInvalidPayload; CodeValidation for the generic form.
func Read(source string, body []byte) ([]Report, error) {
	read := readers[source]
	if read == nil {
		return nil, app.Errorf(app.CodeNotFound, "There is nothing at this address")
	}
	return read(body)
}
