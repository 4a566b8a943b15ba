package app

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"

	"mailer/app/htmltext"
)

// Limits of one address, in bytes (RFC 5321 4.5.3.1; RFC 1035 2.3.4). The
// first stands before any parsing, since parsers of addresses have been
// quadratic.
const (
	maxAddressInput = 1000
	maxDisplayName  = 255
	MaxLocalPart    = 64
	MaxDomain       = 253
	maxLabel        = 63
	MaxMailbox      = 254 // RFC 5321 4.5.3.1.3, less the angle brackets
)

// Address is one mailbox: an optional display name and an addr-spec whose
// domain is in lower-case A-labels (RFC 5321 4.1.2, RFC 5890).
type Address struct {
	Name   string `json:"name,omitzero"`
	Local  string `json:"local"`
	Domain string `json:"domain"`
}

// Mailbox is the bare addr-spec, as it stands in MAIL and RCPT commands; Erased
// for an erased address.
func (a Address) Mailbox() string {
	if a.IsErased() {
		return Erased
	}
	return a.Local + "@" + a.Domain
}

// String writes the address as it is read back: `Name <user@host>`, the name in
// double quotes only where it could not be read otherwise, or `user@host`.
// ParseAddress of it gives the same Address.
func (a Address) String() string {
	if a.Name == "" {
		return a.Mailbox()
	}
	name := a.Name
	if nameNeedsQuotes(name) {
		name = QuoteString(name)
	}
	return name + " <" + a.Mailbox() + ">"
}

// QuoteString makes a quoted-string of s (RFC 5322 3.2.4). s must be free of
// control characters.
func QuoteString(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte('"')
	return b.String()
}

// nameNeedsQuotes: the specials but the dot, which everybody writes bare
// ("Acme Inc.", the obs-phrase of RFC 5322 4.1), and what would be taken for an
// encoded word.
func nameNeedsQuotes(name string) bool {
	return strings.ContainsAny(name, `()<>[]:;@\,"`) || strings.Contains(name, "=?")
}

// FoldAddress is the form in which two addresses are compared: lower case.
func FoldAddress(mailbox string) string { return strings.ToLower(mailbox) }

// ParseAddress reads a single mailbox (RFC 5322 3.4), `user@host` or
// `Name <user@host>`, and refuses what net/mail lets pass or what has misled
// mail servers: lists, groups, comments, source routes, quoted local parts,
// address literals, names with an @, undotted domains, control characters.
// Domains come out as lower-case A-labels. The error says what is wrong and
// does not name a field.
func ParseAddress(s string) (Address, error) {
	if err := checkAddressText(s); err != nil {
		return Address{}, err
	}
	s = strings.Trim(s, " ")
	if a, ok := simpleAddress(s); ok {
		return a, nil
	}
	return anyAddress(s)
}

// anyAddress reads an address by the whole grammar.
func anyAddress(s string) (Address, error) {
	spec, err := addrSpec(s)
	if err != nil {
		return Address{}, err
	}
	parsed, err := mail.ParseAddress(s)
	if err != nil {
		return Address{}, errors.New("is not a valid email address: use user@host or Name <user@host>")
	}
	if parsed.Address != spec { // two readings of one text: trust neither
		return Address{}, errors.New("is not a valid email address")
	}
	name, err := checkDisplayName(parsed.Name)
	if err != nil {
		return Address{}, err
	}
	local, domain, err := splitAddrSpec(spec)
	if err != nil {
		return Address{}, err
	}
	return Address{Name: name, Local: local, Domain: domain}, nil
}

// simpleAddress reads what most addresses are, at a quarter of the cost: ASCII
// without quotes, the name of letters, digits and single spaces. What it does not
// take may be an address all the same.
func simpleAddress(s string) (a Address, ok bool) {
	if !IsASCII(s) {
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
		case htmltext.IsLetter(c), '0' <= c && c <= '9':
		case c != ' ' || i+1 == len(s) || s[i+1] == ' ':
			return false
		}
	}
	return s != "" && len(s) <= maxDisplayName
}

func checkAddressText(s string) error {
	switch {
	case s == "":
		return errors.New("is empty")
	case len(s) > maxAddressInput:
		return fmt.Errorf("is longer than %d bytes", maxAddressInput)
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case HasControl(s):
		return errors.New("must not contain line breaks or other control characters")
	}
	return nil
}

