package app

import (
	"net/url"
	"sort"
	"strings"
	"unicode/utf8"
)

// Limits of the custom headers of one email. A value, on a line of its own
// behind the space that folds it, must fit the 998 octets of RFC 5322 2.1.1.
const (
	MaxHeaders     = 50
	maxHeaderName  = 76
	maxHeaderValue = 997
)

// The headers of unsubscribing in lower case (RFC 2369 3.2, RFC 8058), and the one
// value that the second may have.
const (
	ListUnsubscribe     = "list-unsubscribe"
	listUnsubscribePost = "list-unsubscribe-post"
	OneClick            = "List-Unsubscribe=One-Click"
)

// allowedHeader says whether callers may set a header, and whether its values
// may be free text, which is encoded where it is not ASCII; the others have a
// grammar that knows no encoded words (RFC 2047 section 5).
func allowedHeader(lower string) (allowed, text bool) {
	switch lower {
	case "comments", "keywords", "organization", "x-mailer":
		return true, true
	case "in-reply-to", "references", "importance", "priority", ListUnsubscribe, listUnsubscribePost:
		return true, false
	}
	for _, ours := range []string{"x-ses-", "x-mailer-"} {
		if strings.HasPrefix(lower, ours) {
			return false, false
		}
	}
	return strings.HasPrefix(lower, "x-") && len(lower) > 2, true
}

// parseHeaders checks custom headers and returns them sorted by name: those that
// allowedHeader lets through, each once, and the unsubscribe pair together (RFC
// 8058 3.1). A header with an empty value is absent.
func parseHeaders(in map[string]string) ([]Header, error) {
	if len(in) > MaxHeaders {
		return nil, Invalid("headers", "must not hold more than %d headers", MaxHeaders)
	}
	names := make([]string, 0, len(in))
	for name := range in {
		names = append(names, name)
	}
	sort.Strings(names) // so that of several faults always the same is told
	seen := make(map[string]string, len(in))
	var out []Header
	for _, name := range names {
		value, err := parseHeader(name, in[name])
		if err != nil {
			return nil, err
		}
		lower := strings.ToLower(name)
		if _, twice := seen[lower]; twice {
			return nil, Invalid("headers."+name, "is given twice")
		}
		seen[lower] = value
		if value != "" {
			out = append(out, Header{Name: name, Value: value})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return strings.ToLower(out[i].Name) < strings.ToLower(out[j].Name)
	})
	return out, checkUnsubscribePair(seen)
}

func parseHeader(name, value string) (string, error) {
	if !isFieldName(name) {
		return "", Invalid("headers", "has a name that is not 1 to %d printable ASCII characters without space and colon", maxHeaderName)
	}
	field := "headers." + name
	lower := strings.ToLower(name)
	allowed, text := allowedHeader(lower)
	if !allowed {
		return "", Invalid(field, "is not a header that can be set")
	}
	value = strings.Trim(value, " ")
	switch {
	case !utf8.ValidString(value):
		return "", Invalid(field, "must be valid UTF-8")
	case HasControl(value):
		return "", Invalid(field, "must not contain line breaks or other control characters")
	case len(value) > maxHeaderValue:
		return "", Invalid(field, "must not be longer than %d bytes", maxHeaderValue)
	case !text && !IsASCII(value):
		return "", Invalid(field, "must be plain ASCII")
	case lower == ListUnsubscribe && value != "":
		return value, checkListUnsubscribe(field, value)
	case lower == listUnsubscribePost && value != "" && value != OneClick:
		return "", Invalid(field, "must be %s", OneClick)
	}
	return value, nil
}

// isFieldName: RFC 5322 3.6.8, with a bound so that a name never needs folding.
func isFieldName(s string) bool {
	if s == "" || len(s) > maxHeaderName {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == ':' {
			return false
		}
	}
	return true
}

// checkUnsubscribePair: RFC 8058 3.1 wants both headers or none.
func checkUnsubscribePair(byLower map[string]string) error {
	targets, post := byLower[ListUnsubscribe] != "", byLower[listUnsubscribePost] != ""
	switch {
	case targets && !post:
		return Invalid("headers.List-Unsubscribe-Post", "is required beside List-Unsubscribe: %s", OneClick)
	case post && !targets:
		return Invalid("headers.List-Unsubscribe", "is required beside List-Unsubscribe-Post")
	}
	return nil
}

// checkListUnsubscribe wants a comma-separated list of <https:…> and <mailto:…>
// with at least one https (RFC 2369 2, RFC 8058 3.1).
func checkListUnsubscribe(field, value string) error {
	secure := false
	for rest := value; ; {
		target, after, ok := cutTarget(rest)
		if !ok {
			return Invalid(field, "must be a list like <https://example.com/u>, <mailto:u@example.com>")
		}
		scheme, ok := unsubscribeScheme(target)
		if !ok {
			return Invalid(field, "must hold https and mailto targets only")
		}
		secure = secure || scheme == "https"
		if after == "" {
			break
		}
		rest = after
	}
	if !secure {
		return Invalid(field, "must hold at least one https target")
	}
	return nil
}

// cutTarget takes one <uri> from the front of s, and the comma that another one
// must follow.
func cutTarget(s string) (target, rest string, ok bool) {
	s, ok = strings.CutPrefix(strings.TrimLeft(s, " "), "<")
	if !ok {
		return "", "", false
	}
	target, rest, ok = strings.Cut(s, ">")
	if !ok || strings.ContainsAny(target, " <\"") {
		return "", "", false
	}
	rest = strings.Trim(rest, " ")
	if rest == "" {
		return target, "", true
	}
	rest, ok = strings.CutPrefix(rest, ",")
	return target, rest, ok && strings.Trim(rest, " ") != ""
}

func unsubscribeScheme(target string) (string, bool) {
	u, err := url.Parse(target)
	if err != nil {
		return "", false
	}
	switch u.Scheme {
	case "https":
		return u.Scheme, u.Hostname() != ""
	case "mailto":
		return u.Scheme, strings.Contains(u.Opaque, "@")
	}
	return "", false
}
