// Package mailbox parses mail addresses as people write them.
package mailbox

import (
	"errors"
	"fmt"
	"mime"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of one address, in bytes (RFC 5321 4.5.3.1). MaxInput is checked before any parsing,
// since address parsers can be quadratic.
const (
	MaxInput       = 1000
	maxDisplayName = 255
	MaxLocal       = 64
	MaxLength      = 254 // RFC 5321 4.5.3.1.3, without the angle brackets
)

// Mailbox is an optional display name and an addr-spec whose domain is in
// lower-case A-labels (RFC 5321 4.1.2, RFC 5890).
type Mailbox struct{ Name, Local, Domain string }

// Parse parses a single mailbox (RFC 5322 3.4), `user@host` or `Name <user@host>`. It refuses what
// net/mail accepts although it has misled mail servers: lists, groups, comments, source routes,
// quoted local parts, address literals, names with an @, undotted domains, control characters. A
// name that should have been quoted is accepted if the mailbox is unambiguous (byBrackets).
// Domains are returned as lower-case A-labels. The error does not name a field.
func Parse(s string) (Mailbox, error) {
	if err := checkText(s); err != nil {
		return Mailbox{}, err
	}
	s = strings.Trim(s, " ")
	if m, ok := simple(s); ok {
		return m, nil
	}
	m, err := byGrammar(s)
	if err == nil {
		return m, nil
	}
	return byBrackets(s, err)
}

// Split splits a list of mailboxes, as in a header, at its separators: those outside of quotes and
// angle brackets that have an @ before them. The parts are not parsed.
func Split(list, separators string) (parts []string) {
	begin, quoted, bracket, at := 0, false, false, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<' || c == '>':
			bracket = c == '<'
		case c == '@':
			at = true
		case at && !bracket && strings.IndexByte(separators, c) >= 0:
			parts = append(parts, list[begin:i])
			begin, at = i+1, false
		}
	}
	return append(parts, list[begin:])
}

// byBrackets parses a text that the grammar refused with an error. If it ends in its only
// <user@host> and has no other angle bracket, everything before is the name, including commas,
// parentheses, colons and unpaired quotes. Errors: about the mailbox or the name, otherwise the
// grammar's.
func byBrackets(s string, grammar error) (Mailbox, error) {
	before, spec, ok := strings.Cut(s, "<")
	spec, closed := strings.CutSuffix(spec, ">")
	before = strings.Trim(before, " ")
	if !ok || !closed || before == "" || strings.ContainsAny(spec, "<>") || strings.Contains(before, ">") {
		return Mailbox{}, grammar
	}
	if strings.Contains(before, "@") && strings.ContainsAny(before, ",;:\"") {
		return Mailbox{}, grammar // more likely a list or a group than a name
	}
	local, domain, err := splitAddrSpec(spec)
	if err != nil {
		return Mailbox{}, grammar
	}
	if strings.Contains(before, "=?") {
		if before, err = new(mime.WordDecoder).DecodeHeader(before); err != nil {
			return Mailbox{}, grammar
		}
	}
	name, err := checkDisplayName(before)
	if err != nil {
		return Mailbox{}, err
	}
	return Mailbox{Name: name, Local: local, Domain: domain}, nil
}

// byGrammar parses an address by the full grammar.
func byGrammar(s string) (Mailbox, error) {
	spec, err := addrSpec(s)
	if err != nil {
		return Mailbox{}, err
	}
	parsed, err := mail.ParseAddress(s)
	if err != nil {
		return Mailbox{}, errors.New("is not a valid email address: use user@host or Name <user@host>")
	}
	if parsed.Address != spec { // the two parsers disagree: trust neither
		return Mailbox{}, errors.New("is not a valid email address")
	}
	name, err := checkDisplayName(parsed.Name)
	if err != nil {
		return Mailbox{}, err
	}
	local, domain, err := splitAddrSpec(spec)
	if err != nil {
		return Mailbox{}, err
	}
	return Mailbox{Name: name, Local: local, Domain: domain}, nil
}

// simple parses most addresses at a quarter of the cost: ASCII without quotes, and a name of
// letters, digits and single spaces. Other addresses may be valid too.
func simple(s string) (a Mailbox, ok bool) {
	if !isASCII(s) {
		return a, false
	}
	spec := s
	if strings.HasSuffix(s, ">") {
		a.Name, spec, ok = strings.Cut(s[:len(s)-1], " <")
		if !ok || !isSimpleName(a.Name) {
			return a, false
		}
	}
	var err error
	a.Local, a.Domain, err = splitAddrSpec(spec)
	return a, err == nil
}

func isSimpleName(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9':
		case c != ' ' || i+1 == len(s) || s[i+1] == ' ':
			return false
		}
	}
	return s != "" && len(s) <= maxDisplayName
}

func checkText(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > MaxInput:
		return fmt.Errorf("is longer than %d bytes", MaxInput)
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.ContainsFunc(s, IsControl):
		return errors.New("must not contain line breaks or other control characters")
	}
	return nil
}

