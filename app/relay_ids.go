package app

import "slices"

// Identify gives a mail for a relay with what has its provider name the email in
// its reports, where the provider would not name it otherwise: Postmark gives
// messages ids of its own and reports no headers, SendGrid leaves the Message-ID
// out of opens, clicks and complaints. Reports of Amazon SES have all headers,
// those of Mailgun the Message-ID.
func (r *Relay) Identify(m *Mail, emailID string) *Mail {
	var h Header
	switch OrganizationalDomain(r.Host) {
	case "postmarkapp.com":
		h = Header{Name: "X-PM-Metadata-" + EmailIDKey, Value: emailID}
	case "sendgrid.net":
		h = Header{Name: "X-SMTPAPI", Value: `{"unique_args":{"` + EmailIDKey + `":"` + emailID + `"}}`}
	default:
		return m
	}
	out := *m
	out.Headers = append(slices.Clip(m.Headers), h)
	return &out
}
