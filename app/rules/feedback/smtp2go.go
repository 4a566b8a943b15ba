package feedback

import (
	"strings"

	"mailer/app"
)

// smtp2go is written after "Webhooks Overview" and "Setup a Webhook"
// (developers.smtp2go.com/docs/webhooks-overview), read in November 2026. SMTP2GO reports the headers
// that are listed in the webhook: app.EmailIDHeader.
var smtp2go = Provider{
	Source: "smtp2go", Name: "SMTP2GO", Proof: ProofPassword, read: readSMTP2GO, relayDomains: []string{"smtp2go.com"},
	Hosts: []SMTPHost{{"mail.smtp2go.com", "Global"}, {"mail-eu.smtp2go.com", "EU"}, {"mail-us.smtp2go.com", "US"}, {"mail-au.smtp2go.com", "AU"}},
	SPF:   "include:spf.smtp2go.com",
}

// readSMTP2GO parses a request of SMTP2GO: one event, as JSON or as a form. Error:
// CodeInvalidPayload.
func readSMTP2GO(body []byte) (out Reading, err error) {
	m, err := decodeFields(body)
	if err != nil {
		return out, err
	}
	words := strings.TrimSpace(m["message"] + " " + m["context"])
	f := Report{EmailID: strings.TrimSpace(m[strings.ToLower(app.EmailIDHeader)]), MessageID: bareMessageID(looseString(m["message-id"])), ProviderID: m["email_id"],
		Recipient: m["rcpt"], At: anyTime(m["time"]), UserAgent: m["user-agent"], Link: m["url"], Diagnostic: words}
	known := true
	switch m["event"] {
	case "processed":
		f.Kind = Accepted
	case "delivered":
		f.Kind = Delivered
	case "open":
		f.Kind = Opened
	case "click":
		f.Kind = Clicked
	case "spam":
		f.Kind = Complained
	case "bounce":
		kind := app.BounceTransient
		if m["bounce"] == "hard" {
			kind = app.BouncePermanent
		}
		f.bounced(kind, "", "", words)
	case "reject": // bounced, complained or unsubscribed before, or a sender that is not verified
		f.Kind = Failed
	default:
		known = false
	}
	f.ID = reportID(looseString(m["id"]), string(f.Kind), f.Recipient, f.ProviderID)
	out.add(f, known)
	return out, nil
}
