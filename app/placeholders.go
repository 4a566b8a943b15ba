package app

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// CheckBroadcastPlaceholders checks that each {{{ of a text begins a valid placeholder: a name of
// the contact, a property, or a link to a page, which subject and preview_text must not contain and
// other fields at most 100 times. A property need not exist. Errors: CodeValidation.
func CheckBroadcastPlaceholders(field, text string) error {
	return checkPlaceholders(field, text, "", func(string) bool { return true })
}

// CheckBlockPlaceholders checks the placeholders of a saved block: names of the contact, and links to
// pages. Errors: CodeValidation.
func CheckBlockPlaceholders(field, text string) error {
	return checkPlaceholders(field, text, "which a block can't hold: write {{ contact.KEY }} for a property", func(key string) bool { return IsPageKey(key) || ReservedKey(key) })
}

// Placeholder is one {{{KEY}}} or {{{KEY|fallback}}} of a template.
type Placeholder struct {
	Key         string
	Fallback    string
	HasFallback bool
}

// String returns the placeholder as it is written in a template.
func (p Placeholder) String() string {
	if p.HasFallback {
		return "{{{" + p.Key + "|" + p.Fallback + "}}}"
	}
	return "{{{" + p.Key + "}}}"
}

// placeholderError describes an invalid placeholder. The text follows the name of the field.
type placeholderError string

// Error implements error.
func (e placeholderError) Error() string { return string(e) }

// NextPlaceholder splits s at its first placeholder; found is false if there is none. Three braces
// that begin no placeholder are an error, since the recipient would see them. Of more than three
// braces in a row the last three count. Reading a whole text this way takes linear time.
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

// Excerpt returns the beginning of a text on one line for an error message.
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

// isPlaceholderKey reports whether key is the key of a variable, or "contact." and the key of a
// property.
func isPlaceholderKey(key string) bool {
	return CheckPropertyKey(strings.TrimPrefix(key, "contact."), MaxPropertyKey) == nil
}

// ReservedKey reports whether key is not available for a variable: it is the unsubscribe link or a
// field of the contact.
func ReservedKey(key string) bool {
	return IsUnsubscribeKey(key) || strings.HasPrefix(key, "contact.") ||
		slices.Contains([]string{"FIRST_NAME", "LAST_NAME", "EMAIL", "contact", "this"}, key)
}

// IsUnsubscribeKey reports whether key is the unsubscribe link.
func IsUnsubscribeKey(key string) bool {
	return key == "UNSUBSCRIBE_URL" || key == "RESEND_UNSUBSCRIBE_URL"
}

// ViewKey is the placeholder of the page that shows the mail in a browser. A template declares it as
// a variable.
const ViewKey = "VIEW_URL"

// IsPageKey reports whether key is a link to a page of the mail.
func IsPageKey(key string) bool { return IsUnsubscribeKey(key) || key == ViewKey }

// checkPlaceholders checks that each placeholder of a part is known; unknown says what else it is. Links
// to pages are allowed in bodies only.
func checkPlaceholders(field, s, unknown string, known func(key string) bool) error {
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
			return Invalid(field, "holds {{{%s}}}, %s", Excerpt(p.Key), unknown)
		case IsPageKey(p.Key) && inHeader(field):
			return Invalid(field, "can't contain {{{%s}}}: use the link in html and text only", p.Key)
		case IsPageKey(p.Key):
			links++
		}
		if links > maxPlaceholders {
			return Invalid(field, "must not hold more than %d placeholders of pages", maxPlaceholders)
		}
		s = after
	}
}

// OneLine replaces line breaks, control characters and invalid UTF-8 by blanks.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// CutPlaceholder splits s at its first unsubscribe placeholder: {{{UNSUBSCRIBE_URL}}} or
// {{{RESEND_UNSUBSCRIBE_URL}}}, with optional white space inside the braces. It takes linear time.
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

// fillPlaceholders replaces each unsubscribe placeholder by link.
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

// The variables of templates of confirmations, which declare them as strings: the page that confirms an
// opt-in, the page that refuses it, and the name of the form, which is empty for an opt-in by API.
const (
	ConfirmKey  = "CONFIRM_URL"
	RefuseKey   = "REFUSE_URL"
	FormNameKey = "FORM_NAME"
)

// CheckConfirmation checks that a content declares ConfirmKey and RefuseKey, and names nothing but them
// and FormNameKey. Errors: CodeValidation for the field.
func (c *TemplateContent) CheckConfirmation(field string) error {
	declared := map[string]bool{}
	for _, v := range c.Variables {
		if v.Key != ConfirmKey && v.Key != RefuseKey && v.Key != FormNameKey || v.Type != StringProperty {
			return Invalid(field, "names a template with the variable %s; a confirmation has only the strings %s, %s and %s, so that it holds nothing that a stranger typed", v.Key, ConfirmKey, RefuseKey, FormNameKey)
		}
		declared[v.Key] = true
	}
	if !declared[ConfirmKey] || !declared[RefuseKey] {
		return Invalid(field, "must name a template that declares the variables %s and %s", ConfirmKey, RefuseKey)
	}
	for _, part := range c.Parts() {
		err := checkPlaceholders(field, part.Text, "which a confirmation can't hold", func(key string) bool { return declared[key] })
		if err != nil {
			return err
		}
	}
	return nil
}
