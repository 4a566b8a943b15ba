package feedback

import (
	"strconv"
	"strings"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// mailgun reports only the Message-ID, and raw messages have their own, so its mail carries
// variables.
var mailgun = Provider{
	Source: app.SourceMailgun, Name: "Mailgun", Proof: ProofURL, read: readMailgun, relayDomains: []string{"mailgun.org"},
	Hosts: []SMTPHost{{"smtp.mailgun.org", "US"}, {"smtp.eu.mailgun.org", "EU"}}, SPF: "include:mailgun.org",
	IDHeader: headerWith("X-Mailgun-Variables", `{"`+app.EmailIDKey+`":"`, `"}`),
}

// mailgunReport is a webhook request of Mailgun. Its signature is not checked, since its key is
// not configured: the secret in the path proves the sender.
type mailgunReport struct {
	Data struct {
		Event     looseString `json:"event"`
		ID        looseString `json:"id"`
		Timestamp looseString `json:"timestamp"`
		Recipient looseString `json:"recipient"`
		Severity  looseString `json:"severity"`
		Reason    looseString `json:"reason"`
		URL       looseString `json:"url"`
		IP        looseString `json:"ip"`
		Status    struct {
			Code     looseString `json:"code"`
			Enhanced looseString `json:"enhanced-code"`
			Message  looseString `json:"message"`
			Words    looseString `json:"description"`
		} `json:"delivery-status"`
		Message struct {
			Headers struct {
				MessageID looseString `json:"message-id"`
			} `json:"headers"`
		} `json:"message"`
		Client struct {
			UserAgent looseString `json:"user-agent"`
			Bot       looseString `json:"bot"`
		} `json:"client-info"`
		Variables map[string]looseString `json:"user-variables"`
	} `json:"event-data"`
}

// readMailgun parses a Mailgun webhook request: one report. Other events are ignored. Error:
// CodeInvalidPayload.
func readMailgun(body []byte) (out Reading, err error) {
	var m mailgunReport
	if err := decodeReport(body, &m); err != nil {
		return out, err
	}
	d := &m.Data
	f := Report{MessageID: bareMessageID(d.Message.Headers.MessageID), EmailID: string(d.Variables[app.EmailIDKey]),
		Recipient: string(d.Recipient), At: unixTime(d.Timestamp), Link: string(d.URL), IPAddress: string(d.IP),
		UserAgent: string(d.Client.UserAgent), Machine: d.Client.Bot != ""}
	known := m.report(&f)
	f.ID = reportID(d.ID, string(f.Kind), f.Recipient, f.MessageID)
	out.add(f, known)
	return out, nil
}

// report sets the event and returns false for events that are ignored.
func (m *mailgunReport) report(f *Report) bool {
	d := &m.Data
	switch d.Event {
	case "accepted":
		f.Kind = Accepted
	case "delivered":
		f.Kind = Delivered
	case "opened":
		f.Kind = Opened
	case "clicked":
		f.Kind = Clicked
	case "complained":
		f.Kind = Complained
	case "rejected":
		f.Kind, f.Diagnostic = Failed, string(d.Reason)
	case "failed":
		m.failed(f)
	default:
		return false
	}
	return true
}

// failed distinguishes failures: Mailgun still tries, the address is on one of its lists, or a
// bounce.
func (m *mailgunReport) failed(f *Report) {
	d := &m.Data
	words := d.Status.Message
	if words == "" {
		words = d.Status.Words
	}
	f.Diagnostic, f.Enhanced = string(words), codeOf(d.Status.Enhanced, words)
	switch {
	case d.Severity == "temporary":
		f.Kind = Delayed
	case d.Reason == "suppress-unsubscribe":
		f.Kind, f.Diagnostic = Failed, "the address is on Mailgun's list of those who unsubscribed"
	case d.Reason == "suppress-bounce", d.Reason == "suppress-complaint":
		f.Kind, f.Bounce, f.SubType, f.Enhanced = Bounced, app.BouncePermanent, "OnAccountSuppressionList", ""
	default:
		f.Kind, f.Bounce, f.SubType = Bounced, app.BouncePermanent, bounce.General
		f.classifyQuoted(d.Status.Enhanced, bounce.Evidence{Reply: string(d.Status.Message + " " + d.Status.Words), ReplyCode: smtpCode(d.Status.Code)})
		if strings.HasPrefix(f.Enhanced, "4.") || strings.HasPrefix(string(d.Status.Code), "4") {
			f.Bounce = app.BounceTransient // no further attempts
		}
	}
}

// smtpCode parses an SMTP reply code; 0: invalid. Mailgun has its own codes from 600.
func smtpCode(s looseString) int {
	n, err := strconv.Atoi(string(s))
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}
