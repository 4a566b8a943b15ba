package feedback

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/mailbox"
	"mailer/app/rules/bounce"
)

// readDeliveryStatus parses the groups of a delivery status (RFC 3464 2.1): the first is about the
// message, each further one about a recipient. ok is false if no group is about a recipient.
func (p *bounceParts) readDeliveryStatus(b []byte) (reports []Claim, ok bool) {
	groups := readGroups(b, maxBounceGroups)
	recipients := 0
	for _, group := range groups {
		if len(namedIn(group)) > 0 {
			recipients++
		}
	}
	for _, group := range groups {
		named := namedIn(group)
		action, status := parseAction(group), statusOf(group.get("status"))
		if len(named) == 0 && action == "" && status == "" {
			continue
		}
		ok = true
		if r, found := p.recipientReport(group, action, status, recipients < 2); found {
			r.Addresses = named
			reports = append(reports, r)
		}
	}
	return reports, ok
}

// recipientReport classifies a recipient's group. found is false for actions without an outcome
// (relayed, expanded). only: there is no other recipient, so the message's text is about this one.
func (p *bounceParts) recipientReport(group fields, action, status string, only bool) (r Claim, found bool) {
	words := diagnosticText(group.get("diagnostic-code"))
	if r.Kind = p.kindOfAction(action, status, words); r.Kind == "" {
		return r, false
	}
	r.Diagnostic, r.Enhanced = firstBytes(words, maxDiagnostic), status
	if r.Kind != Bounced {
		return r, true
	}
	e := bounce.Evidence{Reply: words, Status: status}
	if action == "expired" {
		e.ReportedClass, e.Temporary = bounce.Expired, true
	}
	if r.classify(e); r.Class == bounce.Unknown && words == "" && only {
		if text := beforeCopy(p.text); strings.TrimSpace(text) != "" {
			if e := textEvidence(aroundCode(text), text); status == "" || !bounce.SaysWhy(status) {
				e.Status = status
				r.classify(e)
			}
		}
	}
	if r.Enhanced == "" {
		r.Enhanced = status
	}
	return r, true
}

// actions maps values of Action (RFC 3464 2.3.3), and others in use, to kinds.
var actions = map[string]Kind{
	"failed": Bounced, "failure": Bounced, "fail": Bounced, "expired": Bounced, "bounced": Bounced, "bounce": Bounced, "rejected": Bounced, "undeliverable": Bounced,
	"undelivered": Bounced, "error": Bounced, "permanent": Bounced, "permanent-failure": Bounced, "returned": Bounced, "timeout": Bounced,
	"delayed": Delayed, "delay": Delayed, "deferred": Delayed, "retry": Delayed, "retrying": Delayed, "transient": Delayed, "transient-failure": Delayed, "queued": Delayed,
	"delivered": Delivered, "deliverable": Delivered, "success": Delivered,
	"relayed": "", "expanded": "", "forwarded": "",
}

func parseAction(group fields) string {
	return strings.Trim(firstWord(strings.NewReplacer("(", " ", ";", " ", ",", " ", "\"", " ").Replace(group.get("action"))), ".:")
}

// kindOfAction returns the kind for an action. If the action is missing or unknown, the class of
// the status decides, then the reply text, then the subject.
func (p *bounceParts) kindOfAction(action, status, words string) Kind {
	if kind, ok := actions[action]; ok {
		return kind
	}
	class := firstBytes(status, 1)
	if class == "" {
		class = firstBytes(bounce.StatusIn(words), 1)
	}
	if code := bounce.ReplyIn(words); class == "" && code != 0 {
		class = map[int]string{4: "4", 5: "5"}[code/100]
	}
	switch class {
	case "2":
		return Delivered
	case "4":
		if subject, _ := readSubject(p.header.subject()); subject == "failed" {
			return Bounced
		}
		return Delayed
	case "5":
		return Bounced
	}
	switch subject, _ := readSubject(p.header.subject()); {
	case subject == "delayed":
		return Delayed
	case subject == "failed" && (action != "" || words != ""):
		return Bounced
	}
	return ""
}

