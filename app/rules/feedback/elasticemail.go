package feedback

import (
	"mailer/app"
	"mailer/app/rules/bounce"
)

// elasticEmail is written after "Notification settings" (help.elasticemail.com, article 4804685),
// read in November 2026. Elastic Email neither signs nor sends credentials. It reports the header
// X-ElasticEmail-Postback of a message as "postback", if the account allows custom headers.
var elasticEmail = Provider{
	Source: "elasticemail", Name: "Elastic Email", Proof: ProofURL, read: readElasticEmail, relayDomains: []string{"elasticemail.com"},
	Hosts: []SMTPHost{{"smtp.elasticemail.com", ""}}, SPF: "include:_spf.elasticemail.com", IDHeader: headerNamed("X-ElasticEmail-Postback"),
}

// elasticBounces are the categories of errors. Others are unknown.
var elasticBounces = map[string]struct {
	bounce  app.BounceType
	subType string
}{
	"NoMailbox":            {app.BouncePermanent, bounce.NoEmail},
	"Spam":                 {app.BounceTransient, bounce.ContentRejected},
	"BlackListed":          {app.BounceTransient, bounce.ContentRejected},
	"ContentFilter":        {app.BounceTransient, bounce.ContentRejected},
	"SPFProblem":           {app.BounceTransient, bounce.ContentRejected},
	"WhitelistingProblem":  {app.BounceTransient, bounce.ContentRejected},
	"AccountProblem":       {app.BounceTransient, bounce.General},
	"CodeError":            {app.BounceTransient, bounce.General},
	"ConnectionProblem":    {app.BounceTransient, bounce.General},
	"ConnectionTerminated": {app.BounceTransient, bounce.General},
	"DNSProblem":           {app.BounceTransient, bounce.General},
	"GreyListed":           {app.BounceTransient, bounce.General},
	"Throttled":            {app.BounceTransient, bounce.General},
	"Timeout":              {app.BounceTransient, bounce.General},
}

// readElasticEmail parses a notification of Elastic Email: the parameters of one event, of the URL or
// as a form. Error: CodeInvalidPayload.
func readElasticEmail(body []byte) (out Reading, err error) {
	m, err := decodeFields(body)
	if err != nil {
		return out, err
	}
	f := Report{EmailID: m["postback"], ProviderID: m["messageid"], Recipient: m["to"], At: anyTime(m["date"]), Link: m["target"]}
	known := true
	switch m["status"] {
	case "Sent": // accepted by the receiving server
		f.Kind = Delivered
	case "Opened":
		f.Kind = Opened
	case "Clicked":
		f.Kind = Clicked
	case "AbuseReport":
		f.Kind = Complained
	case "Error", "Bounced":
		switch category := m["category"]; category {
		case "Ignore", "ManualCancel", "NotDelivered":
			f.Kind = Failed
		default:
			class := elasticBounces[category]
			if class.bounce == "" {
				class.bounce = app.BounceUndetermined
			}
			f.bounced(class.bounce, class.subType, "", "")
		}
		f.Diagnostic = m["category"]
	default:
		known = false
	}
	out.add(f, known)
	return out, nil
}
