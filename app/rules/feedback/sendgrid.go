package feedback

import (
	"strings"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// sendgrid omits the Message-ID of opens, clicks and complaints, so its mail carries unique
// arguments.
var sendgrid = Provider{
	Source: app.SourceSendgrid, Name: "SendGrid", Proof: ProofURL, read: readSendgrid, relayDomains: []string{"sendgrid.net"}, User: "apikey",
	Hosts: []SMTPHost{{"smtp.sendgrid.net", "Global"}, {"smtp.eu.sendgrid.net", "EU"}}, SPF: "include:sendgrid.net",
	IDHeader: headerWith("X-SMTPAPI", `{"unique_args":{"`+app.EmailIDKey+`":"`, `"}}`),
}

// sendgridReport is an event of SendGrid's Event Webhook.
type sendgridReport struct {
	Event     looseString `json:"event"`
	ID        looseString `json:"sg_event_id"`
	MessageID looseString `json:"smtp-id"`
	Provider  looseString `json:"sg_message_id"`
	EmailID   looseString `json:"mailer-email-id"` // EmailIDKey
	Email     looseString `json:"email"`
	Timestamp looseString `json:"timestamp"`
	Reason    looseString `json:"reason"`
	Response  looseString `json:"response"`
	Status    looseString `json:"status"`
	Type      looseString `json:"type"`
	Class     looseString `json:"bounce_classification"`
	URL       looseString `json:"url"`
	IP        looseString `json:"ip"`
	UserAgent looseString `json:"useragent"`
	Machine   looseString `json:"sg_machine_open"`
}

// sendgridClasses are the bounce classifications with a known reason.
var sendgridClasses = map[looseString]string{
	"Invalid Address":     "NoEmail",
	"Mailbox Unavailable": "MailboxFull",
	"Content":             "ContentRejected",
	"Reputation":          "ContentRejected",
}

// readSendgrid parses a request of SendGrid's Event Webhook: an array of events. Other events are
// ignored. Error: CodeInvalidPayload.
func readSendgrid(body []byte) (out Reading, err error) {
	var events []sendgridReport
	if err := decodeReport(body, &events); err != nil {
		return out, err
	}
	for i := range events {
		m := &events[i]
		f := Report{EmailID: string(m.EmailID), MessageID: bareMessageID(m.MessageID), ProviderID: string(m.Provider),
			Recipient: string(m.Email), At: unixTime(m.Timestamp), Link: string(m.URL), UserAgent: string(m.UserAgent), Machine: m.Machine == "true"}
		known := m.report(&f)
		f.ID = reportID(m.ID, string(f.Kind), f.Recipient, f.MessageID, f.EmailID)
		out.add(f, known)
	}
	return out, nil
}

// report sets the event and returns false for events that are ignored.
func (m *sendgridReport) report(f *Report) bool {
	f.Diagnostic = string(m.Reason + m.Response)
	switch m.Event {
	case "processed":
		f.Kind = Accepted
	case "delivered":
		f.Kind = Delivered
	case "deferred":
		f.Kind, f.Enhanced = Delayed, codeOf(m.Status, m.Response+m.Reason)
	case "open":
		f.Kind, f.IPAddress = Opened, string(m.IP) // the address in other events is SendGrid's
	case "click":
		f.Kind, f.IPAddress = Clicked, string(m.IP)
	case "spamreport":
		f.Kind = Complained
	case "bounce":
		f.Kind, f.SubType = Bounced, sendgridClasses[m.Class]
		m.bounced(f)
	case "dropped":
		m.dropped(f)
	default:
		return false
	}
	return true
}

// bounced distinguishes a bounce from what SendGrid calls a block, which is temporary or about the
// message.
func (m *sendgridReport) bounced(f *Report) {
	f.Bounce = app.BouncePermanent
	e := f.evidence()
	e.Temporary = m.Type == "blocked"
	f.classifyQuoted(m.Status, e)
	if m.Type == "blocked" || strings.HasPrefix(f.Enhanced, "4.") {
		f.Bounce = app.BounceTransient
	}
	if f.SubType == "" {
		f.SubType = bounce.General
	}
}

// dropped distinguishes why SendGrid did not send: its own bounce and complaint lists, or another
// reason.
func (m *sendgridReport) dropped(f *Report) {
	switch m.Reason {
	case "Bounced Address", "Spam Reporting Address":
		f.Kind, f.Bounce, f.SubType = Bounced, app.BouncePermanent, "OnAccountSuppressionList"
	default:
		f.Kind = Failed
	}
}
