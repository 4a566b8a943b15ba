package signup

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// typed are values that a person typed, checked.
type typed struct {
	firstName, lastName string
	properties          app.Properties
}

// readValues checks the values of fields. Other values are ignored. Errors: CodeValidation, whose field is
// the name of the input.
func readValues(fields []FormField, values map[string]string) (out typed, err error) {
	for _, field := range fields {
		text := strings.TrimSpace(values[field.Name])
		if text == "" {
			if field.Required {
				return out, app.Invalid(field.Name, "is required")
			}
			continue
		}
		if err := checkTyped(field.Name, text); err != nil {
			return out, err
		}
		switch {
		case field.Name == app.FirstNameField:
			out.firstName = text
		case field.Name == app.LastNameField:
			out.lastName = text
		case field.Number:
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || n-n != 0 { // infinite, or not a number
				return out, app.Invalid(field.Name, "must be a number")
			}
			out.set(field.Name, app.PropertyValue{Type: app.NumberProperty, Number: n})
		default:
			out.set(field.Name, app.PropertyValue{Type: app.StringProperty, Text: text})
		}
	}
	return out, nil
}

func (t *typed) set(key string, v app.PropertyValue) {
	if t.properties == nil {
		t.properties = app.Properties{}
	}
	t.properties[key] = v
}

// changes returns the properties as changes of a contact.
func (t *typed) changes() app.PropertyChanges {
	out := app.PropertyChanges{}
	for key, v := range t.properties {
		out[key] = &v
	}
	return out
}

// checkTyped checks a text that a visitor typed: one line of at most app.MaxFormValue characters without
// a URL and a host name, so that a form can't be used to send a link to somebody. Errors: CodeValidation.
func checkTyped(field, text string) error {
	switch {
	case utf8.RuneCountInString(text) > app.MaxFormValue:
		return app.Invalid(field, "can have at most %d characters", app.MaxFormValue)
	case !utf8.ValidString(text) || app.HasHidden(text):
		return app.Invalid(field, "must be one line without control characters")
	case hasLink(text):
		return app.Invalid(field, "must not hold an address of a web site")
	}
	return nil
}

// hasLink reports whether a text holds a URL, a host name or an IP address, which mail programs turn into
// links.
func hasLink(text string) bool {
	if strings.Contains(text, "://") || strings.Contains(strings.ToLower(text), "www.") {
		return true
	}
	text = strings.NewReplacer("。", ".", "．", ".", "｡", ".", "․", ".").Replace(text)
	return slices.ContainsFunc(strings.FieldsFunc(text, endsName), isHost)
}

// endsName reports whether a character is no part of a host name.
func endsName(r rune) bool {
	return r != '.' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Mn, r)
}

func isHost(word string) bool {
	word = strings.Trim(word, ".-")
	if _, err := netip.ParseAddr(word); err == nil {
		return true
	}
	name, err := mailbox.ParseDomain(word)
	if err != nil {
		return false
	}
	suffix, registry := publicsuffix.PublicSuffix(name)
	return registry || strings.Contains(suffix, ".") // of a registry, or of a provider like github.io
}

// clientRange returns the range that requests of a client share limits with: /24 of IPv4, /48 of IPv6.
// It is empty for addresses that no visitor from the internet has: then the server sees only a proxy.
func clientRange(client netip.Addr) string {
	client = client.Unmap()
	if !client.IsValid() || !client.IsGlobalUnicast() || client.IsPrivate() || sharedSpace.Contains(client) {
		return ""
	}
	bits := 48
	if client.Is4() {
		bits = 24
	}
	p, err := client.WithZone("").Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}

// sharedSpace are the addresses between a provider and its customers (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")
