package dnscheck

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mailer/app/kit/mailbox"
)

// spfRecord is a parsed SPF record (RFC 7208 4.5, 4.6.1).
type spfRecord struct {
	text     string
	terms    []spfTerm // mechanisms, in order
	redirect string    // empty: none
}

// spfTerm is a mechanism.
type spfTerm struct {
	text      string
	qualifier byte // + - ~ ?
	name      string
	domain    string       // as written, without the final dot, lower case
	addrs     netip.Prefix // ip4, ip6
}

// isSPF reports whether text is an SPF record, valid or not (RFC 7208 4.5).
func isSPF(text string) bool {
	const version = "v=spf1"
	return len(text) >= len(version) && strings.EqualFold(text[:len(version)], version) &&
		(len(text) == len(version) || text[len(version)] == ' ')
}

// parseSPF parses a record for which isSPF is true. The error names the invalid mechanism and its
// correction if known. Receivers treat an invalid record as permerror (RFC 7208 4.6).
func parseSPF(text string) (*spfRecord, error) {
	rec := &spfRecord{text: text}
	seen := map[string]bool{}
	for word := range strings.SplitSeq(text[len("v=spf1"):], " ") {
		if word == "" {
			continue
		}
		if i := strings.IndexAny(word, ":/="); i >= 0 && word[i] == '=' {
			name, value := strings.ToLower(word[:i]), word[i+1:]
			if err := checkModifier(name, value); err != nil {
				return nil, spfFault(word, err)
			}
			if (name == "redirect" || name == "exp") && seen[name] {
				return nil, spfFault(word, errors.New("it is there twice"))
			}
			seen[name] = true
			if name == "redirect" {
				rec.redirect = foldHost(value)
			}
			continue
		}
		term, err := parseSPFTerm(word)
		if err != nil {
			return nil, spfFault(word, err)
		}
		rec.terms = append(rec.terms, term)
	}
	return rec, nil
}

func spfFault(word string, err error) error {
	return fmt.Errorf("the term %s is wrong: %w", quoted(word), err)
}

func foldHost(s string) string { return strings.ToLower(strings.TrimSuffix(s, ".")) }

func checkModifier(name, value string) error {
	if name == "v" {
		return errors.New("two records were merged into one; v=spf1 must be at the beginning only")
	}
	if !isModifierName(name) {
		return errors.New("its name is not valid")
	}
	if name == "redirect" || name == "exp" {
		return checkDomainSpec(value)
	}
	return checkMacros(value)
}

func isModifierName(s string) bool {
	for i := 0; i < len(s); i++ {
		letter := s[i] >= 'a' && s[i] <= 'z'
		if !letter && (i == 0 || (s[i] < '0' || s[i] > '9') && !strings.ContainsRune("-_.", rune(s[i]))) {
			return false
		}
	}
	return s != ""
}

// parseSPFTerm parses one mechanism (RFC 7208 5).
func parseSPFTerm(word string) (spfTerm, error) {
	t := spfTerm{text: word, qualifier: '+'}
	rest := word
	if strings.ContainsRune("+-~?", rune(rest[0])) {
		t.qualifier, rest = rest[0], rest[1:]
	}
	i := strings.IndexAny(rest, ":/")
	if i < 0 {
		i = len(rest)
	}
	t.name = strings.ToLower(rest[:i])
	value, hasValue := strings.CutPrefix(rest[i:], ":")
	var err error
	switch t.name {
	case "all":
		if i != len(rest) {
			err = errors.New("nothing may follow all")
		}
	case "ip4", "ip6":
		t.addrs, err = spfAddresses(t.name, value, hasValue)
	case "a", "mx":
		t.domain, err = spfHost(value, hasValue)
	case "include", "exists":
		if !hasValue {
			return t, errors.New("it needs a domain after a colon")
		}
		t.domain, err = foldHost(value), checkDomainSpec(value)
	case "ptr":
		if hasValue {
			t.domain, err = foldHost(value), checkDomainSpec(value)
		} else if value != "" {
			err = errors.New("nothing but a colon and a domain may follow ptr")
		}
	default:
		err = unknownMechanism(word, t.name)
	}
	return t, err
}

// SPFTerm parses one mechanism (RFC 7208 5) and returns its name and domain in lower case; the
// domain is empty if it has none.
func SPFTerm(word string) (name, domain string, err error) {
	t, err := parseSPFTerm(word)
	return t.name, t.domain, err
}