// statusOf returns the enhanced code in a Status (RFC 3464 2.3.4), which may contain other text;
// empty: none.
func statusOf(s string) string {
	if word := strings.Trim(firstWord(s), "#();,."); app.IsEnhancedCode(word) {
		return word
	}
	if found := bounce.StatusIn(firstBytes(s, 100)); found != "" {
		return found
	}
	word := strings.Trim(firstWord(s), "#();,.")
	switch class, subject, _ := strings.Cut(word, "."); {
	case class != "2" && class != "4" && class != "5" || len(class) != 1:
		return ""
	case app.IsEnhancedCode(word + ".0"):
		return word + ".0"
	case subject == "":
		return class + ".0.0"
	}
	return ""
}

// namedIn returns the addresses of a recipient's group.
func namedIn(group fields) (named []string) {
	for _, name := range []string{"original-recipient", "final-recipient", "x-actual-recipient"} {
		for _, address := range typedAddress(group.get(name)) {
			if !slices.Contains(named, address) {
				named = append(named, address)
			}
		}
	}
	return named
}

// typedAddress parses "rfc822; user@example.com" (RFC 3464 2.1.2) or "utf-8; …" (RFC 6533 3),
// with or without type, quotes, angle brackets and xtext (RFC 3461 4). nil: no mailbox.
func typedAddress(s string) (named []string) {
	s = strings.Trim(decodeWords(firstBytes(s, maxBounceValue)), " \t\"")
	if kind, after, found := strings.Cut(s, ";"); found && !strings.Contains(kind, "@") {
		s = strings.Trim(after, " \t\"")
	}
	if from := strings.LastIndexByte(s, '<'); from >= 0 { // after a name
		if to := strings.IndexByte(s[from:], '>'); to > 0 {
			s = s[from+1 : from+to]
		}
	}
	for _, form := range []string{s, decodeEmbedded(s), decodeXtext(s)} {
		if address := plainAddress(form); address != "" && !slices.Contains(named, address) {
			named = append(named, address)
		}
	}
	return named
}

// decodeEmbedded decodes \x{E9}, a character in addresses (RFC 6533 3).
func decodeEmbedded(s string) string {
	if !strings.Contains(s, `\x{`) {
		return s
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, `\x{`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		code, rest, closed := strings.Cut(after, "}")
		n, err := strconv.ParseUint(code, 16, 21)
		if !closed || err != nil {
			return ""
		}
		out.WriteRune(rune(n))
		s = rest
	}
}

// decodeXtext decodes "+2B", a character in xtext (RFC 3461 4).
func decodeXtext(s string) string {
	if !strings.Contains(s, "+") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		high, low := hexAt(s, i+1), hexAt(s, i+2)
		if s[i] == '+' && high >= 0 && low >= 0 {
			out = append(out, byte(high<<4|low))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// plainAddress returns the key of a mailbox as text; empty: invalid.
func plainAddress(s string) string {
	s = strings.Trim(s, " \t<>")
	if len(s) > mailbox.MaxLength || !strings.Contains(s, "@") {
		return ""
	}
	at := strings.LastIndexByte(s, '@')
	local, domain := s[:at], s[at+1:]
	if quoted := len(local) > 2 && local[0] == '"' && local[len(local)-1] == '"'; local == "" || domain == "" || !quoted && strings.ContainsAny(local, " \t,;@\"") || strings.ContainsAny(domain, " \t,;\"") {
		return ""
	}
	return app.KeyOf(local + "@" + domain).String()
}

// diagnosticText returns a Diagnostic-Code (RFC 3464 2.3.6) without its type, on one line.
func diagnosticText(s string) string {
	s = decodeWords(s)
	if kind, after, found := strings.Cut(s, ";"); found && !strings.ContainsAny(strings.TrimSpace(kind), " \t.@") {
		s = after
	}
	return bounceLine(s)
}

// bounceLine returns untrusted text as one printable line.
func bounceLine(s string) string {
	return strings.Join(strings.Fields(app.OneLine(strings.ToValidUTF8(s, " "))), " ")
}

// firstBytes cuts s after at most n bytes without splitting a character.
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
