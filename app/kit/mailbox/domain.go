package mailbox

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Limits of a domain, in bytes (RFC 1035 2.3.4).
const (
	MaxDomain = 253
	maxLabel  = 63
)

// ParseDomain parses a host name with at least one dot and returns it in lower-case A-labels (RFC
// 5890, RFC 1123 2.1). It refuses IP addresses, a trailing dot, labels over 63 and names over 253
// octets.
func ParseDomain(s string) (string, error) {
	if s == "" {
		return "", errors.New("has an empty domain")
	}
	if len(s) > MaxInput {
		return "", errors.New("has a domain that is too long")
	}
	ascii, err := idna.Lookup.ToASCII(s)
	if err != nil || !utf8.ValidString(s) { // idna encodes invalid UTF-8 too
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
