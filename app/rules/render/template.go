package render

import (
	"html"
	"regexp"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// Rendered is a rendered template.
type Rendered struct {
	Subject  string // empty: none
	HTML     string
	Text     *string // nil: derived from HTML; empty: none
	Language string  // of the variant, for previews; empty: the template itself
}

// Template renders the template's variables in one pass: values are not parsed again. Values are
// escaped in HTML, so that a value is never more than one attribute even without quotes, plain in
// the text, and on one line in the subject, which is rendered only if withSubject is set. Names of
// contacts become those of contact; without one, which a send does not have, their fallback or nothing. The unsubscribe link
// remains a placeholder until the mail is sent. now is the time that Liquid shows. limit is the
// maximum of both bodies in bytes.
// Errors: CodeValidation for values that do not fit the variables, CodePayloadTooLarge.
func Template(c *app.TemplateContent, values map[string]app.PropertyValue, contact *app.Contact, withSubject bool, now time.Time, limit int) (*Rendered, error) {
	values, err := checkValues(c, values)
	if err != nil {
		return nil, err
	}
	addContact(values, contact)
	if c.Syntax == app.LiquidSyntax {
		return liquidTemplate(c, values, withSubject, now, limit)
	}
	out := &Rendered{}
	if withSubject {
		if out.Subject, err = renderPart(c, "subject", c.Subject, values, escapeAll(app.OneLine), app.MaxSubject); err != nil {
			return nil, err
		}
	}
	source := htmltext.RepairPageLinks(c.HTML)
	if out.HTML, err = renderPart(c, "html", source, values, htmlEscapes(source), limit); err != nil {
		return nil, err
	}
	if c.Text == nil {
		return out, nil
	}
	text, err := renderPart(c, "text", htmltext.RepairPageLinks(*c.Text), values, escapeAll(unescaped), limit-len(out.HTML))
	if err != nil {
		return nil, err
	}
	out.Text = &text
	return out, nil
}

// checkValues checks that each value has a declared variable and is one of its type, and returns them as
// such.
func checkValues(c *app.TemplateContent, values map[string]app.PropertyValue) (map[string]app.PropertyValue, error) {
	out := make(map[string]app.PropertyValue, len(values))
	for _, key := range app.SortedKeys(values) {
		i := slices.IndexFunc(c.Variables, func(v app.TemplateVariable) bool { return v.Key == key })
		if i < 0 {
			return nil, app.Invalid("template.variables."+app.Excerpt(key), "is not a variable of the template")
		}
		value, err := c.Variables[i].Value(values[key])
		if err != nil {
			return nil, app.Invalid("template.variables."+key, "%s", err)
		}
		out[key] = value
	}
	return out, nil
}

// addContact adds the values of a contact to those of variables, under the reserved names of placeholders. Values
// that are empty are left out, so that fallbacks show.
func addContact(values map[string]app.PropertyValue, c *app.Contact) {
	if c == nil {
		return
	}
	for key, text := range map[string]string{"FIRST_NAME": c.FirstName, "LAST_NAME": c.LastName, "EMAIL": c.Email,
		"contact.first_name": c.FirstName, "contact.last_name": c.LastName, "contact.email": c.Email} {
		if text != "" {
			values[key] = app.PropertyValue{Type: app.StringProperty, Text: text}
		}
	}
	for key, v := range c.Properties {
		if name := "contact." + key; !v.Empty() && values[name].Type == "" {
			values[name] = v
		}
	}
}

// escapes returns the escaping function for a placeholder of a part by its index.
type escapes func(index int) func(string) string

func escapeAll(escape func(string) string) escapes {
	return func(int) func(string) string { return escape }
}

// htmlEscapes finds placeholders in HTML without quotes around them: a blank in a value would
// begin another attribute there.
func htmlEscapes(source string) escapes {
	m := newMarks(source)
	marked, err := m.put(source, nil)
	if err != nil || len(m.list) == 0 {
		return escapeAll(html.EscapeString)
	}
	inTags := m.bare(marked)
	var bare []bool
	for from := 0; ; {
		before, _, after, found := m.cut(marked[from:])
		if !found {
			break
		}
		bare = append(bare, inTags[from+len(before)])
		from = len(marked) - len(after)
	}
	return func(index int) func(string) string {
		if bare[index] {
			return escapeBare
		}
		return html.EscapeString
	}
}

// renderPart fills the placeholders of one part. A fallback in a placeholder is part of the
// template.
func renderPart(c *app.TemplateContent, field, s string, values map[string]app.PropertyValue, escape escapes, limit int) (string, error) {
	var b strings.Builder
	index := 0
	var links []int // positions of unsubscribe placeholders
	for {
		before, p, after, found, err := app.NextPlaceholder(s)
		if err != nil {
			return "", app.Invalid(field, "%s", err) // published templates are valid
		}
		text := ""
		if found {
			if text, err = fill(c, p, values, escape(index)); err != nil {
				return "", err
			}
			index++
		}
		if b.Len()+len(before)+len(text) > limit {
			return "", tooLarge(field)
		}
		b.WriteString(before)
		if app.IsUnsubscribeKey(p.Key) {
			links = append(links, b.Len())
		}
		b.WriteString(text)
		if !found {
			return breakOtherTags(b.String(), links), nil
		}
		s = after
	}
}

// fill returns the text for a placeholder.
func fill(c *app.TemplateContent, p app.Placeholder, values map[string]app.PropertyValue, escape func(string) string) (string, error) {
	if app.IsUnsubscribeKey(p.Key) {
		return unsubscribeToken, nil
	}
	if v, ok := values[p.Key]; ok {
		return withoutPage(escape(v.String())), nil
	}
	if p.HasFallback || app.ReservedKey(p.Key) {
		return p.Fallback, nil
	}
	for _, v := range c.Variables {
		if v.Key == p.Key && v.Fallback != nil {
			return escape(v.Fallback.String()), nil
		}
	}
	return "", app.Invalid("template.variables."+p.Key, "is required: the template has no fallback for it")
}

// wordJoiner is an invisible character that breaks an unsubscribe placeholder in a value.
const wordJoiner = "\u2060"

// namesPage matches texts that may be an unsubscribe placeholder.
var namesPage = regexp.MustCompile(`(?i)unsubscribe`)

// withoutPage inserts a word joiner into a value that could be taken for a broken unsubscribe
// placeholder.
func withoutPage(value string) string {
	if htmltext.RepairPageLinks(value) == value {
		return value
	}
	var b strings.Builder
	for rest := value; ; {
		before, after, found := app.CutPlaceholder(rest) // breakOtherTags handles the correct ones
		sound := rest[len(before) : len(rest)-len(after)]
		if htmltext.RepairPageLinks(before) != before {
			before = namesPage.ReplaceAllStringFunc(before, func(word string) string { return word[:2] + wordJoiner + word[2:] })
		}
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(sound)
		rest = after
	}
}

// breakOtherTags inserts a word joiner into each unsubscribe placeholder that is not at one of
// links (sorted): it came from a value. The mail's own ones are filled when it is sent.
func breakOtherTags(s string, links []int) string {
	var b strings.Builder
	rest := s
	for {
		before, after, found := app.CutPlaceholder(rest)
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

// SampleValue returns the send in a form that can be validated before its template is known: with
// a sender of domain (or any), a subject and a body if the template may provide them. Errors:
// CodeValidation.
func SampleValue(in *app.EmailInput, domain string) (*app.EmailInput, error) {
	if err := in.Template.Validate(); err != nil {
		return nil, err
	}
	if in.HTML != "" {
		return nil, app.Invalid("html", "can't be given together with `template`")
	}
	if in.Text != nil && *in.Text != "" {
		return nil, app.Invalid("text", "can't be given together with `template`")
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

// Fill returns the send with the content of its template in the wanted language. Sender, subject and reply_to of the send
// take precedence. limit is as in Template. Errors: CodeValidation (also for a draft),
// CodePayloadTooLarge.
func Fill(in *app.EmailInput, c *app.TemplateContent, now time.Time, limit int) (*app.EmailInput, error) {
	c = c.In(Language(c.Variants, in.Template.Language))
	whole := *in
	whole.Template = nil
	if whole.From == "" {
		whole.From = c.From
	}
	if whole.From == "" {
		return nil, app.Invalid("from", "is required: the template has none")
	}
	if whole.Subject == "" && c.Subject == "" {
		return nil, app.Invalid("subject", "is required: the template has none")
	}
	r, err := Template(c, in.Template.Variables, in.Template.Contact, whole.Subject == "", now, limit)
	if err != nil {
		return nil, err
	}
	if whole.Subject == "" {
		whole.Subject = r.Subject
	}
	if len(app.Present(whole.ReplyTo)) == 0 && !in.NamesReplyTo() {
		whole.ReplyTo = c.ReplyTo
	}
	whole.HTML, whole.Text = r.HTML, r.Text
	return &whole, nil
}

// tooLarge returns the error for a part that became too long: CodeValidation for the subject,
// CodePayloadTooLarge for a body.
func tooLarge(field string) error {
	if field == "subject" {
		return app.Invalid(field, "must not be longer than %d bytes", app.MaxSubject)
	}
	return app.Errorf(app.CodePayloadTooLarge, "The templates of a request may come to %d bytes together once they are filled", app.MaxRendered)
}

// unsubscribeToken is the unsubscribe link until a mail is sent.
const unsubscribeToken = "{{{UNSUBSCRIBE_URL}}}"

// ReplaceUnsubscribe replaces the unsubscribe link in a rendered text by a URL.
func ReplaceUnsubscribe(s, page string) string { return strings.ReplaceAll(s, unsubscribeToken, page) }
