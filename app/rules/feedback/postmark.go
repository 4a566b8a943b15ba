package feedback

import (
	"cmp"

	"mailer/app"
)

// postmark replaces the Message-ID and reports no headers, so its mail carries metadata.
var postmark = Provider{
	Source: app.SourcePostmark, Name: "Postmark", Proof: ProofURL, read: readPostmark, relayDomains: []string{"postmarkapp.com"},
	Hosts: []SMTPHost{{"smtp.postmarkapp.com", ""}}, SPF: "include:spf.mtasv.net", IDHeader: headerNamed("X-PM-Metadata-" + app.EmailIDKey),
}

// postmarkReport is a webhook request of Postmark.
type postmarkReport struct {
	Record    looseString            `json:"RecordType"`
	ID        looseString            `json:"ID"`
	Type      looseString            `json:"Type"`
	MessageID looseString            `json:"MessageID"`
	Email     looseString            `json:"Email"`     // in bounces and complaints
	Recipient looseString            `json:"Recipient"` // in all others
	Details   looseString            `json:"Details"`
	Words     looseString            `json:"Description"`
	BouncedAt looseString            `json:"BouncedAt"`
	Delivered looseString            `json:"DeliveredAt"`
	Received  looseString            `json:"ReceivedAt"`
	Metadata  map[string]looseString `json:"Metadata"`
	UserAgent looseString            `json:"UserAgent"`
	Link      looseString            `json:"OriginalLink"`
	Geo       struct {
		IP looseString `json:"IP"`
	} `json:"Geo"`
}

// postmarkBounces are Postmark's types of bounce. Other types are replies of people and programs,
// or unknown.
var postmarkBounces = map[looseString]struct {
	kind    Kind
	bounce  app.BounceType
	subType string
}{
	"HardBounce":              {Bounced, app.BouncePermanent, "NoEmail"}, // an address that does not exist
	"BadEmailAddress":         {Bounced, app.BouncePermanent, "NoEmail"},
	"Transient":               {Delayed, "", ""},
	"SoftBounce":              {Bounced, app.BounceTransient, "General"},
	"DnsError":                {Bounced, app.BounceTransient, "General"},
	"Blocked":                 {Bounced, app.BounceTransient, "ContentRejected"},
	"SpamNotification":        {Bounced, app.BounceTransient, "ContentRejected"},
	"VirusNotification":       {Bounced, app.BounceTransient, "AttachmentRejected"},
	"DMARCPolicy":             {Bounced, app.BounceTransient, "ContentRejected"},
	"Unknown":                 {Bounced, app.BounceUndetermined, "Undetermined"},
	"SpamComplaint":           {Complained, "", ""},
	"ManuallyDeactivated":     {Failed, "", ""},
	"SMTPApiError":            {Failed, "", ""},
	"TemplateRenderingFailed": {Failed, "", ""},
}

// readPostmark parses a Postmark webhook request: one report. Other records are ignored. Error:
// CodeInvalidPayload.
func readPostmark(body []byte) (out Reading, err error) {
	var m postmarkReport
	if err := decodeReport(body, &m); err != nil {
		return out, err
	}
	f := Report{ProviderID: string(m.MessageID), Recipient: string(cmp.Or(m.Email, m.Recipient)),
		UserAgent: string(m.UserAgent), IPAddress: string(m.Geo.IP), Link: string(m.Link)}
	f.EmailID = emailIDIn(m.Metadata)
	known := m.report(&f)
	f.ID = reportID(m.ID, string(m.Type), string(m.MessageID), f.Recipient)
	out.add(f, known)
	return out, nil
}

// report sets the event and returns false for records that are ignored.
func (m *postmarkReport) report(f *Report) bool {
	switch m.Record {
	case "Delivery":
		f.Kind, f.At, f.Diagnostic = Delivered, isoTime(m.Delivered), string(m.Details)
	case "Open":
		f.Kind, f.At = Opened, isoTime(m.Received)
	case "Click":
		f.Kind, f.At = Clicked, isoTime(m.Received)
	case "SpamComplaint":
		f.Kind, f.At = Complained, isoTime(m.BouncedAt)
	case "Bounce", "": // older ones have no type
		known, ok := postmarkBounces[m.Type]
		if !ok {
			return false
		}
		f.Kind, f.Bounce, f.SubType, f.At = known.kind, known.bounce, known.subType, isoTime(m.BouncedAt)
		if f.Diagnostic = string(m.Details); m.Details == "" {
			f.Diagnostic = string(m.Words)
		}
		if f.Enhanced = codeOf("", m.Details); f.Kind == Bounced {
			e := f.evidence()
			if f.Bounce == app.BounceUndetermined { // Postmark does not know the reason
				e.Temporary = false
			}
			if e.Reply = string(m.Details); e.ReportedClass == "" && e.Reply == "" {
				e.Reply = string(m.Words)
			}
			f.classifyQuoted("", e)
		}
	default:
		return false
	}
	return true
}
