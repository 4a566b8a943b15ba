package app

import (
	"strings"
	"unicode"
)

// IsEnhancedCode reports whether s is an enhanced status code (RFC 3463 2) and
// nothing more: a class of 2, 4 or 5, a subject and a detail of 1 to 3 digits
// without leading zeros.
func IsEnhancedCode(s string) bool {
	class, rest, _ := strings.Cut(s, ".")
	subject, detail, ok := strings.Cut(rest, ".")
	return ok && (class == "2" || class == "4" || class == "5") && isShortNumber(subject) && isShortNumber(detail)
}

func isShortNumber(s string) bool {
	return len(s) >= 1 && len(s) <= 3 && strings.Trim(s, "0123456789") == "" && (len(s) == 1 || s[0] != '0')
}

// FindEnhancedCode returns the enhanced status code in a server's words: the first
// word that is one, right behind a reply code where there is one, within the
// first 20 words. Empty: there is none.
func FindEnhancedCode(text string) string {
	words := strings.FieldsFunc(text[:min(len(text), 1000)], func(r rune) bool { return !unicode.IsDigit(r) && r != '.' && r != '#' })
	for _, word := range words[:min(len(words), 20)] {
		word = strings.TrimRight(strings.TrimLeft(word, "#"), ".")
		if IsEnhancedCode(word) && word[0] != '2' {
			return word
		}
	}
	return ""
}
