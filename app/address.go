package app

import (
	"strings"
	"unicode/utf8"

	"mailer/app/kit/mailbox"
)

// Address is one mailbox: an optional display name and an addr-spec whose
// domain is in lower-case A-labels (RFC 5321 4.1.2, RFC 5890).
type Address struct {
	Name   string `json:"name,omitzero"`
	Local  string `json:"local"`
	Domain string `json:"domain"`
}

// Mailbox returns the bare addr-spec, as MAIL and RCPT commands use it, or Erased for an erased
// address.
func (a Address) Mailbox() string {
	if a.IsErased() {
		return Erased
	}
	return a.Local + "@" + a.Domain
}

// String formats the address as `user@host` or `Name <user@host>`, with the name in double quotes
// only if it needs them. ParseAddress of the result returns the same Address.
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

// QuoteString returns s as a quoted-string (RFC 5322 3.2.4). s must not contain control
// characters.
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

// nameNeedsQuotes reports whether a display name contains specials or could be taken for an
// encoded word. A dot alone needs no quotes: everybody writes "Acme Inc." bare (obs-phrase, RFC
// 5322 4.1).
func nameNeedsQuotes(name string) bool {
	return strings.ContainsAny(name, `()<>[]:;@\,"`) || strings.Contains(name, "=?")
}

// AddressKey identifies a mailbox: all spellings of one address have the same key. Addresses are
// compared and hashed by their keys. Only KeyOf and Address.Key return keys.
type AddressKey struct{ text string }

// Key returns the key of a mailbox.
func (a Address) Key() AddressKey { return KeyOf(a.Mailbox()) }

// KeyOf returns the key of an address in any spelling. The key of an empty string is the zero
// AddressKey.
func KeyOf(address string) AddressKey { return AddressKey{mailbox.Fold(address)} }

// String returns the key as an address in its canonical spelling.
func (k AddressKey) String() string { return k.text }

// IsZero reports whether the key is that of an empty string.
func (k AddressKey) IsZero() bool { return k == AddressKey{} }

// ParseAddress reads a single mailbox, as mailbox.Parse does.
func ParseAddress(s string) (Address, error) {
	m, err := mailbox.Parse(s)
	return Address(m), err
}

// IsASCII reports whether s contains only ASCII characters.
func IsASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// HasControl reports whether s contains a C0 or C1 control character, DEL, or one of the two line
// separators of Unicode.
func HasControl(s string) bool {
	for _, r := range s {
		if mailbox.IsControl(r) {
			return true
		}
	}
	return false
}

// HasHidden reports whether s contains a control character or an invisible character that changes
// how the text around it is displayed: bidirectional overrides and isolates, and invisible
// formatting. Joiners, directional marks and the tags of flags are allowed, since real words need
// them. A name that a caller chose must not look like another name.
func HasHidden(s string) bool { return strings.ContainsFunc(s, mailbox.IsHidden) }

// Erased replaces an erased address. It can't be parsed, sent to or found.
const Erased = "[erased]"

// IsErased reports whether the address was erased. Mail can't be sent to it and no header may show
// it.
func (a Address) IsErased() bool { return a == Address{Local: Erased} }
