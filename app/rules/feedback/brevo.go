package feedback

import (
	"mailer/app"
	"mailer/app/rules/bounce"
)

// brevo is written after "Transactional webhooks" (developers.brevo.com/docs/transactional-webhooks),
// "Batched webhooks" and "Secure webhook calls" (developers.brevo.com/docs/secured-webhooks), read in
// November 2026. Brevo reports the header X-Mailin-custom of a message, and its Message-ID.
var brevo = Provider{
	Source: "brevo", Name: "Brevo", Proof: ProofPassword, CredentialsInURL: true, read: readBrevo, relayDomains: []string{"brevo.com", "sendinblue.com"},
	Hosts: []SMTPHost{{"smtp-relay.brevo.com", ""}}, SPF: "include:spf.brevo.com", IDHeader: headerNamed("X-Mailin-custom"),
}

// brevoReport is an event of Brevo. Its id is that of the webhook.
type brevoReport struct {
	Event     looseString `json:"event"`
	Email     looseString `json:"email"`
	MessageID looseString `json:"message-id"`
	EmailID   looseString `json:"X-Mailin-custom"`
	At        looseString `json:"ts_event"`
	Reason    looseString `json:"reason"`
	Link      looseString `json:"link"`
	Agent     looseString `json:"user_agent"`
}

// readBrevo parses a request of Brevo: an event, or an array of them with batched webhooks. Error:
// CodeInvalidPayload.
func readBrevo(body []byte) (out Reading, err error) {
	events, err := decodeEvents[brevoReport](body)
	if err != nil {
		return out, err
	}
	for i := range events {
		m := &events[i]
		f := Report{EmailID: string(m.EmailID), MessageID: bareMessageID(m.MessageID), Recipient: string(m.Email), At: unixTime(m.At),
			Link: string(m.Link), UserAgent: string(m.Agent), Diagnostic: string(m.Reason)}
		known := m.report(&f)
		out.add(f, known)
	}
	return out, nil
}

// report sets the event and returns false for events that are ignored. The first open has an event
// of its own besides.
func (m *brevoReport) report(f *Report) bool {
	switch m.Event {
	case "request":
		f.Kind = Accepted
	case "delivered":
		f.Kind = Delivered
	case "deferred":
		f.Kind, f.Enhanced = Delayed, codeOf("", m.Reason)
	case "opened", "open":
		f.Kind = Opened
	case "proxy_open":
		f.Kind, f.Machine = Opened, true
	case "click":
		f.Kind = Clicked
	case "spam", "complaint":
		f.Kind = Complained
	case "hard_bounce":
		f.bounced(app.BouncePermanent, "", "", string(m.Reason))
	case "soft_bounce":
		f.bounced(app.BounceTransient, "", "", string(m.Reason))
	case "invalid_email", "invalid":
		f.bounced(app.BouncePermanent, bounce.NoEmail, "", string(m.Reason))
	case "blocked", "error": // blocked may mean that the recipient unsubscribed at Brevo
		f.Kind = Failed
	default:
		return false
	}
	return true
}
