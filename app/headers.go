package app

import (
	"maps"
	"mime"
	"net/url"
	"sort"
	"strings"
	"unicode/utf8"

	"mailer/app/kit/htmltext"
	"mailer/app/kit/mailbox"
)

// The unsubscribe headers in lower case (RFC 2369 3.2, RFC 8058), and the only allowed value of
// the second.
const (
	ListUnsubscribe     = "list-unsubscribe"
	listUnsubscribePost = "list-unsubscribe-post"
	OneClick            = "List-Unsubscribe=One-Click"
)

// headerRule says how a custom header is handled.
type headerRule byte

const (
	headerRefused   headerRule = iota
	headerText                 // free text, encoded if it is not ASCII
	headerPlain                // structured, without encoded words (RFC 2047 5)
	headerRedundant            // must repeat a field of the send
	headerIgnored              // ignored: the message has its own
)

// headerRules are the rules of both modes by header name in lower case.
var headerRules = map[string]headerRule{
	"comments": headerText, "keywords": headerText, "organization": headerText, "x-mailer": headerText,
	"in-reply-to": headerPlain, "references": headerPlain, "importance": headerPlain, "priority": headerPlain,
	ListUnsubscribe: headerPlain, listUnsubscribePost: headerPlain,
	"reply-to": headerRedundant,
}

// compatRules are additional rules of CompatResend. With CompatResend, a header that is neither in
// a table nor begins with one of compatPrefixes is free text. Headers that only the message, its
// transports or nobody may set are refused.
var compatRules = map[string]headerRule{
	"from": headerRedundant, "to": headerRedundant, "cc": headerRedundant, "subject": headerRedundant,
	"date": headerIgnored, "message-id": headerIgnored, "return-path": headerIgnored, "sender": headerIgnored,
	"auto-submitted": headerPlain, "precedence": headerPlain, "feedback-id": headerPlain, "sensitivity": headerPlain,
	"disposition-notification-to": headerPlain, "return-receipt-to": headerPlain,
	"bcc": headerRefused, "mime-version": headerRefused, "received": headerRefused, "received-spf": headerRefused, "delivered-to": headerRefused,
	"dkim-signature": headerRefused, "domainkey-signature": headerRefused, "authentication-results": headerRefused,
}

var compatPrefixes = []struct {
	prefix string
	rule   headerRule
}{{"content-", headerRefused}, {"arc-", headerRefused}, {"resent-", headerRefused}, {"list-", headerPlain}}

// ruleOf returns the rule of a header. lower is its name in lower case.
func ruleOf(lower string, compat Compat) headerRule {
	if InstructsProvider(lower) {
		return headerRefused
	}
	if rule, ok := headerRules[lower]; ok {
		return rule
	}
	if strings.HasPrefix(lower, "x-") && len(lower) > 2 {
		return headerText
	}
	if compat != CompatResend {
		return headerRefused
	}
	if rule, ok := compatRules[lower]; ok {
		return rule
	}
	for _, w := range compatPrefixes {
		if strings.HasPrefix(lower, w.prefix) {
			return w.rule
		}
	}
	return headerText
}

// headers checks the custom headers and stores those that the message will have in m, sorted by
// name: those that ruleOf allows, each once, with the unsubscribe headers only together (RFC 8058
// 3.1). A header with an empty value is absent. The fields that headers may repeat must be set in
// m.
func (in *EmailInput) headers(m *Mail) error {
	if len(in.Headers) > MaxHeaders {
		return Invalid("headers", "must not hold more than %d headers", MaxHeaders)
	}
	seen := make(map[string]string, len(in.Headers))
	for _, name := range SortedKeys(in.Headers) { // sorted, so that the first error is always the same
		value, keep, err := in.header(m, name)
		if err != nil {
			return err
		}
		lower := strings.ToLower(name)
		if _, twice := seen[lower]; twice {
			return Invalid("headers."+name, "is given twice")
		}
		seen[lower] = value
		if keep && value != "" {
			m.Headers = append(m.Headers, Header{Name: name, Value: value})
		}
	}
	sort.Slice(m.Headers, func(i, j int) bool {
		return strings.ToLower(m.Headers[i].Name) < strings.ToLower(m.Headers[j].Name)
	})
	return in.unsubscribePair(seen)
}

// header checks one custom header. keep reports whether the message will have it.
func (in *EmailInput) header(m *Mail, name string) (value string, keep bool, err error) {
	if !isFieldName(name) {
		return "", false, Invalid("headers", "has a name that is not 1 to %d ASCII letters, digits, dashes, dots and underscores, the first a letter", maxHeaderName)
	}
	field, lower := "headers."+name, strings.ToLower(name)
	value = strings.Trim(in.Headers[name], " ")
	rule := ruleOf(lower, in.Compat)
	switch {
	case rule == headerRefused && InstructsProvider(lower):
		return "", false, Invalid(field, "is an order to a mail provider, which only this server may give")
	case rule == headerRefused:
		return "", false, Invalid(field, "is not a header that can be set")
	case !utf8.ValidString(value):
		return "", false, Invalid(field, "must be valid UTF-8")
	case HasControl(value):
		return "", false, Invalid(field, "must not contain line breaks or other control characters")
	case rule == headerRedundant:
		return value, false, m.isRedundant(lower, field, value)
	case len(value) > maxHeaderValue:
		return "", false, Invalid(field, "must not be longer than %d bytes", maxHeaderValue)
	case longestPiece(value) > maxHeaderPiece && (rule == headerPlain || IsASCII(value)):
		return "", false, Invalid(field, "must not hold more than %d bytes without a single blank, at which the line can be folded", maxHeaderPiece)
	case rule == headerPlain && !IsASCII(value):
		return "", false, Invalid(field, "must be plain ASCII")
	}
	return value, rule != headerIgnored, nil
}

