package app

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// CheckBroadcastPlaceholders wants each {{{ of a text to begin a placeholder: a
// name of the contact's, a property, or, but for subject and preview_text, the
// link to the unsubscribe page, at most 100 times. A property need not exist.
// Errors: CodeValidation, naming the field.
func CheckBroadcastPlaceholders(field, text string) error {
	return checkPlaceholders(field, text, func(string) bool { return true })
}

// Placeholder is one {{{KEY}}} or {{{KEY|fallback}}} of a template.
type Placeholder struct {
	Key         string
	Fallback    string
	HasFallback bool
}

// String spells a placeholder.
func (p Placeholder) String() string {
	if p.HasFallback {
		return "{{{" + p.Key + "|" + p.Fallback + "}}}"
	}
	return "{{{" + p.Key + "}}}"
}

// placeholderError says what is wrong with a text's placeholders, in words that
// follow the name of its field.
type placeholderError string

// Error implements error.
func (e placeholderError) Error() string { return string(e) }

// NextPlaceholder splits s around its first placeholder; found is false where
// there is none. Three braces that open none are an error, since they would
// reach the recipient. Where more than three stand in a row, the last three
// count. Reading a whole text with it takes linear time.
func NextPlaceholder(s string) (before string, p Placeholder, after string, found bool, err error) {
	i := strings.Index(s, "{{{")
	if i < 0 {
		return s, p, "", false, nil
	}
	for i+3 < len(s) && s[i+3] == '{' {
		i++
	}
	inside, after, closed := strings.Cut(s[i+3:], "}}}")
	if !closed {
		return s, p, "", false, placeholderError("opens a placeholder with {{{ that never ends")
	}
	p.Key, p.Fallback, p.HasFallback = strings.Cut(inside, "|")
	p.Key, p.Fallback = strings.Trim(p.Key, blanks), strings.Trim(p.Fallback, blanks)
	if !isPlaceholderKey(p.Key) || strings.Contains(p.Fallback, "{{{") {
		return s, p, "", false, placeholderError("holds {{{" + Excerpt(inside) + "}}}, which is no placeholder: {{{KEY}}} and {{{KEY|fallback}}} are, with letters, digits and _ in the key")
	}
	return s[:i], p, after, true, nil
}

// Excerpt is the beginning of a text on one line, for a message.
func Excerpt(s string) string {
	const limit = 50
	if len(s) > limit {
		n := limit
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '`' {
			return ' '
		}
		return r
	}, s)
}

// isPlaceholderKey: a variable's key, or contact. and a property's.
func isPlaceholderKey(key string) bool {
	return CheckPropertyKey(strings.TrimPrefix(key, "contact."), MaxPropertyKey) == nil
}

// ReservedKey reports whether a key stands for something else than a variable: the
// unsubscribe link, or a field of the contact.
func ReservedKey(key string) bool {
	return IsUnsubscribeKey(key) || strings.HasPrefix(key, "contact.") ||
		slices.Contains([]string{"FIRST_NAME", "LAST_NAME", "EMAIL", "contact", "this"}, key)
}

// IsUnsubscribeKey reports whether a key stands for the link to the unsubscribe
// page.
func IsUnsubscribeKey(key string) bool {
	return key == "UNSUBSCRIBE_URL" || key == "RESEND_UNSUBSCRIBE_URL"
}

// checkPlaceholders wants each placeholder of a part to be known. The link to the
// unsubscribe page is filled in bodies only.
func checkPlaceholders(field, s string, known func(key string) bool) error {
	whole := s
	for links := 0; ; {
		_, p, after, found, err := NextPlaceholder(s)
		switch {
		case err != nil:
			at := len(whole) - len(s) + strings.Index(s, "{{{")
			return Invalid(field, "%s (line %d)", err, 1+strings.Count(whole[:at], "\n"))
		case !found:
			return nil
		case !known(p.Key):
			return Invalid(field, "holds {{{%s}}}, which `variables` does not declare", Excerpt(p.Key))
		case IsUnsubscribeKey(p.Key) && (field == "subject" || field == "preview_text"):
			return Invalid(field, "can't contain {{{%s}}}: use the link in html and text only", p.Key)
		case IsUnsubscribeKey(p.Key):
			links++
		}
		if links > maxPlaceholders {
			return Invalid(field, "must not hold more than %d unsubscribe placeholders", maxPlaceholders)
		}
		s = after
	}
}

// OneLine turns what could end a header's line, or is no text, into blanks.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// maxPlaceholders bounds how often one body can ask for its link, which is
// several times as long: a message must not outgrow what was accepted.
const maxPlaceholders = 100

// CutPlaceholder splits s around its first unsubscribe placeholder:
// {{{UNSUBSCRIBE_URL}}} or {{{RESEND_UNSUBSCRIBE_URL}}}, white space inside the
// braces allowed. It takes linear time.
func CutPlaceholder(s string) (before, after string, found bool) {
	for at := 0; ; at++ {
		i := strings.Index(s[at:], "{{{")
		if i < 0 {
			return s, "", false
		}
		at += i
		rest := strings.TrimLeft(s[at+3:], blanks)
		rest = strings.TrimPrefix(rest, "RESEND_")
		if rest, found = strings.CutPrefix(rest, "UNSUBSCRIBE_URL"); !found {
			continue
		}
		if rest, found = strings.CutPrefix(strings.TrimLeft(rest, blanks), "}}}"); found {
			return s[:at], rest, true
		}
	}
}

const blanks = " \t\r\n"

// Placeholders counts the unsubscribe placeholders of a body.
func Placeholders(s string) (n int) {
	for _, s, found := CutPlaceholder(s); found; _, s, found = CutPlaceholder(s) {
		n++
	}
	return n
}

// fillPlaceholders puts link in the place of each unsubscribe placeholder.
func fillPlaceholders(s, link string) string {
	before, after, found := CutPlaceholder(s)
	if !found {
		return s
	}
	var b strings.Builder
	for ; found; before, after, found = CutPlaceholder(after) {
		b.WriteString(before)
		b.WriteString(link)
	}
	b.WriteString(before)
	return b.String()
}
