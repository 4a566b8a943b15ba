package app

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxRendered is how many bytes of HTML and text the templates that one request
// renders may come to, and what one template may hold: as much as a request
// could have carried itself. Without it, a short request could ask for gigabytes.
const MaxRendered = 40 << 20

// placeholder is one {{{KEY}}} or {{{KEY|fallback}}} of a template.
type placeholder struct {
	key         string
	fallback    string
	hasFallback bool
}

const unsubscribeToken = "{{{UNSUBSCRIBE_URL}}}"

// placeholderError says what is wrong with a text's placeholders, in words that
// follow the name of its field.
type placeholderError string

// Error implements error.
func (e placeholderError) Error() string { return string(e) }

// nextPlaceholder splits s around its first placeholder; found is false where
// there is none. Three braces that open none are an error, since they would
// reach the recipient. Where more than three stand in a row, the last three
// count. Reading a whole text with it takes linear time.
func nextPlaceholder(s string) (before string, p placeholder, after string, found bool, err error) {
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
	p.key, p.fallback, p.hasFallback = strings.Cut(inside, "|")
	p.key, p.fallback = strings.Trim(p.key, blanks), strings.Trim(p.fallback, blanks)
	if !isPlaceholderKey(p.key) || strings.Contains(p.fallback, "{{{") {
		return s, p, "", false, placeholderError("holds {{{" + excerpt(inside) + "}}}, which is no placeholder: {{{KEY}}} and {{{KEY|fallback}}} are, with letters, digits and _ in the key")
	}
	return s[:i], p, after, true, nil
}

// excerpt is the beginning of a text on one line, for a message.
func excerpt(s string) string {
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
	return checkPropertyKey(strings.TrimPrefix(key, "contact."), MaxPropertyKey) == nil
}

// The names that stand for something else than a variable (clients.md 3).
func reservedKey(key string) bool {
	return isUnsubscribeKey(key) || strings.HasPrefix(key, "contact.") ||
		slices.Contains([]string{"FIRST_NAME", "LAST_NAME", "EMAIL", "contact", "this"}, key)
}

func isUnsubscribeKey(key string) bool {
	return key == "UNSUBSCRIBE_URL" || key == "RESEND_UNSUBSCRIBE_URL"
}

// checkPlaceholders wants each placeholder of a part to be known. The link to the
// unsubscribe page is filled in bodies only.
func checkPlaceholders(field, s string, known func(key string) bool) error {
	whole := s
	for links := 0; ; {
		_, p, after, found, err := nextPlaceholder(s)
		switch {
		case err != nil:
			at := len(whole) - len(s) + strings.Index(s, "{{{")
			return Invalid(field, "%s (line %d)", err, 1+strings.Count(whole[:at], "\n"))
		case !found:
			return nil
		case !known(p.key):
			return Invalid(field, "holds {{{%s}}}, which `variables` does not declare", excerpt(p.key))
		case isUnsubscribeKey(p.key) && (field == "subject" || field == "preview_text"):
			return Invalid(field, "can't hold {{{%s}}}: the link stands in html and text only", p.key)
		case isUnsubscribeKey(p.key):
			links++
		}
		if links > maxPlaceholders {
			return Invalid(field, "must not hold more than %d unsubscribe placeholders", maxPlaceholders)
		}
		s = after
	}
}

// Rendered is what a template became.
type Rendered struct {
	Subject string // empty: the template has none
	HTML    string
	Text    *string // nil: made of HTML; empty: none
}

// Size is the bytes of both bodies.
func (r *Rendered) Size() int {
	if r.Text == nil {
		return len(r.HTML)
	}
	return len(r.HTML) + len(*r.Text)
}

