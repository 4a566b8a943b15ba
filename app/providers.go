package app

import (
	"slices"
	"strings"
)

// Sources of feedback: some providers, the generic format for others, and the bounce listener. The
// table of all is feedback.Providers.
const (
	SourceSES      = "ses"
	SourcePostmark = "postmark"
	SourceMailgun  = "mailgun"
	SourceSendgrid = "sendgrid"
	SourceGeneric  = "generic"
	BounceSource   = "bounce"
)

// EmailIDKey is the name of the email's id in the metadata of providers that report metadata but
// no headers.
const EmailIDKey = "mailer-email-id"

// providerHeaderPrefixes are prefixes, in lower case, of headers that instruct providers: further
// recipients, streams, pools, schedules. Callers can't set them with any relay, since the relay
// may change. They include our headers that identify reports.
var providerHeaderPrefixes = [...]string{
	"x-ses-", "x-amz-", "x-mailer-", "x-smtpapi", "x-sg-", "x-pm-", "x-postmark-", "x-mailgun-", "x-mc-", "x-msys-", "x-mj-", "x-mailjet-",
	"x-mailin-", "x-sib-", "x-smtp2go-", "x-elastic", "x-apiheader", "x-mt-", "x-mailersend-", "x-zepto", "x-postal-", "x-maileroo-",
	"x-lm-", "x-lettermint-", "x-smtpcom-", "x-xsmailingid", "x-xsmessageid", "x-greenarrow-", "x-virtual-mta", "x-virtualmta", "x-kumo", "x-sparkpost-",
}

// providerHeaderNames are further such headers in lower case, all of Elastic Email.
var providerHeaderNames = [...]string{"poolname", "channelname", "channel", "istransactional", "trackopens", "trackclicks", "postback", "timeoffsetminutes", "encodingtype"}

// InstructsProvider reports whether a header, named in lower case, is one of
// providerHeaderPrefixes or providerHeaderNames.
func InstructsProvider(lower string) bool {
	return slices.Contains(providerHeaderNames[:], lower) || slices.ContainsFunc(providerHeaderPrefixes[:], func(prefix string) bool { return strings.HasPrefix(lower, prefix) })
}
