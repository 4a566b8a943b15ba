package feedback

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/mailbox"
)

// readDeliveryStatus reads the groups of a delivery status (RFC 3464 2.1): the
// first speaks of the message, each further one of a recipient. ok is false
// where no group speaks of a recipient.
func readDeliveryStatus(b []byte) (reports []Claim, ok bool) {
	for _, group := range readGroups(b, maxBounceGroups) {
		named := namedIn(group)
		action, status := firstWord(group.get("action")), firstWord(group.get("status"))
		if len(named) == 0 && action == "" && status == "" {
			continue
		}
		ok = true
		if r, tells := recipientReport(group, action, status); tells {
			r.Named = named
			reports = append(reports, r)
		}
	}
	return reports, ok
}

// recipientReport judges a recipient's group; tells is false for actions that say
// nothing of the outcome (relayed, expanded).
func recipientReport(group fields, action, status string) (r Claim, tells bool) {
	if !app.IsEnhancedCode(status) {
		status = ""
	}
	if r.Kind = kindOfAction(action, status); r.Kind == "" {
		return r, false
	}
	words := diagnosticText(group.get("diagnostic-code"))
	r.Diagnostic, r.Enhanced = firstBytes(words, maxDiagnostic), status
	if r.Kind == Bounced {
		r.Bounce, r.SubType, r.Enhanced = judgeBounce(status, words)
	}
	return r, true
}

// kindOfAction is what an action (RFC 3464 2.3.3) means for the email. Where it
// is missing, the class of the status stands in.
func kindOfAction(action, status string) Kind {
	if action == "" && status != "" {
		action = map[byte]string{'2': "delivered", '4': "delayed", '5': "failed"}[status[0]]
	}
	switch action {
	case "failed":
		return Bounced
	case "delayed":
		return Delayed
	case "delivered":
		return Delivered
	}
	return ""
}

// namedIn returns the addresses of a recipient's group.
func namedIn(group fields) (named []string) {
	for _, name := range []string{"original-recipient", "final-recipient"} {
		if address := typedAddress(group.get(name)); address != "" && !slices.Contains(named, address) {
			named = append(named, address)
		}
	}
	return named
}

// typedAddress reads "rfc822; user@example.com" (RFC 3464 2.1.2), with or without
// type and angle brackets; empty: no mailbox.
func typedAddress(s string) string {
	if _, after, found := strings.Cut(s, ";"); found {
		s = after
	}
	return plainAddress(s)
}

// plainAddress returns the key of a mailbox, as a text; empty for what is none.
func plainAddress(s string) string {
	s = strings.Trim(s, " \t<>")
	if len(s) > mailbox.MaxLength || strings.Count(s, "@") != 1 || strings.ContainsAny(s, " \t,;") || s[0] == '@' || s[len(s)-1] == '@' {
		return ""
	}
	return app.KeyOf(s).String()
}

// diagnosticText takes the type off a Diagnostic-Code (RFC 3464 2.3.6) and makes
// a line of it.
func diagnosticText(s string) string {
	if kind, after, found := strings.Cut(s, ";"); found && !strings.ContainsAny(strings.TrimSpace(kind), " \t.@") {
		s = after
	}
	return bounceLine(s)
}

// bounceLine is foreign text as one printable line.
func bounceLine(s string) string {
	return strings.Join(strings.Fields(app.OneLine(strings.ToValidUTF8(s, " "))), " ")
}

// firstBytes cuts s after at most n bytes and splits no rune.
func firstBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " ")
}

func firstWord(s string) string {
	if words := strings.Fields(s); len(words) > 0 {
		return strings.ToLower(words[0])
	}
	return ""
}
