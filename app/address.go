package app

import (
	"strings"
	"unicode/utf8"

	"mailer/app/kit/mailbox"
)

// MaxDomain is the limit of a domain, in bytes.
const MaxDomain = mailbox.MaxDomain

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
	if a == (Address{}) {
		return ""
	}
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

// AddressKey is what all spellings of one mailbox have in common: addresses are compared
// and hashed by it. Only KeyOf and Address.Key make one.
type AddressKey struct{ text string }

// Key returns the key of a mailbox.
func (a Address) Key() AddressKey { return KeyOf(a.Mailbox()) }

// KeyOf returns the key of an address in any spelling. That of an empty text is zero.
func KeyOf(address string) AddressKey { return AddressKey{mailbox.Fold(address)} }

// String returns the key as a text, an address itself.
func (k AddressKey) String() string { return k.text }

// IsZero reports whether the key stands for nothing.
func (k AddressKey) IsZero() bool { return k == AddressKey{} }

// ParseAddress reads a single mailbox, as mailbox.Parse does.
func ParseAddress(s string) (Address, error) {
	m, err := mailbox.Parse(s)
	return Address(m), err
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
		if mailbox.IsControl(r) {
			return true
		}
	}
	return false
}

// HasHidden finds, beside what HasControl does, characters that nobody sees and that change
// what is seen of others: overrides and isolates of the direction of writing, and invisible
// formatting. Joiners, marks of direction and the tags of flags are parts of real words.
// What a stranger calls something must not read as something else.
func HasHidden(s string) bool { return strings.ContainsFunc(s, mailbox.IsHidden) }

// Erased stands where an erased address stood. It is no address that could be
// parsed, sent to or found.
const Erased = "[erased]"

// IsErased reports whether this is what an erasure left of an address: no mail can
// go to it, and no header may show it.
func (a Address) IsErased() bool { return a == Address{Local: Erased} }
