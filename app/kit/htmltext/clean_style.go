package htmltext

import (
	"regexp"
	"strconv"
	"strings"
)

// activeStyles matches what runs or loads styles in CSS: of old browsers, since today's know @import alone.
var activeStyles = regexp.MustCompile(`(?i)@import|expression\s*\(|-moz-binding|\b(?:java|vb)script\s*:|(?:^|[^-\w])behaviou?r\s*:`)

// cssComments matches comments, cssEscapes escaped characters of CSS.
var (
	cssComments = regexp.MustCompile(`(?s)/\*.*?(?:\*/|$)`)
	cssEscapes  = regexp.MustCompile(`\\(?:[0-9A-Fa-f]{1,6}[ \t\r\n\f]?|[^0-9A-Fa-f\r\n\f])`)
)

// cleanStyle returns CSS in which nothing runs or loads other styles. CSS that hides such a part by comments or
// escapes is dropped.
func cleanStyle(css string) string {
	css = activeStyles.ReplaceAllStringFunc(css, func(s string) string {
		switch first, last := s[0], s[len(s)-1]; {
		case first == '@':
			return "@removed"
		case last == '(':
			return "removed("
		case last == ':' && strings.HasSuffix(strings.ToLower(strings.TrimRight(s[:len(s)-1], " \t\r\n\f")), "script"):
			return "removed:"
		case last == ':':
			return strings.TrimRight(s[:1], "bB") + "removed:" // with the character before it
		}
		return "removed"
	})
	plain := cssEscapes.ReplaceAllStringFunc(cssComments.ReplaceAllString(css, ""), func(s string) string {
		code, err := strconv.ParseUint(strings.TrimRight(s[1:], " \t\r\n\f"), 16, 32)
		if err != nil {
			return s[1:]
		}
		return string(rune(min(code, 0xfffd)))
	})
	if activeStyles.MatchString(plain) {
		return ""
	}
	return css
}
