// Package feedback parses reports about mail: provider webhooks, bounces and complaints sent to a
// return path, and our generic format. It also defines the consequences of a report. It does no
// I/O and keeps no state.
//
// Failure policy: a body in a wrong format is refused (CodeInvalidPayload). Events and mail
// without information about a message are ignored. This package does not authenticate reports:
// endpoints prove their source, and Authenticate what a return path proves.
package feedback

import (
	"time"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// Kind is the kind of a report.
type Kind string

// The kinds of feedback.
const (
	Accepted   Kind = "sent" // accepted by the provider, as the relay's reply says too
	Delivered  Kind = "delivered"
	Delayed    Kind = "delayed" // still being tried by the provider
	Bounced    Kind = "bounced"
	Complained Kind = "complained"
	Opened     Kind = "opened"
	Clicked    Kind = "clicked"
	Failed     Kind = "failed" // accepted by the provider and not sent
)

// Report is a report about one recipient of an email, from a provider's webhook or the bounce
// listener. Its endpoint must prove its source before it is used.
type Report struct {
	Source string // SourceSES and others, or BounceSource
	// ID is the provider's id of this report about this recipient, or a hash of the report. A
	// report with a known Source and ID is ignored.
	ID         string
	Kind       Kind
	EmailID    string // from X-Mailer-Email-ID or the signed return path; empty: unknown
	ProviderID string // id in the relay's reply; empty: unknown
	MessageID  string // RFC 5322, without angle brackets; empty: unknown
	Recipient  string // empty: all recipients
	// Class is the class of a bounce; empty: not classified yet.
	Class  bounce.Class
	Reason bounce.Reason // reason for Class
	// Unauthenticated: the return path does not prove which recipient a bounce is about.
	Unauthenticated bool
	Bounce          app.BounceType
	SubType         string // like "General", "NoEmail", "MailboxFull"
	Enhanced        string // RFC 3463; empty: none
	Diagnostic      string // text of the receiving server, one line of at most 500 bytes
	Link            string // the clicked link
	UserAgent       string
	IPAddress       string
	// Machine: the provider says that a program opened or clicked.
	Machine bool
	// AcceptedBy is when the provider accepted the message; zero: unknown.
	AcceptedBy time.Time
	At         time.Time // time of the event; zero: unknown
}

// Reading is what a request of a provider contained.
type Reading struct {
	Reports []Report
	Ignored int // events that are not about what happened to an email
	// Challenge is a text that the provider wants back, to prove that this server expects its
	// reports; empty: none. It needs no further proof than the secret in the path.
	Challenge string
}

// add adds a report, or counts the event as ignored if known is false.
func (r *Reading) add(f Report, known bool) {
	if known {
		r.Reports = append(r.Reports, f)
	} else {
		r.Ignored++
	}
}

// Read parses what a source of Sources posted. Errors: CodeNotFound for other sources,
// CodeInvalidPayload; CodeValidation for the generic format.
func Read(source string, body []byte) (Reading, error) {
	p := ProviderBySource(source)
	if p.read == nil {
		return Reading{}, app.Errorf(app.CodeNotFound, "There is nothing at this address")
	}
	out, err := p.read(body)
	for i := range out.Reports {
		out.Reports[i].Source = source
	}
	return out, err
}
