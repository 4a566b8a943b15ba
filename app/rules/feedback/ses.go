package feedback

import (
	"strings"

	"mailer/app"
)

// ses is recognised by relayurl.ProfileSES. Package sns receives its reports, and ReadSES reads them.
var ses = Provider{Source: app.SourceSES, Name: "Amazon SES", Proof: ProofSNS, Hosts: sesHosts(), SPF: "include:amazonses.com"}

// sesHosts returns the SMTP hosts of Amazon SES.
func sesHosts() (hosts []SMTPHost) {
	for region := range strings.FieldsSeq(`us-east-1 us-east-2 us-west-1 us-west-2 af-south-1 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1
		ap-southeast-1 ap-southeast-2 ca-central-1 eu-central-1 eu-north-1 eu-south-1 eu-west-1 eu-west-2 eu-west-3 il-central-1 me-south-1 sa-east-1`) {
		hosts = append(hosts, SMTPHost{"email-smtp." + region + ".amazonaws.com", region})
	}
	return hosts
}

// sesReport is an event (eventType) or notification (notificationType) of Amazon SES.
type sesReport struct {
	Event        looseString `json:"eventType"`
	Notification looseString `json:"notificationType"`
	Mail         struct {
		Timestamp   looseString   `json:"timestamp"`
		MessageID   looseString   `json:"messageId"`
		Destination []looseString `json:"destination"`
		Headers     []struct {
			Name  looseString `json:"name"`
			Value looseString `json:"value"`
		} `json:"headers"`
		Common struct {
			MessageID looseString `json:"messageId"`
		} `json:"commonHeaders"`
	} `json:"mail"`
	Bounce struct {
		Type       looseString    `json:"bounceType"`
		SubType    looseString    `json:"bounceSubType"`
		Recipients []sesRecipient `json:"bouncedRecipients"`
		Timestamp  looseString    `json:"timestamp"`
	} `json:"bounce"`
	Complaint struct {
		Recipients []sesRecipient `json:"complainedRecipients"`
		Feedback   looseString    `json:"complaintFeedbackType"`
		SubType    looseString    `json:"complaintSubType"`
		Timestamp  looseString    `json:"timestamp"`
	} `json:"complaint"`
	Delivery struct {
		Recipients []looseString `json:"recipients"`
		Response   looseString   `json:"smtpResponse"`
		Timestamp  looseString   `json:"timestamp"`
	} `json:"delivery"`
	Delay struct {
		Type       looseString    `json:"delayType"`
		Recipients []sesRecipient `json:"delayedRecipients"`
		Timestamp  looseString    `json:"timestamp"`
	} `json:"deliveryDelay"`
	Reject struct {
		Reason looseString `json:"reason"`
	} `json:"reject"`
	Failure struct {
		Message looseString `json:"errorMessage"`
	} `json:"failure"`
	Open  sesFetch `json:"open"`
	Click sesFetch `json:"click"`
}

type sesRecipient struct {
	Address    looseString `json:"emailAddress"`
	Status     looseString `json:"status"`
	Diagnostic looseString `json:"diagnosticCode"`
}

type sesFetch struct {
	IPAddress looseString `json:"ipAddress"`
	UserAgent looseString `json:"userAgent"`
	Timestamp looseString `json:"timestamp"`
	Link      looseString `json:"link"`
}

// ReadSES parses the Message of an SNS notification of Amazon SES: bounces, complaints,
// deliveries, delays, rejections, opens and clicks, from event publishing or feedback
// notifications, one report for each recipient. id is the notification's MessageId. Other types
// are ignored. Error: CodeInvalidPayload.
func ReadSES(id string, message []byte) ([]Report, error) {
	var m sesReport
	if err := decodeReport(message, &m); err != nil {
		return nil, err
	}
	base := Report{Source: app.SourceSES, ProviderID: string(m.Mail.MessageID), AcceptedBy: isoTime(m.Mail.Timestamp)}
	base.EmailID, base.MessageID = m.named()
	out := m.reports(base)
	for i := range out {
		out[i].ID = reportID(looseString(id), string(out[i].Kind), out[i].Recipient)
	}
	return out, nil
}