// addrSpec finds the addr-spec in the text of one mailbox by looking at the
// characters outside of quoted strings alone, and says what kind of text it is
// that is refused.
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
		if err := refusedSpecial(c); err != nil {
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

// refusedSpecial says what a special character (RFC 5322 3.2.3) outside of quotes
// would begin.
func refusedSpecial(c byte) error {
	switch c {
	case '(', ')':
		return errors.New("must not contain comments: put a name with parentheses in double quotes")
	case ':', ';':
		return errors.New("must not be a group: put a name with : or ; in double quotes")
	case ',':
		return errors.New("must be a single address: put a name with a comma in double quotes")
	case '[', ']':
		return errors.New("must have a domain name, not an address literal")
	}
	return nil
}

// checkDisplayName checks a decoded name: an encoded word can hide anything.
func checkDisplayName(name string) (string, error) {
	switch {
	case !utf8.ValidString(name) || HasControl(name):
		return "", errors.New("must not have line breaks or other control characters in its display name")
	case strings.Contains(name, "@"):
		return "", errors.New("must not have an @ in its display name")
	case len(name) > maxDisplayName:
		return "", fmt.Errorf("has a display name of more than %d bytes", maxDisplayName)
	}
	return collapseSpaces(name), nil
}

// collapseSpaces leaves one space between words, since folding a header can't
// keep more. Only the ASCII space: others belong to their scripts.
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
	if err := CheckLocalPart(local); err != nil {
		return "", "", err
	}
	domain, err = ParseDomain(domain)
	if err != nil {
		return "", "", err
	}
	if len(local)+1+len(domain) > MaxMailbox {
		return "", "", fmt.Errorf("is longer than %d bytes", MaxMailbox)
	}
	return local, domain, nil
}

// CheckLocalPart wants a dot-atom (RFC 5322 3.2.3), or, beyond ASCII, printable
// characters in normal form C (RFC 6532 3.1).
func CheckLocalPart(local string) error {
	switch {
	case local == "":
		return errors.New("has nothing before the @")
	case len(local) > MaxLocalPart:
		return fmt.Errorf("has more than %d bytes before the @", MaxLocalPart)
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

// IsAtext reports whether r may stand between the dots of a local part: atext of
// RFC 5322 3.2.3, or a printable character beyond ASCII (RFC 6532).
func IsAtext(r rune) bool {
	if r >= utf8.RuneSelf {
		return r != utf8.RuneError && unicode.IsPrint(r)
	}
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`()<>[]:;@\,."`, r)
}

// ParseDomain reads a host name with at least one dot and returns it in lower-case
// A-labels (RFC 5890, RFC 1123 2.1). It refuses IP addresses, a trailing dot,
// labels over 63 and names over 253 octets.
func ParseDomain(s string) (string, error) {
	if s == "" {
		return "", errors.New("has an empty domain")
	}
	if len(s) > maxAddressInput {
		return "", errors.New("has a domain that is too long")
	}
	ascii, err := idna.Lookup.ToASCII(s)
	if err != nil {
		return "", errors.New("has a domain that is not valid")
	}
	ascii = strings.ToLower(ascii)
	if len(ascii) > MaxDomain {
		return "", fmt.Errorf("has a domain of more than %d bytes", MaxDomain)
	}
	labels := strings.Split(ascii, ".")
	if len(labels) < 2 {
		return "", errors.New("has a domain without a dot")
	}
	for _, label := range labels {
		if !IsHostLabel(label) {
			return "", errors.New("has a domain that is not valid")
		}
	}
	if strings.Trim(labels[len(labels)-1], "0123456789") == "" {
		return "", errors.New("must have a domain name, not an IP address")
	}
	return ascii, nil
}

// IsHostLabel reports whether s is a label of a host name in lower-case A-labels
// (RFC 1123 2.1).
func IsHostLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// IsASCII reports whether s has ASCII characters alone.
func IsASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// HasControl finds C0, DEL, C1, and the two line separators of Unicode.
func HasControl(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return true
		}
	}
	return false
}

// Erased stands where an erased address stood. It is no address that could be
// parsed, sent to or found.
const Erased = "[erased]"

// IsErased reports whether this is what an erasure left of an address: no mail can
// go to it, and no header may show it.
func (a Address) IsErased() bool { return a == Address{Local: Erased} }
