package htmltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// NormalizeLink returns an http or https link as browsers parse it (WHATWG URL 4.4): without
// blanks and control characters at its ends, without tabs and line breaks, and with all other
// blanks and control characters after the host percent-encoded. A link with a blank in its host,
// which browsers do not follow, and links of other schemes are only trimmed.
func NormalizeLink(link string) string {
	if isGraphicASCII(link) || !strings.ContainsFunc(link, isEncoded) {
		return link
	}
	bare := strings.TrimFunc(link, func(r rune) bool { return r <= ' ' })
	bare = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(bare)
	at := strings.Index(bare, "://") + len("://")
	if scheme := bare[:max(at-len("://"), 0)]; !EqualASCII(scheme, "http") && !EqualASCII(scheme, "https") {
		return TrimBlanks(link)
	}
	if end := strings.IndexAny(bare[at:], "/?#"); end >= 0 {
		at += end
	} else {
		at = len(bare)
	}
	if strings.ContainsFunc(bare[:at], isEncoded) {
		return TrimBlanks(link)
	}
	return bare[:at] + PercentEncode(bare[at:], isEncoded)
}

// isGraphicASCII reports whether s holds nothing but visible ASCII characters.
func isGraphicASCII(s string) bool {
	for i := range len(s) {
		if !isGraphic(s[i]) {
			return false
		}
	}
	return true
}

// isEncoded reports whether NormalizeLink encodes r.
func isEncoded(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// PercentEncode returns s with the characters for which change returns true percent-encoded as
// UTF-8.
func PercentEncode(s string, change func(rune) bool) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		if !change(r) {
			b.WriteString(s[i : i+size])
			continue
		}
		for _, c := range []byte(s[i : i+size]) {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
