package verdict

import (
	"strings"

	"mailer/app"
)

// mailboxCodes are the codes of bounces by the enhanced status codes that speak for
// themselves, without their class (RFC 3463 3, RFC 7372, RFC 7505).
var mailboxCodes = map[string]Code{
	"1.1": BouncedUnknownUser, "1.6": BouncedUnknownUser,
	"1.2": BouncedNoDomain, "1.10": BouncedNoDomain, "7.27": BouncedSender,
	"1.3": BouncedBadAddress,
	"1.7": BouncedSender, "1.8": BouncedSender,
	"2.1": BouncedDisabled,
	"2.2": BouncedFull,
	"2.3": BouncedTooLarge, "3.4": BouncedTooLarge,
	"7.20": BouncedAuthentication, "7.21": BouncedAuthentication, "7.22": BouncedAuthentication, "7.23": BouncedAuthentication,
	"7.24": BouncedAuthentication, "7.25": BouncedAuthentication, "7.26": BouncedAuthentication,
}

// wordCodes sort refusals by their words, where no code says more. The first row that
// fits counts.
var wordCodes = []struct {
	code  Code
	words []string
}{
	{BouncedRelaying, []string{"relay access denied", "relaying denied", "relay not permitted", "unable to relay", "not permitted to relay", "relay denied"}},
	{BouncedAuthentication, []string{"dmarc", "dkim", "spf ", "spf:", "unauthenticated", "sender policy"}},
	{BouncedSpam, []string{"spam", "blocklist", "block list", "blacklist", "blocked", "denylist", "reputation", "spamhaus", "listed"}},
}

// subTypeCodes sort by the word of a report, where neither code nor words do.
var subTypeCodes = map[string]Code{
	"NoEmail": BouncedUnknownUser, "MailboxFull": BouncedFull, "MessageTooLarge": BouncedTooLarge, "ContentRejected": BouncedContent,
	"Suppressed": BouncedProviderList, "OnAccountSuppressionList": BouncedProviderList,
}

// bounce is the code of a bounce.
func bounce(d *app.EventDetail) Code {
	subject, detail := subjectOf(d.EnhancedCode)
	if c := subTypeCodes[d.BounceSubType]; c == BouncedProviderList {
		return c
	}
	if c, ok := mailboxCodes[subject+"."+detail]; ok {
		return c
	}
	words := strings.ToLower(d.Diagnostic + " " + d.Reply)
	if subject == "7" || subject == "" || subject == "0" {
		if c := byWords(words); c != "" {
			return c
		}
	}
	if c, ok := subTypeCodes[d.BounceSubType]; ok {
		return c
	}
	switch subject {
	case "4":
		return BouncedUnreachable
	case "6":
		return BouncedContent
	case "7":
		return BouncedPolicy
	}
	if d.ReplyCode == 552 && subject == "" {
		return BouncedFull
	}
	return BouncedOther
}

func byWords(words string) Code {
	for _, row := range wordCodes {
		for _, w := range row.words {
			if strings.Contains(words, w) {
				return row.code
			}
		}
	}
	return ""
}

// deferral is the code of a refusal for now.
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