// Render fills the template's variables in one pass: what is filled in is never
// read again. Values are escaped in HTML, plain in the text, and on one line in
// the subject, which is rendered only where withSubject asks for it. Names of
// contacts, which a send has none of, become their own fallback or nothing; the
// unsubscribe link stays a placeholder, filled when the mail leaves. limit is
// how many bytes both bodies may have together. Errors: CodeValidation for
// values that do not fit the variables, CodePayloadTooLarge.
func (c *TemplateContent) Render(values map[string]PropertyValue, withSubject bool, limit int) (*Rendered, error) {
	if err := c.checkValues(values); err != nil {
		return nil, err
	}
	out := &Rendered{}
	var err error
	if withSubject {
		if out.Subject, err = c.renderPart("subject", c.Subject, values, oneLine, MaxSubject); err != nil {
			return nil, err
		}
	}
	if out.HTML, err = c.renderPart("html", c.HTML, values, html.EscapeString, limit); err != nil {
		return nil, err
	}
	if c.Text == nil {
		return out, nil
	}
	text, err := c.renderPart("text", *c.Text, values, func(s string) string { return s }, limit-len(out.HTML))
	if err != nil {
		return nil, err
	}
	out.Text = &text
	return out, nil
}

// checkValues wants a declared variable of the same type for each value.
func (c *TemplateContent) checkValues(values map[string]PropertyValue) error {
	declared := make(map[string]PropertyType, len(c.Variables))
	for _, v := range c.Variables {
		declared[v.Key] = v.Type
	}
	for _, key := range sortedKeys(values) {
		want, ok := declared[key]
		if !ok {
			return Invalid("template.variables."+excerpt(key), "is not a variable of the template")
		}
		if values[key].Type != want {
			return Invalid("template.variables."+key, "must be a %s", want)
		}
	}
	return nil
}

// renderPart fills the placeholders of one part. escape makes a value fit into
// it; a fallback that stands in the placeholder is part of the template.
func (c *TemplateContent) renderPart(field, s string, values map[string]PropertyValue, escape func(string) string, limit int) (string, error) {
	var b strings.Builder
	var links []int // where placeholders of the unsubscribe link stand
	for {
		before, p, after, found, err := nextPlaceholder(s)
		if err != nil {
			return "", Invalid(field, "%s", err) // no published template has such
		}
		text := ""
		if found {
			if text, err = c.fill(p, values, escape); err != nil {
				return "", err
			}
		}
		if b.Len()+len(before)+len(text) > limit {
			return "", tooLarge(field)
		}
		b.WriteString(before)
		if isUnsubscribeKey(p.key) {
			links = append(links, b.Len())
		}
		b.WriteString(text)
		if !found {
			return breakOthers(b.String(), links), nil
		}
		s = after
	}
}

func tooLarge(field string) error {
	if field == "subject" {
		return Invalid(field, "must not be longer than %d bytes", MaxSubject)
	}
	return Errorf(CodePayloadTooLarge, "The templates of a request may come to %d bytes together once they are filled", MaxRendered)
}

// fill gives what stands in the place of a placeholder.
func (c *TemplateContent) fill(p placeholder, values map[string]PropertyValue, escape func(string) string) (string, error) {
	if isUnsubscribeKey(p.key) {
		return unsubscribeToken, nil
	}
	if v, ok := values[p.key]; ok {
		return escape(v.String()), nil
	}
	if p.hasFallback || reservedKey(p.key) {
		return p.fallback, nil
	}
	for _, v := range c.Variables {
		if v.Key == p.key && v.Fallback != nil {
			return escape(v.Fallback.String()), nil
		}
	}
	return "", Invalid("template.variables."+p.key, "is required: the template has no fallback for it")
}

// wordJoiner has no width; it stands where an unsubscribe placeholder must not
// be read as one.
const wordJoiner = "\u2060"

