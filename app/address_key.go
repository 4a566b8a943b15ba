package app

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// AddressKey is the form in which addresses are compared, stored by their hash and
// looked up: the local part in lower case and normal form C, the domain in lower-case
// A-labels. Two spellings of one mailbox have the same key. Only KeyOf and Address.Key
// make one, so that no text can be compared or hashed as it was typed.
type AddressKey struct{ text string }

// Key returns the key of a mailbox.
func (a Address) Key() AddressKey { return KeyOf(a.Mailbox()) }

// KeyOf returns the key of an address in any spelling: with U-labels or A-labels, in
// upper or lower case, composed or decomposed, with a dot at its end, between angle
// brackets or behind a name. It never fails: a text that is no address has a key that no
// address has. The zero AddressKey is that of an empty text.
func KeyOf(address string) AddressKey {
	s := strings.Trim(address, " \t\r\n")
	if strings.ContainsAny(s, "<>") {
		if a, err := ParseAddress(s); err == nil {
			s = a.Mailbox()
		}
		s = strings.Trim(s, "<> \t\r\n")
	}
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return AddressKey{strings.ToLower(s)}
	}
	return AddressKey{foldLocal(s[:at]) + "@" + FoldDomain(s[at+1:])}
}

func foldLocal(local string) string {
	if !IsASCII(local) {
		local = norm.NFC.String(local)
	}
	return strings.ToLower(local)
}

// FoldDomain returns a host name in lower-case A-labels, without a dot at its end. A
// text that is no host name comes back in lower case.
func FoldDomain(domain string) string {
	if len(domain) <= 4*MaxDomain && !IsASCII(domain) && utf8.ValidString(domain) { // idna encodes what is no text
		if ascii, err := idna.Lookup.ToASCII(strings.TrimRight(domain, ".。．｡")); err == nil {
			domain = ascii
		}
	}
	return strings.ToLower(strings.TrimSuffix(domain, "."))
}

// String returns the key as a text, an address itself.
func (k AddressKey) String() string { return k.text }

// IsZero reports whether the key stands for nothing.
func (k AddressKey) IsZero() bool { return k == AddressKey{} }

// Domain is the domain of the key; empty: it has none.
func (k AddressKey) Domain() string {
	_, domain, _ := cutLast(k.text)
	return domain
}

func cutLast(address string) (local, domain string, found bool) {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address, "", false
	}
	return address[:at], address[at+1:], true
}
