package verdict

import (
	"strings"

	"mailer/app"
	"mailer/app/rules/bounce"
)

// bounceCodes maps reasons of bounces to codes.
var bounceCodes = map[bounce.Reason]Code{
	bounce.NoMailbox: BouncedUnknownUser, bounce.Moved: BouncedUnknownUser, bounce.Disabled: BouncedDisabled, bounce.BadAddress: BouncedBadAddress,
	bounce.NoDomain: BouncedNoDomain, bounce.NullMX: BouncedNoDomain, bounce.ProviderList: BouncedProviderList,
	bounce.Full: BouncedFull, bounce.TooLarge: BouncedTooLarge, bounce.Rate: BouncedPolicy, bounce.Greylisted: BouncedPolicy,
	bounce.Expired: BouncedUnreachable, bounce.Unreachable: BouncedUnreachable,
	bounce.Spam: BouncedSpam, bounce.Authentication: BouncedAuthentication, bounce.Content: BouncedContent, bounce.Sender: BouncedSender,
	bounce.Relaying: BouncedRelaying, bounce.Policy: BouncedPolicy,
}

// subTypeReasons maps subtypes of bounces to reasons.
var subTypeReasons = map[string]bounce.Reason{
	bounce.NoEmail: bounce.NoMailbox, bounce.MailboxFull: bounce.Full, bounce.MessageTooLarge: bounce.TooLarge, bounce.ContentRejected: bounce.Content,
	"Suppressed": bounce.ProviderList, "OnAccountSuppressionList": bounce.ProviderList,
}

// bounced returns the code of a bounce.
func bounced(d *app.EventDetail) Code {
	class := subTypeReasons[d.BounceSubType]
	if class == bounce.ProviderList {
		return BouncedProviderList
	}
	j := bounce.Classify(bounce.Evidence{Reply: d.Diagnostic + " " + d.Reply, ReplyCode: d.ReplyCode, Status: d.EnhancedCode, ReportedClass: class})
	if code, ok := bounceCodes[j.Reason]; ok {
		return code
	}
	return BouncedOther
}

// deferral returns the code of a deferral.
func deferral(d *app.EventDetail) Code {
	subject, detail := subjectOf(d.EnhancedCode)
	words := strings.ToLower(d.Reply)
	switch {
	case d.ReplyCode == 0 && d.Stage != "":
		return DeferredLost
	case d.ReplyCode >= 500:
		return DeferredRefused
	case strings.Contains(words, "greylist") || strings.Contains(words, "graylist") || strings.Contains(words, "postgrey"):
		return Greylisted
	case subject == "2" && detail == "2":
		return DeferredFull
	case subject == "7" && detail == "28", strings.Contains(words, "too many"), strings.Contains(words, "rate limit"), strings.Contains(words, "throttl"):
		return DeferredRate
	case subject == "4":
		return DeferredUnreachable
	case subject == "7":
		return DeferredPolicy
	}
	return Deferred
}