// breakOthers puts a word joiner into each unsubscribe placeholder that does not
// stand at one of links, in order: it came out of a value, and the mail's own
// are filled when it leaves.
func breakOthers(s string, links []int) string {
	var b strings.Builder
	rest := s
	for {
		before, after, found := cutPlaceholder(rest)
		if !found {
			break
		}
		at := len(s) - len(rest) + len(before)
		token := rest[len(before) : len(rest)-len(after)]
		b.WriteString(before)
		if len(links) > 0 && links[0] == at {
			links = links[1:]
			b.WriteString(token)
		} else {
			b.WriteString("{" + wordJoiner + token[1:])
		}
		rest = after
	}
	if b.Len() == 0 {
		return s
	}
	b.WriteString(rest)
	return b.String()
}

// oneLine turns what could end a header's line, or is no text, into blanks.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// TemplateUse is what a send says about its template.
type TemplateUse struct {
	ID        string // or alias
	Variables map[string]PropertyValue
}

// Validate checks the values for themselves. Errors: CodeValidation.
func (u *TemplateUse) Validate() error {
	if u.ID == "" {
		return Invalid("template.id", "is required")
	}
	if len(u.Variables) > MaxTemplateVariables {
		return Invalid("template.variables", "can hold at most %d variables", MaxTemplateVariables)
	}
	for _, key := range sortedKeys(u.Variables) {
		if err := checkVariableValue(u.Variables[key]); err != nil {
			return Invalid("template.variables."+excerpt(key), "%s", err)
		}
	}
	return nil
}

// StandIn gives the send as it can be checked before its template is known: with
// a sender of domain (or any), a subject and a body where they may come from the
// template. Errors: CodeValidation.
func (in *EmailInput) StandIn(domain string) (*EmailInput, error) {
	if err := in.Template.Validate(); err != nil {
		return nil, err
	}
	if in.HTML != "" {
		return nil, Invalid("html", "can't be given together with `template`")
	}
	if in.Text != nil && *in.Text != "" {
		return nil, Invalid("text", "can't be given together with `template`")
	}
	whole := *in
	if domain == "" {
		domain = "template.invalid"
	}
	if whole.From == "" {
		whole.From = "stand-in@" + domain
	}
	if whole.Subject == "" {
		whole.Subject = "-"
	}
	whole.HTML, whole.Text, whole.Template = "-", nil, nil
	return &whole, nil
}

// Fill gives the send with what its template says: sender, subject and reply_to
// of the send go before the template's. limit is as Render has it. Errors:
// CodeValidation (for a draft too), CodePayloadTooLarge.
func (in *EmailInput) Fill(c *TemplateContent, limit int) (*EmailInput, error) {
	whole := *in
	whole.Template = nil
	if whole.From == "" {
		whole.From = c.From
	}
	if whole.From == "" {
		return nil, Invalid("from", "is required: the template has none")
	}
	if whole.Subject == "" && c.Subject == "" {
		return nil, Invalid("subject", "is required: the template has none")
	}
	r, err := c.Render(in.Template.Variables, whole.Subject == "", limit)
	if err != nil {
		return nil, err
	}
	if whole.Subject == "" {
		whole.Subject = r.Subject
	}
	if len(present(whole.ReplyTo)) == 0 {
		whole.ReplyTo = c.ReplyTo
	}
	whole.HTML, whole.Text = r.HTML, r.Text
	return &whole, nil
}

// checkVariableValue wants a text of at most maxVariableText characters or a
// number that JavaScript holds exactly (clients.md 3).
func checkVariableValue(v PropertyValue) error {
	const most = 1<<53 - 1
	switch {
	case v.Type == NumberProperty && !(v.Number >= -most && v.Number <= most):
		return fmt.Errorf("must be a number between -(2^53-1) and 2^53-1")
	case utf8.RuneCountInString(v.Text) > maxVariableText:
		return fmt.Errorf("can have at most %d characters", maxVariableText)
	case !utf8.ValidString(v.Text) || strings.Contains(v.Text, "\x00"):
		return fmt.Errorf("must be valid UTF-8 without the character NUL")
	}
	return nil
}