// unknownMechanism returns the error for an unknown mechanism with a suggestion.
func unknownMechanism(word, name string) error {
	bare := strings.TrimRight(word, ",;")
	switch {
	case name == "ip" || name == "ipv4":
		return errors.New("write ip4: instead")
	case name == "ipv6":
		return errors.New("write ip6: instead")
	case bare != word || strings.ContainsAny(word, ",;"):
		return errors.New("separate terms with spaces, not with commas or semicolons")
	case name == "includes" || name == "incude":
		return errors.New("write include: instead")
	case strings.ContainsAny(word, `"\`):
		return errors.New("quotation marks and backslashes do not belong there")
	}
	if addr, err := netip.ParseAddr(word); err == nil {
		return fmt.Errorf("write %s instead", SPFAddress(addr))
	}
	if host, err := mailbox.ParseDomain(word); err == nil {
		return fmt.Errorf("write a:%s or include:%s instead", host, host)
	}
	return errors.New("there is no such mechanism")
}

// SPFAddress returns the mechanism for one address: ip4 or ip6.
func SPFAddress(addr netip.Addr) string {
	if addr.Is4() {
		return "ip4:" + addr.String()
	}
	return "ip6:" + addr.String()
}

func spfAddresses(name, value string, hasValue bool) (netip.Prefix, error) {
	if !hasValue {
		return netip.Prefix{}, errors.New("it needs an address after a colon")
	}
	host, bits, network := strings.Cut(value, "/")
	addr, err := netip.ParseAddr(host)
	if err != nil || addr.Zone() != "" || addr.Is4() != (name == "ip4") {
		return netip.Prefix{}, fmt.Errorf("it needs an IPv%c address", name[2])
	}
	n := addr.BitLen()
	if network {
		if n, err = cidr(bits, n); err != nil {
			return netip.Prefix{}, err
		}
	}
	return netip.PrefixFrom(addr, n).Masked(), nil
}

// cidr parses a prefix length: digits without a leading zero.
func cidr(s string, limit int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > limit || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("the number after the slash must be 0 to %d", limit)
	}
	return n, nil
}

// spfHost parses `[:domain][/n][//n]` of a and mx.
func spfHost(value string, hasValue bool) (string, error) {
	domain, lengths := value, ""
	if i := strings.LastIndexByte(value, '}') + 1; strings.Contains(value[i:], "/") { // a slash may be within a macro
		i += strings.IndexByte(value[i:], '/')
		domain, lengths = value[:i], value[i:]
	}
	v4, v6, hasV6 := strings.Cut(lengths, "//")
	if v4 != "" {
		if _, err := cidr(v4[1:], 32); err != nil {
			return "", err
		}
	}
	if hasV6 {
		if _, err := cidr(v6, 128); err != nil {
			return "", err
		}
	}
	if !hasValue && domain == "" {
		return "", nil
	}
	return foldHost(domain), checkDomainSpec(domain)
}

// checkDomainSpec checks that macros are valid and that the text ends in a dot and a label, or in
// a macro (RFC 7208 7.1).
func checkDomainSpec(s string) error {
	if s == "" {
		return errors.New("the domain is missing")
	}
	if err := checkMacros(s); err != nil {
		return err
	}
	if strings.HasSuffix(s, "}") || strings.HasSuffix(s, "%%") || strings.HasSuffix(s, "%_") || strings.HasSuffix(s, "%-") {
		return nil
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return fmt.Errorf("an address is no domain; write %s instead", SPFAddress(addr))
	}
	s = strings.TrimSuffix(s, ".")
	i := strings.LastIndexByte(s, '.')
	if top := strings.ToLower(s[i+1:]); i < 0 || !mailbox.IsHostLabel(top) || strings.Trim(top, "0123456789") == "" {
		return errors.New("the domain is not valid")
	}
	return nil
}

// checkMacros checks for visible ASCII and %{…}, %%, %_ or %- after each per cent sign (RFC 7208
// 7.1).
func checkMacros(s string) error {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return errors.New("it has a character that may not be there")
		}
		if s[i] != '%' {
			continue
		}
		i++
		if i < len(s) && strings.IndexByte("%_-", s[i]) >= 0 {
			continue
		}
		end := strings.IndexByte(s[min(i, len(s)):], '}')
		if end < 0 || !isMacro(s[i:i+end]) {
			return errors.New("a per cent sign must begin a macro like %{i}")
		}
		i += end
	}
	return nil
}

// isMacro checks `{` letter digits r delimiters, without the closing brace.
func isMacro(s string) bool {
	if len(s) < 2 || s[0] != '{' || !strings.ContainsRune("slodiphcrtv", rune(s[1]|0x20)) {
		return false
	}
	rest := strings.TrimLeft(s[2:], "0123456789")
	if rest != "" && rest[0]|0x20 == 'r' {
		rest = rest[1:]
	}
	return strings.Trim(rest, ".-+,/_=") == ""
}

// hasMacro reports whether the domain depends on the mail, so that it can't be looked up in
// advance.
func hasMacro(domain string) bool { return strings.Contains(domain, "%") }

// beforeAll returns the mechanisms up to the first all, inclusive, and those after it, which
// receivers ignore (RFC 7208 5.1).
func (r *spfRecord) beforeAll() (read, unread []spfTerm) {
	i := slices.IndexFunc(r.terms, func(t spfTerm) bool { return t.name == "all" })
	if i < 0 {
		return r.terms, nil
	}
	return r.terms[:i+1], r.terms[i+1:]
}

// all returns the qualifier of the all mechanism; 0: none.
func (r *spfRecord) all() byte {
	read, _ := r.beforeAll()
	if len(read) > 0 && read[len(read)-1].name == "all" {
		return read[len(read)-1].qualifier
	}
	return 0
}

// covers reports whether t matches everything that want matches, whatever its qualifier.
func (t spfTerm) covers(want spfTerm) bool {
	if t.name != want.name {
		return false
	}
	if want.addrs.IsValid() {
		return t.addrs.Bits() <= want.addrs.Bits() && t.addrs.Contains(want.addrs.Addr())
	}
	return t.domain == want.domain
}
