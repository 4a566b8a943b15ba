package feedback

import (
	"cmp"
	"strings"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// mailjet is written after "Event API: real-time notifications" (dev.mailjet.com/email/guides/webhooks)
// and "Event Tracking API" (documentation.mailjet.com, article 360043578154), read in November 2026.
// Mailjet reports the custom id of a message, but no Message-ID.
var mailjet = Provider{
	Source: "mailjet", Name: "Mailjet", Proof: ProofPassword, CredentialsInURL: true, read: readMailjet, relayDomains: []string{"mailjet.com"},
	Hosts: []SMTPHost{{"in-v3.mailjet.com", ""}}, SPF: "include:spf.mailjet.com", IDHeader: headerNamed("X-MJ-CustomID"),
}

// mailjetReport is an event of Mailjet.
type mailjetReport struct {
	Event     looseString `json:"event"`
	Time      looseString `json:"time"`
	MessageID looseString `json:"MessageID"`
	GUID      looseString `json:"Message_GUID"`
	CustomID  looseString `json:"CustomID"`
	Email     looseString `json:"email"`
	Reply     looseString `json:"smtp_reply"`
	Hard      looseString `json:"hard_bounce"`
	About     looseString `json:"error_related_to"`
	Error     looseString `json:"error"`
	Comment   looseString `json:"comment"`
	URL       looseString `json:"url"`
	IP        looseString `json:"ip"`
	Agent     looseString `json:"agent"`
}

// readMailjet parses a request of Mailjet: an event, or an array of them. Error:
// CodeInvalidPayload.
func readMailjet(body []byte) (out Reading, err error) {
	events, err := decodeEvents[mailjetReport](body)
	if err != nil {
		return out, err
	}
	for i := range events {
		m := &events[i]
		f := Report{EmailID: string(m.CustomID), ProviderID: string(cmp.Or(m.GUID, m.MessageID)), Recipient: string(m.Email), At: unixTime(m.Time),
			Link: string(m.URL), IPAddress: string(m.IP), UserAgent: string(m.Agent)}
		known := m.report(&f)
		out.add(f, known)
	}
	return out, nil
}

// mailjetErrors are the errors with a known subtype of a hard bounce.
var mailjetErrors = map[looseString]string{
	"user unknown": bounce.NoEmail, "mailbox inactive": bounce.NoEmail, "invalid domain": bounce.NoEmail, "quota exceeded": bounce.MailboxFull,
}

// report sets the event and returns false for events that are ignored.
func (m *mailjetReport) report(f *Report) bool {
	switch m.Event {
	case "sent": // accepted by the receiving server
		f.Kind, f.Diagnostic = Delivered, string(m.Reply)
	case "open":
		f.Kind = Opened
	case "click":
		f.Kind = Clicked
	case "spam":
		f.Kind = Complained
	case "bounce":
		m.bounced(f)
	case "blocked":
		f.Kind, f.Diagnostic = Failed, m.words()
		switch m.Error { // others are about the message, or only likely
		case "user unknown", "mailbox inactive", "spam reporter":
			f.onProviderList(m.words())
		}
	default:
		return false
	}
	return true
}

func (m *mailjetReport) bounced(f *Report) {
	subType := mailjetErrors[m.Error]
	if m.About == "spam" || m.About == "content" {
		subType = bounce.ContentRejected
	}
	switch {
	case m.Hard == "true" && subType != bounce.MailboxFull && subType != bounce.ContentRejected:
		f.bounced(app.BouncePermanent, subType, "", string(m.Comment))
	case subType == bounce.NoEmail:
		f.bounced(app.BounceTransient, "", "", string(m.Comment))
	default:
		f.bounced(app.BounceTransient, subType, "", string(m.Comment))
	}
	f.Diagnostic = m.words()
}

// words returns what Mailjet says about an error.
func (m *mailjetReport) words() string {
	return strings.TrimSpace(string(m.Error + " " + m.Comment))
}
