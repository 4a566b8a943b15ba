package feedback

import "mailer/app"

// Provider is a provider that accepts mail by SMTP and reports what happened to it. A new provider
// needs a row in providers and a source in app.FeedbackSources.
type Provider struct {
	source string // of its reports, and its name in /ingest/{provider}
	// relayDomain is the organizational domain of its SMTP hosts; empty: not recognised by host.
	relayDomain string
	// SPF is the mechanism that the provider documents for mail sent through those hosts.
	SPF string
	// IDHeader returns the header that makes the provider's reports name the email; nil: they
	// contain all headers, or the Message-ID.
	IDHeader func(emailID string) app.Header
	// read parses the reports; nil: they have an endpoint of their own.
	read func(body []byte) ([]Report, error)
}

var providers = [...]Provider{
	{source: app.SourceSES, SPF: "include:amazonses.com"}, // recognised by relayurl.ProfileSES; ReadSES reads
	{source: app.SourcePostmark, relayDomain: "postmarkapp.com", SPF: "include:spf.mtasv.net", IDHeader: postmarkID, read: readPostmark},
	{source: app.SourceMailgun, relayDomain: "mailgun.org", SPF: "include:mailgun.org", IDHeader: mailgunID, read: readMailgun},
	{source: app.SourceSendgrid, relayDomain: "sendgrid.net", SPF: "include:sendgrid.net", IDHeader: sendgridID, read: readSendgrid},
	{source: app.SourceGeneric, read: readGeneric},
}

// ProviderByHost returns the provider with an SMTP host; the zero value: unknown.
func ProviderByHost(host string) Provider {
	domain := app.OrganizationalDomain(host)
	for _, p := range providers {
		if p.relayDomain != "" && p.relayDomain == domain {
			return p
		}
	}
	return Provider{}
}

// ProviderBySource returns the provider with a source; the zero value: unknown.
func ProviderBySource(source string) Provider {
	for _, p := range providers {
		if p.source == source {
			return p
		}
	}
	return Provider{}
}

// postmarkID returns metadata: Postmark replaces the Message-ID and reports no headers.
func postmarkID(emailID string) app.Header {
	return app.Header{Name: "X-PM-Metadata-" + app.EmailIDKey, Value: emailID}
}

// mailgunID returns variables: Mailgun reports only the Message-ID, and raw messages have their
// own.
func mailgunID(emailID string) app.Header {
	return app.Header{Name: "X-Mailgun-Variables", Value: `{"` + app.EmailIDKey + `":"` + emailID + `"}`}
}

// sendgridID returns unique arguments: SendGrid omits the Message-ID of opens, clicks and
// complaints.
func sendgridID(emailID string) app.Header {
	return app.Header{Name: "X-SMTPAPI", Value: `{"unique_args":{"` + app.EmailIDKey + `":"` + emailID + `"}}`}
}
