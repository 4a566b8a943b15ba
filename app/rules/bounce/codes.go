package bounce

import "strings"

// weight is how conclusive an enhanced status code is.
type weight int

const (
	silent  weight = iota // not conclusive: phrases decide
	vague                 // vague: clear phrases about the mailbox decide
	address               // condemns the address, unless phrases are about something else
	firm                  // conclusive: phrases only refine the reason
)

// codeRow is the meaning of a code.
type codeRow struct {
	reason Reason
	weight weight
}

// codes are permanent codes, without their class 5, that say more than their subject (RFC 3463 3,
// RFC 7505, RFC 7372, and codes of Exchange).
var codes = map[string]codeRow{
	"1.1": {NoMailbox, address}, "1.2": {NoDomain, address}, "1.3": {BadAddress, address}, "1.6": {Moved, address}, "1.10": {NullMX, address},
	"1.7": {Sender, firm}, "1.8": {Sender, firm}, "1.20": {Sender, firm}, "1.90": {Rate, firm},
	"2.1": {Disabled, address}, "2.2": {Full, firm}, "2.3": {TooLarge, firm}, "2.121": {Rate, firm}, "2.122": {Rate, firm},
	"3.1": {Temporary, vague}, "3.2": {Temporary, vague}, "3.4": {TooLarge, firm},
	"4.5": {Rate, vague}, "4.7": {Expired, firm}, "4.316": {Expired, firm},
	"7.20": {Authentication, firm}, "7.21": {Authentication, firm}, "7.22": {Authentication, firm}, "7.23": {Authentication, firm},
	"7.24": {Authentication, firm}, "7.25": {Authentication, firm}, "7.26": {Authentication, firm}, "7.27": {Sender, firm}, "7.28": {Rate, firm},
}

// subjects are the meanings of permanent codes by subject, if codes has no row.
var subjects = map[string]codeRow{
	"0": {NoReason, silent}, "1": {NoReason, vague}, "2": {NoReason, vague}, "3": {NoReason, vague},
	"4": {Unreachable, vague}, "5": {Protocol, vague}, "6": {Content, firm}, "7": {Policy, firm},
}

// temporaryCodes are codes of class 4 with a known reason. None condemns an address.
var temporaryCodes = map[string]Reason{"1.7": Sender, "1.8": Sender, "2.2": Full, "2.3": TooLarge, "3.4": TooLarge, "4.7": Expired, "7.28": Rate}

// lookUp returns the meaning of an enhanced status code.
func lookUp(code string) codeRow {
	class, rest, _ := strings.Cut(code, ".")
	subject, detail, _ := strings.Cut(rest, ".")
	if class == "4" {
		switch reason, ok := temporaryCodes[rest]; {
		case ok:
			return codeRow{reason, firm}
		case subject == "6" || subject == "7":
			return codeRow{subjects[subject].reason, firm}
		}
		return codeRow{Temporary, firm}
	}
	row, ok := codes[rest]
	switch {
	case class != "5":
		return codeRow{NoReason, silent}
	case ok:
		return row
	}
	row = subjects[subject]
	if detail == "0" && row.weight == vague { // "other or undefined"
		row.weight = silent
	}
	return row
}

// SaysWhy reports whether an enhanced status code is more specific than "other" (5.0.0, 5.1.0).
func SaysWhy(code string) bool { return lookUp(code).weight != silent }

// IsStatus reports whether s is an enhanced status code of a failure with a subject of RFC 3463:
// 5.12.26 is a date.
func IsStatus(s string) bool {
	class, rest, _ := strings.Cut(s, ".")
	subject, detail, ok := strings.Cut(rest, ".")
	return ok && (class == "4" || class == "5") && len(subject) == 1 && subject <= "7" && subject >= "0" && isShortNumber(detail)
}

func isShortNumber(s string) bool {
	return len(s) >= 1 && len(s) <= 3 && strings.Trim(s, "0123456789") == "" && (len(s) == 1 || s[0] != '0')
}

// StatusIn returns the first conclusive enhanced status code of a failure in a text, otherwise the
// first one; empty: none.
func StatusIn(text string) (found string) {
	for word := range numbers(text) {
		if word = strings.TrimRight(word, "."); !IsStatus(word) {
			continue
		}
		if lookUp(word).weight != silent {
			return word
		}
		if found == "" {
			found = word
		}
	}
	return found
}

// ReplyIn returns the first SMTP reply code of a failure in a text; 0: none.
func ReplyIn(text string) int {
	for word := range numbers(text) {
		if len(word) == 3 && (word[0] == '4' || word[0] == '5') && word[1] <= '5' && strings.IndexByte(word, '.') < 0 {
			return int(word[0]-'0')*100 + int(word[1]-'0')*10 + int(word[2]-'0')
		}
	}
	return 0
}

// numbers yields the runs of digits and dots in a text that are not part of a word.
func numbers(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for at := 0; at < len(text); {
			end := at
			for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.') {
				end++
			}
			if end > at && (at == 0 || isDelimited(text[at-1])) && (end == len(text) || isDelimited(text[end])) && !yield(text[at:end]) {
				return
			}
			at = end + 1
		}
	}
}

func isDelimited(c byte) bool {
	return c <= ' ' || strings.IndexByte("-#()[]{},;:\"'<>=/|*_!", c) >= 0
}