// addrSpec finds the addr-spec in the text of one mailbox by the characters outside of quoted
// strings. The error says which kind of text is refused.
func addrSpec(s string) (string, error) {
	open, closed, quoted := -1, -1, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if quoted {
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
			continue
		}
		if err := refusedSpecial(s[:i], c); err != nil {
			return "", err
		}
		switch c {
		case '"':
			quoted = true
		case '<':
			if open >= 0 {
				return "", errors.New("must have one pair of angle brackets at most")
			}
			open = i
		case '>':
			if closed >= 0 || open < 0 {
				return "", errors.New("must have one pair of angle brackets at most")
			}
			closed = i
		}
	}
	switch {
	case quoted:
		return "", errors.New("has a double quote that is not closed")
	case open >= 0 && closed != len(s)-1:
		return "", errors.New("must end with the closing angle bracket")
	case open >= 0:
		s = s[open+1 : closed]
	}
	if strings.Contains(s, `"`) {
		return "", errors.New("must not have a quoted part before the @")
	}
	return s, nil
}

// ErrSeveral is the error for several addresses, or an unquoted name with a comma.
var ErrSeveral = errors.New("must be a single address: put a name with a comma in double quotes")

// refusedSpecial returns the error for a special character (RFC 5322 3.2.3) outside of quotes.
// before is the text before it.
func refusedSpecial(before string, c byte) error {
	switch c {
	case '(', ')':
		return errors.New("must not contain comments: put a name with parentheses in double quotes")
	case ':':
		if strings.HasSuffix(strings.ToLower(before), "mailto") {
			return errors.New("must not begin with the scheme mailto")
		}
		return errors.New("must not be a group: put a name with : or ; in double quotes")
	case ',', ';':
		return ErrSeveral
	case '[', ']':
		return errors.New("must have a domain name, not an address literal")
	}
	return nil
}

// checkDisplayName checks a decoded name, since an encoded word can hide anything.
func checkDisplayName(name string) (string, error) {
	switch {
	case !utf8.ValidString(name) || strings.ContainsFunc(name, IsControl):
		return "", errors.New("must not have line breaks or other control characters in its display name")
	case strings.Contains(name, "@"):
		return "", errors.New("must not have an @ in its display name: write the address alone, or another name")
	case len(name) > maxDisplayName:
		return "", fmt.Errorf("has a display name of more than %d bytes", maxDisplayName)
	}
	return collapseSpaces(name), nil
}

// collapseSpaces replaces runs of ASCII spaces by one, since folding a header can't keep more.
// Other spaces belong to their scripts.
func collapseSpaces(s string) string {
	s = strings.Trim(s, " ")
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}

func splitAddrSpec(spec string) (local, domain string, err error) {
	local, domain, found := strings.Cut(spec, "@")
	if !found || strings.Contains(domain, "@") {
		return "", "", errors.New("must have exactly one @")
	}
	if err := CheckLocal(local); err != nil {
		return "", "", err
	}
	domain, err = ParseDomain(domain)
	if err != nil {
		return "", "", err
	}
	if len(local)+1+len(domain) > MaxLength {
		return "", "", fmt.Errorf("is longer than %d bytes", MaxLength)
	}
	return local, domain, nil
}

// ParseRecipient parses the address of an SMTP RCPT command: user@host without a name, whose domain is returned in
// lower-case A-labels. It refuses address literals, quoted local parts and trailing dots.
func ParseRecipient(to string) (address string, ok bool) {
	at := strings.LastIndexByte(to, '@')
	if at < 0 || len(to) > MaxInput {
		return "", false
	}
	domain, err := ParseDomain(to[at+1:])
	if err != nil || CheckLocal(to[:at]) != nil || at+1+len(domain) > MaxLength {
		return "", false
	}
	return to[:at+1] + domain, true
}

// CheckLocal checks that a local part is a dot-atom (RFC 5322 3.2.3), or beyond ASCII printable
// characters in normal form C (RFC 6532 3.1).
func CheckLocal(local string) error {
	switch {
	case local == "":
		return errors.New("has nothing before the @")
	case len(local) > MaxLocal:
		return fmt.Errorf("has more than %d bytes before the @", MaxLocal)
	case looksEncoded(local):
		return errors.New("must not look like an encoded word (=?…?=) before the @")
	case local[0] == '.' || local[len(local)-1] == '.' || strings.Contains(local, ".."):
		return errors.New("has a misplaced dot before the @")
	}
	for _, r := range local {
		if r != '.' && !IsAtext(r) {
			return fmt.Errorf("must not have %q before the @", r)
		}
	}
	if !norm.NFC.IsNormalString(local) {
		return errors.New("must be in Unicode normal form C before the @")
	}
	return nil
}

// looksEncoded reports whether a local part contains an encoded word (RFC 2047). Some servers
// decode it and would send to another mailbox than the checked one.
func looksEncoded(local string) bool {
	_, rest, found := strings.Cut(local, "=?")
	return found && strings.Contains(rest, "?=")
}

// IsAtext reports whether r is allowed between the dots of a local part: atext of RFC 5322 3.2.3,
// or a printable character beyond ASCII (RFC 6532).
func IsAtext(r rune) bool {
	if r >= utf8.RuneSelf {
		return r != utf8.RuneError && unicode.IsPrint(r)
	}
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`()<>[]:;@\,."`, r)
}

// IsControl reports whether r is a C0 or C1 control character, DEL, or a line separator of
// Unicode.
func IsControl(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }

// IsHidden reports whether r is a control character or invisible formatting that changes how the
// text around it is displayed (app.HasHidden).
func IsHidden(r rune) bool {
	if !unicode.Is(unicode.Cf, r) {
		return IsControl(r)
	}
	const nonJoiner, rightToLeftMark, arabicMark, firstTag, lastTag = '\u200c', '\u200f', '\u061c', '\U000e0020', '\U000e007f'
	return !(r >= nonJoiner && r <= rightToLeftMark || r == arabicMark || r >= firstTag && r <= lastTag)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
