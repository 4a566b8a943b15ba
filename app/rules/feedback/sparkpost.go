package feedback

import (
	"cmp"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// sparkpost is written after "Webhooks" and "Event Reference" (developers.sparkpost.com/api/webhooks
// and /api/events) and "Bounce Classification Codes" (support.sparkpost.com/docs/deliverability),
// read in November 2026. SparkPost reports the metadata of a recipient, but no Message-ID.
var sparkpost = Provider{
	Source: "sparkpost", Name: "SparkPost", Proof: ProofPassword, read: readSparkpost, relayDomains: []string{"sparkpostmail.com"}, User: "SMTP_Injection",
	Hosts: []SMTPHost{{"smtp.sparkpostmail.com", "US"}, {"smtp.eu.sparkpostmail.com", "EU"}}, SPF: "include:sparkpostmail.com",
	IDHeader: headerWith("X-MSYS-API", `{"metadata":{"`+app.EmailIDKey+`":"`, `"}}`),
}

// sparkpostEvent is an event of SparkPost. The class of the event is the name of its member.
type sparkpostEvent struct {
	System map[string]sparkpostReport `json:"msys"`
}

type sparkpostReport struct {
	Type      looseString            `json:"type"`
	ID        looseString            `json:"event_id"`
	MessageID looseString            `json:"message_id"`
	Recipient looseString            `json:"raw_rcpt_to"`
	Lowered   looseString            `json:"rcpt_to"`
	Metadata  map[string]looseString `json:"rcpt_meta"`
	Timestamp looseString            `json:"timestamp"`
	Class     looseString            `json:"bounce_class"`
	Code      looseString            `json:"error_code"`
	RawReason looseString            `json:"raw_reason"`
	Reason    looseString            `json:"reason"`
	FeedbackT looseString            `json:"fbtype"`
	Link      looseString            `json:"target_link_url"`
	IP        looseString            `json:"ip_address"`
	Agent     looseString            `json:"user_agent"`
	Parsed    struct {
		Prefetched looseString `json:"is_prefetched"`
	} `json:"user_agent_parsed"`
}

// readSparkpost parses a request of SparkPost: an array of events, which is one without content in a
// test. Error: CodeInvalidPayload.
func readSparkpost(body []byte) (out Reading, err error) {
	events, err := decodeEvents[sparkpostEvent](body)
	if err != nil {
		return out, err
	}
	for i := range events {
		for _, m := range events[i].System { // one
			f := Report{EmailID: string(m.Metadata[app.EmailIDKey]), ProviderID: string(m.MessageID), Recipient: string(cmp.Or(m.Recipient, m.Lowered)),
				At: anyTime(string(m.Timestamp)), Link: string(m.Link), IPAddress: string(m.IP), UserAgent: string(m.Agent), Machine: m.Parsed.Prefetched == "true"}
			known := m.report(&f)
			f.ID = reportID(m.ID, string(f.Kind), f.Recipient)
			out.add(f, known)
		}
	}
	return out, nil
}

// report sets the event and returns false for events that are ignored.
func (m *sparkpostReport) report(f *Report) bool {
	f.Diagnostic = m.words()
	switch m.Type {
	case "injection":
		f.Kind = Accepted
	case "delivery":
		f.Kind = Delivered
	case "delay":
		f.Kind, f.Enhanced = Delayed, codeOf("", looseString(m.words()))
	case "bounce", "out_of_band":
		return m.bounced(f)
	case "policy_rejection", "generation_failure", "generation_rejection":
		f.Kind = Failed
	case "spam_complaint":
		if m.FeedbackT == "not-spam" { // the opposite of a complaint
			return false
		}
		f.Kind = Complained
	case "open", "initial_open", "amp_open", "amp_initial_open":
		f.Kind = Opened
	case "click", "amp_click":
		f.Kind = Clicked
	default:
		return false
	}
	return true
}

// words returns the text of the receiving server.
func (m *sparkpostReport) words() string { return string(cmp.Or(m.RawReason, m.Reason)) }

// bounced maps the classification of a bounce. It returns false for replies of people and programs.
func (m *sparkpostReport) bounced(f *Report) bool {
	kind, subType := app.BounceTransient, ""
	switch m.Class {
	case "10":
		kind, subType = app.BouncePermanent, bounce.NoEmail
	case "30":
		kind = app.BouncePermanent
	case "22":
		subType = bounce.MailboxFull
	case "23":
		subType = bounce.MessageTooLarge
	case "50", "51", "52", "53", "54":
		subType = bounce.ContentRejected
	case "25", "26": // not sent, by SparkPost's own rules
		f.Kind = Failed
		return true
	case "60", "80", "90", "100":
		return false
	case "1", "":
		kind = app.BounceUndetermined
	}
	f.bounced(kind, subType, "", m.words())
	return true
}
