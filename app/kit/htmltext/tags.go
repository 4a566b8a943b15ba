package htmltext

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// Blanks are the characters of ASCII whitespace in HTML.
const Blanks = " \t\n\f\r"

// TagName returns the tag name at the beginning of s as it is written.
func TagName(s string) string {
	for i := range len(s) {
		if isBlank(s[i]) || s[i] == '/' || s[i] == '>' {
			return s[:i]
		}
	}
	return s
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' && c != '\v' }

// SkipBlanks returns the index of the first non-blank at or after at, at most len(s).
func SkipBlanks(s string, at int) int {
	for at < len(s) && isBlank(s[at]) {
		at++
	}
	return at
}

// TrimBlanks returns s without Blanks at its ends.
func TrimBlanks(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	for s != "" && isBlank(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// AttributeKey returns the attribute name at the beginning of s. It may begin with an equals sign.
func AttributeKey(s string) string {
	for i := range len(s) {
		switch s[i] {
		case '=':
			if i > 0 {
				return s[:i]
			}
		case ' ', '\t', '\n', '\f', '\r', '/', '>':
			return s[:i]
		}
	}
	return s
}

// AttributeValue reads what follows an attribute name: a slash, a value or nothing. next is the
// start of the next attribute.
func AttributeValue(tag string, at int) (from, to int, bare bool, next int) {
	if at >= len(tag) {
		return at, at, true, at
	}
	if tag[at] == '/' {
		return at, at, true, at + 1
	}
	if tag[at] != '=' {
		return at, at, true, at
	}
	at = SkipBlanks(tag, at+1)
	if at >= len(tag) || tag[at] == '>' {
		return at, at, true, at
	}
	if quote := tag[at]; quote == '"' || quote == '\'' {
		n := strings.IndexByte(tag[at+1:], quote)
		if n < 0 {
			return len(tag), len(tag), false, len(tag)
		}
		return at + 1, at + 1 + n, false, at + 2 + n
	}
	for to = at; to < len(tag) && !isBlank(tag[to]) && tag[to] != '>'; {
		to++
	}
	return at, to, true, to
}

// attributeAt reads the attribute that begins at at: its name, the range of its value, both as
// written, and the start of the next attribute.
func attributeAt(s string, at int) (key string, from, to, next int) {
	key = AttributeKey(s[at:])
	from, to, _, next = AttributeValue(s, SkipBlanks(s, at+len(key)))
	return key, from, to, next
}

// FindAttribute returns the range of the value of the first attribute with a name, in lower case, in a
// start tag whose attributes begin at an index (WHATWG HTML 13.2.5.32 to 13.2.5.40). bare: it has no
// quotes.
func FindAttribute(tag string, at int, name string) (from, to int, bare, ok bool) {
	for {
		at = SkipBlanks(tag, at)
		if at >= len(tag) || tag[at] == '>' {
			return 0, 0, false, false
		}
		key := AttributeKey(tag[at:])
		at = SkipBlanks(tag, at+len(key))
		from, to, bare, at = AttributeValue(tag, at)
		if EqualASCII(key, name) {
			return from, to, bare, true
		}
	}
}

// AttributeText returns the value of an attribute with its entities decoded.
func AttributeText(value string) string {
	value = plainNewlines(visibleNUL(value))
	n := strings.IndexByte(value, '&')
	if n < 0 {
		return value
	}
	var b strings.Builder
	b.Grow(len(value))
	for ; n >= 0; n = strings.IndexByte(value, '&') {
		b.WriteString(value[:n])
		text, width := attributeEntity(value[n:])
		b.WriteString(text)
		value = value[n+width:]
	}
	b.WriteString(value)
	return b.String()
}

// attributeEntity decodes the ampersand at the beginning of s in an attribute value and returns
// the number of bytes that it takes (WHATWG HTML 13.2.5.72 to 13.2.5.80). Unlike in text, the name
// must be complete, and a name without its semicolon is not an entity before an equals sign: most
// ampersands separate the parameters of a URL.
func attributeEntity(s string) (text string, width int) {
	const amp = "&amp;"
	switch {
	case strings.HasPrefix(s, amp):
		return "&", len(amp)
	case strings.HasPrefix(s, "&#"):
		return numberEntity(s)
	}
	n := 1
	for n < len(s) && n < maxEntity && (IsLetter(s[n]) || isDecimal(s[n])) {
		n++
	}
	closed := n < len(s) && s[n] == ';'
	if closed {
		n++
	} else if n < len(s) && s[n] == '=' {
		return "&", 1
	}
	if text = html.UnescapeString(s[:n]); !isWhole(text, s[:n], closed) {
		return "&", 1
	}
	return text, n
}

// maxEntity limits the length of an entity's name; the longest has 32 bytes.
const maxEntity = 40

// isWhole reports whether text is the decoding of the complete name. For a name that only begins
// like an entity the rest remains as text.
func isWhole(text, name string, closed bool) bool {
	switch {
	case text == name:
		return false
	case closed:
		return !strings.HasSuffix(text, ";") || name == "&semi;"
	}
	return utf8.RuneCountInString(text) == 1
}

func numberEntity(s string) (text string, width int) {
	n, digit := 2, isDecimal
	if n < len(s) && s[n]|0x20 == 'x' {
		n, digit = 3, isHexDigit
	}
	first := n
	for n < len(s) && digit(s[n]) {
		n++
	}
	if n == first {
		return "&", 1
	}
	if n < len(s) && s[n] == ';' {
		n++
	}
	return html.UnescapeString(s[:n]), n
}

func isHexDigit(c byte) bool { return isDecimal(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