// longestPiece returns the length of the longest piece of value without a single blank inside, in
// bytes. Runs of blanks are never folded.
func longestPiece(value string) (longest int) {
	begin := 0
	for i := 1; i+1 < len(value); i++ {
		if value[i] == ' ' && value[i-1] != ' ' && value[i+1] != ' ' {
			longest, begin = max(longest, i-begin), i+1
		}
	}
	return max(longest, len(value)-begin)
}

// isRedundant checks a header that repeats a field of the send. A Reply-To sets the field if the
// send has none.
func (m *Mail) isRedundant(lower, field, value string) error {
	if value == "" {
		return nil
	}
	if lower == "subject" {
		if decoded, err := new(mime.WordDecoder).DecodeHeader(value); value != strings.Trim(m.Subject, " ") && (err != nil || decoded != m.Subject) {
			return Invalid(field, "says another subject than `subject`: leave the header out")
		}
		return nil
	}
	list, err := parseRedundant(field, value)
	if err != nil {
		return err
	}
	fields := map[string][]Address{"from": {m.From}, "to": m.To, "cc": m.Cc, "reply-to": m.ReplyTo}[lower]
	if lower == "reply-to" && len(fields) == 0 {
		m.ReplyTo = list
		return nil
	}
	if !sameMailboxes(list, fields) {
		return Invalid(field, "names other addresses than `%s`: leave the header out", strings.ReplaceAll(lower, "-", "_"))
	}
	return nil
}

// parseRedundant parses the addresses of a header.
func parseRedundant(field, value string) (list []Address, err error) {
	parts := mailbox.Split(value, ",")
	if len(parts) > MaxRecipients {
		return nil, Invalid(field, "must not hold more than %d addresses", MaxRecipients)
	}
	for _, part := range parts {
		a, err := ParseAddress(part)
		if err != nil {
			return nil, Invalid(field, "%v", err)
		}
		list = append(list, a)
	}
	return list, nil
}

// sameMailboxes compares two lists of mailboxes, ignoring order and display names.
func sameMailboxes(a, b []Address) bool {
	keys := func(list []Address) map[AddressKey]bool {
		set := make(map[AddressKey]bool, len(list))
		for _, a := range list {
			set[a.Key()] = true
		}
		return set
	}
	return maps.Equal(keys(a), keys(b))
}

// NamesReplyTo reports whether a header of the send sets its reply_to.
func (in *EmailInput) NamesReplyTo() bool {
	for name, value := range in.Headers {
		if strings.EqualFold(name, "Reply-To") && strings.Trim(value, " ") != "" {
			return true
		}
	}
	return false
}

// isFieldName accepts fewer names than RFC 5322 3.6.8: a semicolon ends the list of names in a
// signature, and parsers disagree about parentheses and quotes. Names are short enough never to
// need folding.
func isFieldName(s string) bool {
	if s == "" || len(s) > maxHeaderName || !htmltext.IsLetter(s[0]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !htmltext.IsLetter(c) && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// unsubscribePair checks that both unsubscribe headers are given, or none (RFC 8058 3.1).
// CompatResend allows the first alone (RFC 2369).
func (in *EmailInput) unsubscribePair(byLower map[string]string) error {
	const field = "headers.List-Unsubscribe"
	targets, post := byLower[ListUnsubscribe], byLower[listUnsubscribePost]
	if post != "" && post != OneClick {
		return Invalid(field+"-Post", "must be %s", OneClick)
	}
	if targets != "" {
		secure, err := checkListUnsubscribe(field, targets)
		if err != nil {
			return err
		}
		if !secure && (post != "" || in.Compat != CompatResend) {
			return Invalid(field, "must hold at least one https target")
		}
	}
	switch {
	case targets != "" && post == "" && in.Compat != CompatResend:
		return Invalid(field+"-Post", "is required beside List-Unsubscribe: %s", OneClick)
	case post != "" && targets == "":
		return Invalid(field, "is required beside List-Unsubscribe-Post")
	}
	return nil
}

// checkListUnsubscribe checks a comma-separated list of <https:…> and <mailto:…> (RFC 2369 2).
// secure reports whether one is https, which RFC 8058 3.1 requires.
func checkListUnsubscribe(field, value string) (secure bool, err error) {
	for rest := value; ; {
		target, after, ok := cutTarget(rest)
		if !ok {
			return false, Invalid(field, "must be a list like <https://example.com/u>, <mailto:u@example.com>")
		}
		scheme, ok := unsubscribeScheme(target)
		if !ok {
			return false, Invalid(field, "must hold https and mailto targets only")
		}
		secure = secure || scheme == "https"
		if after == "" {
			return secure, nil
		}
		rest = after
	}
}

// cutTarget splits one <uri> from the front of s, with the comma before the next one.
func cutTarget(s string) (target, rest string, ok bool) {
	s, ok = strings.CutPrefix(strings.TrimLeft(s, " "), "<")
	if !ok {
		return "", "", false
	}
	target, rest, ok = strings.Cut(s, ">")
	if !ok || strings.ContainsAny(target, " <\"") {
		return "", "", false
	}
	rest = strings.Trim(rest, " ")
	if rest == "" {
		return target, "", true
	}
	rest, ok = strings.CutPrefix(rest, ",")
	return target, rest, ok && strings.Trim(rest, " ") != ""
}

func unsubscribeScheme(target string) (string, bool) {
	u, err := url.Parse(target)
	if err != nil {
		return "", false
	}
	switch u.Scheme {
	case "https":
		return u.Scheme, u.Hostname() != ""
	case "mailto":
		return u.Scheme, strings.Contains(u.Opaque, "@")
	}
	return "", false
}
