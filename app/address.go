package app

import "strings"

// Address is one mailbox: an optional display name and an addr-spec whose
// domain is in lower-case A-labels (RFC 5321 4.1.2, RFC 5890).
type Address struct {
	Name   string `json:"name,omitzero"`
	Local  string `json:"local"`
	Domain string `json:"domain"`
}

// Mailbox is the bare addr-spec, as it stands in MAIL and RCPT commands.
func (a Address) Mailbox() string { return a.Local + "@" + a.Domain }

// FoldAddress is the form in which two addresses are compared: lower case.
func FoldAddress(mailbox string) string { return strings.ToLower(mailbox) }
