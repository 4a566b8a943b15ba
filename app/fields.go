package app

import "unicode/utf8"

// CutText returns the first characters of s that fit into limit bytes.
func CutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

const EmailField = "email"

const FirstNameField = "first_name"

const LastNameField = "last_name"