// named returns the ids in the header of the mail. If it has several email ids, one is forged:
// both results are empty then, and only SES's own id identifies the email.
func (m *sesReport) named() (emailID, messageID string) {
	messageID = bareMessageID(m.Mail.Common.MessageID)
	ids := 0
	for _, h := range m.Mail.Headers {
		switch {
		case strings.EqualFold(string(h.Name), app.EmailIDHeader):
			emailID = strings.TrimSpace(string(h.Value))
			ids++
		case strings.EqualFold(string(h.Name), "Message-ID"):
			messageID = bareMessageID(h.Value)
		}
	}
	if ids > 1 {
		return "", ""
	}
	return emailID, messageID
}

func (m *sesReport) reports(base Report) []Report {
	kind := m.Event
	if kind == "" {
		kind = m.Notification
	}
	switch kind {
	case "Bounce":
		base.Kind, base.At, base.SubType = Bounced, isoTime(m.Bounce.Timestamp), string(m.Bounce.SubType)
		base.Bounce = sesBounceType(m.Bounce.Type)
		return sesEach(base, m.Bounce.Recipients)
	case "Complaint":
		if m.Complaint.Feedback == "not-spam" { // the opposite of a complaint
			return nil
		}
		base.Kind, base.At, base.SubType = Complained, isoTime(m.Complaint.Timestamp), string(m.Complaint.SubType)
		base.Diagnostic = string(m.Complaint.Feedback)
		return sesEach(base, m.Complaint.Recipients)
	case "Delivery":
		base.Kind, base.At, base.Diagnostic = Delivered, isoTime(m.Delivery.Timestamp), string(m.Delivery.Response)
		return sesNamed(base, m.Delivery.Recipients)
	case "DeliveryDelay":
		base.Kind, base.At, base.SubType = Delayed, isoTime(m.Delay.Timestamp), string(m.Delay.Type)
		return sesEach(base, m.Delay.Recipients)
	case "Send":
		base.Kind, base.At = Accepted, base.AcceptedBy
		return sesNamed(base, m.Mail.Destination)
	case "Reject":
		base.Kind, base.Diagnostic = Failed, string(m.Reject.Reason)
		return []Report{base}
	case "Rendering Failure":
		base.Kind, base.Diagnostic = Failed, string(m.Failure.Message)
		return []Report{base}
	case "Open":
		return m.fetched(base, Opened, m.Open)
	case "Click":
		return m.fetched(base, Clicked, m.Click)
	}
	return nil
}

func sesBounceType(t looseString) app.BounceType {
	switch t := app.BounceType(t); t {
	case app.BouncePermanent, app.BounceTransient:
		return t
	}
	return app.BounceUndetermined
}

// sesEach returns a report for each recipient, or one about the email without recipients.
func sesEach(base Report, recipients []sesRecipient) []Report {
	if len(recipients) == 0 {
		return []Report{base}
	}
	var out []Report
	for _, r := range recipients {
		f := base
		f.Recipient = string(r.Address)
		if r.Diagnostic != "" {
			f.Diagnostic = string(r.Diagnostic)
		}
		if f.Enhanced = codeOf(r.Status, r.Diagnostic); f.Kind == Bounced {
			e := f.evidence()
			if f.Bounce == app.BounceUndetermined { // Amazon does not know the reason
				e.Temporary = false
			}
			e.Status, e.Reply = "", string(r.Diagnostic)
			f.classifyQuoted(r.Status, e)
		}
		out = append(out, f)
	}
	return out
}

func sesNamed(base Report, addresses []looseString) []Report {
	recipients := make([]sesRecipient, len(addresses))
	for i, a := range addresses {
		recipients[i].Address = a
	}
	return sesEach(base, recipients)
}

// fetched returns a report of an open or click. SES does not name the recipient.
func (m *sesReport) fetched(base Report, kind Kind, f sesFetch) []Report {
	base.Kind, base.At, base.IPAddress, base.UserAgent, base.Link = kind, isoTime(f.Timestamp), string(f.IPAddress), string(f.UserAgent), string(f.Link)
	if len(m.Mail.Destination) == 1 {
		base.Recipient = string(m.Mail.Destination[0])
	}
	return []Report{base}
}
