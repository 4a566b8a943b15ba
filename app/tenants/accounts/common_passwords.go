package accounts

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
)

// commonText holds the most common passwords, one word each, in lower case.
//
//go:embed common.txt
var commonText string

var commonWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(commonText) {
		words[word] = true
	}
	return words
})

// isCommon reports whether a password is a common one, or is derived from common ones: padded with
// digits, repeated, or a concatenation of two.
func isCommon(password string) bool {
	p := strings.ToLower(strings.Join(strings.Fields(password), ""))
	core := strings.TrimFunc(p, func(r rune) bool { return !unicode.IsLetter(r) })
	return len(shortestPeriod(p)) < 5 || isKeyRun(p) || isMadeOfCommon(p) || isMadeOfCommon(core)
}

// isMadeOfCommon is isCommon for a password without padding.
func isMadeOfCommon(p string) bool {
	common := commonWords()
	if common[shortestPeriod(p)] {
		return true
	}
	for i := 3; i <= len(p)-3; i++ {
		if common[p[:i]] && common[p[i:]] {
			return true
		}
	}
	return false
}

// shortestPeriod returns the shortest prefix whose repetition is the whole text.
func shortestPeriod(p string) string {
	for n := 1; n < len(p); n++ {
		if strings.HasPrefix(p, p[n:]) {
			return p[:n]
		}
	}
	return p
}

// keyboardRows are sequences of adjacent keys, and the alphabet.
var keyboardRows = [...]string{"abcdefghijklmnopqrstuvwxyz", "01234567890123456789", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p"}

// isKeyRun reports whether a text is part of a keyboard row, forwards or backwards.
func isKeyRun(p string) bool {
	reversed := []rune(p)
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	for _, row := range keyboardRows {
		if strings.Contains(row, p) || strings.Contains(row, string(reversed)) {
			return true
		}
	}
	return false
}
