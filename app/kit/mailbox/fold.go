package mailbox

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Fold returns the canonical form of an address in any spelling: with U-labels or A-labels, in
// upper or lower case, composed or decomposed, with a trailing dot, in angle brackets or with a
// name. The local part is in lower case and normal form C, the domain in lower-case A-labels. It
// never fails: an invalid address becomes a text that no valid address becomes.
func Fold(address string) string {
	s := strings.Trim(address, " \t\r\n")
	if strings.ContainsAny(s, "<>") {
		if m, err := Parse(s); err == nil {
			s = m.Local + "@" + m.Domain
		}
		s = strings.Trim(s, "<> \t\r\n")
	}
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return strings.ToLower(s)
	}
	return FoldLocal(s[:at]) + "@" + FoldDomain(s[at+1:])
}

// FoldLocal returns a local part in lower case and normal form C.
func FoldLocal(local string) string {
	if !isASCII(local) {
		local = norm.NFC.String(local)
	}
	return strings.ToLower(local)
}

// FoldDomain returns a host name in lower-case A-labels without a trailing dot. It returns an
// invalid host name in lower case.
func FoldDomain(domain string) string {
	if len(domain) <= 4*MaxDomain && !isASCII(domain) && utf8.ValidString(domain) { // idna encodes invalid UTF-8 too
		if ascii, err := idna.Lookup.ToASCII(strings.TrimRight(domain, ".。．｡")); err == nil {
			domain = ascii
		}
	}
	return strings.ToLower(strings.TrimSuffix(domain, "."))
}
