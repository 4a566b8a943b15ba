package app

import "strings"

// IsEnhancedCode reports whether s is exactly an enhanced status code (RFC 3463 2): a class of 2,
// 4 or 5, a subject and a detail of 1 to 3 digits without leading zeros.
func IsEnhancedCode(s string) bool {
	class, rest, _ := strings.Cut(s, ".")
	subject, detail, ok := strings.Cut(rest, ".")
	return ok && (class == "2" || class == "4" || class == "5") && isUpToThreeDigits(subject) && isUpToThreeDigits(detail)
}

func isUpToThreeDigits(s string) bool {
	return len(s) >= 1 && len(s) <= 3 && strings.Trim(s, "0123456789") == "" && (len(s) == 1 || s[0] != '0')
}
