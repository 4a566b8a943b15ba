package app

import (
	"slices"
	"strings"
)

// The sources of feedback (Feedback.Source): providers, the form of our own for
// everybody else, and the listener that bounces come to.
const (
	SourceSES      = "ses"
	SourcePostmark = "postmark"
	SourceMailgun  = "mailgun"
	SourceSendgrid = "sendgrid"
	SourceGeneric  = "generic"
	BounceSource   = "bounce"
)

// EmailIDKey is the name under which providers that report no headers, and let
// the sender attach something of its own, report the email's id.
const EmailIDKey = "mailer-email-id"

// mailProvider is what is known of a company that takes mail by SMTP and reports what
// became of it. To know one more takes a row here and a reader of its reports.
type mailProvider struct {
	source string // of its feedback, and its name in /ingest/{provider}
	// relayDomain is the organizational domain of its submission hosts; empty: none
	// is told by its host.
	relayDomain string
	// spf is the mechanism that it documents for mail handed to those hosts.
	SPF string
	// idHeader makes the header by which its reports name the email; nil: they have
	// all headers, or the Message-ID.
	IDHeader func(emailID string) Header
	// secret: what it posts is proven by a secret in the path. Reports of Amazon SES
	// are signed instead.
	secret bool
}

// providerHeaderPrefixes are the beginnings, in lower case, of the headers that providers
// take orders from: further recipients, streams, pools, schedules. No caller may set
// one, whatever relay is behind, since it may be another tomorrow; ours, by which
// reports are told apart, are among them.
var providerHeaderPrefixes = [...]string{
	"x-ses-", "x-amz-", "x-mailer-", "x-smtpapi", "x-sg-", "x-pm-", "x-postmark-", "x-mailgun-", "x-mc-", "x-msys-", "x-mj-",
	"x-mailin-", "x-sib-", "x-smtp2go-", "x-elastic", "x-apiheader", "x-mt-", "x-mailersend-", "x-zepto", "x-postal-", "x-maileroo-",
	"x-smtpcom-", "x-xsmailingid", "x-xsmessageid", "x-greenarrow-", "x-virtual-mta", "x-virtualmta", "x-kumo", "x-sparkpost-",
}

// providerHeaderNames are such headers, in lower case, that begin with no name of their
// provider: those of Elastic Email.
var providerHeaderNames = [...]string{"poolname", "channelname", "channel", "istransactional", "trackopens", "trackclicks", "postback", "timeoffsetminutes", "encodingtype"}

// InstructsProvider reports whether a header, named in lower case, is one of
// providerHeaderPrefixes or providerHeaderNames.
func InstructsProvider(lower string) bool {
	return slices.Contains(providerHeaderNames[:], lower) || slices.ContainsFunc(providerHeaderPrefixes[:], func(prefix string) bool { return strings.HasPrefix(lower, prefix) })
}

// providers are in the order in which they are listed to the operator.
var providers = [...]mailProvider{
	{source: SourceSES, SPF: "include:amazonses.com"}, // told by ProfileSES
	{source: SourcePostmark, relayDomain: "postmarkapp.com", SPF: "include:spf.mtasv.net", IDHeader: postmarkID, secret: true},
	{source: SourceMailgun, relayDomain: "mailgun.org", SPF: "include:mailgun.org", IDHeader: mailgunID, secret: true},
	{source: SourceSendgrid, relayDomain: "sendgrid.net", SPF: "include:sendgrid.net", IDHeader: sendgridID, secret: true},
	{source: SourceGeneric, secret: true},
}

// postmarkID: Postmark gives messages ids of its own and reports no headers.
func postmarkID(emailID string) Header {
	return Header{Name: "X-PM-Metadata-" + EmailIDKey, Value: emailID}
}

// mailgunID: Mailgun reports the Message-ID, which a message handed in whole brought along.
func mailgunID(emailID string) Header {
	return Header{Name: "X-Mailgun-Variables", Value: `{"` + EmailIDKey + `":"` + emailID + `"}`}
}

// sendgridID: SendGrid leaves the Message-ID out of opens, clicks and complaints.
func sendgridID(emailID string) Header {
	return Header{Name: "X-SMTPAPI", Value: `{"unique_args":{"` + EmailIDKey + `":"` + emailID + `"}}`}
}

// FeedbackSources returns the sources whose reports come with a secret in the path:
// those that Read reads.
func FeedbackSources() (sources []string) {
	for i := range providers {
		if providers[i].secret {
			sources = append(sources, providers[i].source)
		}
	}
	return sources
}

// ProviderByHost returns the provider with a submission host; the zero value: none
// is known.
func ProviderByHost(host string) mailProvider {
	domain := OrganizationalDomain(host)
	for _, p := range providers {
		if p.relayDomain != "" && p.relayDomain == domain {
			return p
		}
	}
	return mailProvider{}
}

// ProviderBySource returns the provider of a source; the zero value: there is none.
func ProviderBySource(source string) mailProvider {
	for _, p := range providers {
		if p.source == source {
			return p
		}
	}
	return mailProvider{}
}
