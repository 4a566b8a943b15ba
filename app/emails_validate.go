package app

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"mailer/app/kit/htmltext"
	"mailer/app/kit/mailbox"
)

// Validate checks a send without the database and returns it in stored form: parsed addresses,
// sorted headers, a text part derived from the HTML if Text is nil, attachments with ids. Errors
// are CodeValidation and name the field. The limit of attachments, which depends on the plan, is
// not checked.
func (in *EmailInput) Validate() (*Mail, error) {
	m := &Mail{Subject: in.Subject}
	for _, check := range []func(*Mail) error{
		in.addresses, in.subject, in.bodies, in.headers, in.tags, in.attachments, in.topic,
	} {
		if err := check(m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (in *EmailInput) addresses(m *Mail) (err error) {
	if in.From == "" {
		return Invalid("from", "is required")
	}
	if m.From, err = ParseAddress(in.From); err != nil {
		return Invalid("from", "%v", err)
	}
	to, cc, bcc, replyTo := Present(in.To), Present(in.Cc), Present(in.Bcc), Present(in.ReplyTo)
	if len(to) == 0 {
		return Invalid("to", "is required")
	}
	// The count is checked before parsing, to bound the work.
	if len(to)+len(cc)+len(bcc) > MaxRecipients {
		return Invalid("to", "must not hold more than %d addresses together with cc and bcc", MaxRecipients)
	}
	if len(replyTo) > MaxRecipients {
		return Invalid("reply_to", "must not hold more than %d addresses", MaxRecipients)
	}
	for _, list := range []struct {
		field string
		in    []string
		out   *[]Address
	}{{"to", to, &m.To}, {"cc", cc, &m.Cc}, {"bcc", bcc, &m.Bcc}, {"reply_to", replyTo, &m.ReplyTo}} {
		if *list.out, err = parseAddresses(list.field, list.in); err != nil {
			return err
		}
	}
	return nil
}

// Present returns list, but nil for [""]: a single empty string, where a string or a list is
// allowed, means absent.
func Present(list []string) []string {
	if len(list) == 1 && list[0] == "" {
		return nil
	}
	return list
}

func parseAddresses(field string, list []string) ([]Address, error) {
	var out []Address
	for i, s := range list {
		a, err := ParseAddress(s)
		switch {
		case errors.Is(err, mailbox.ErrSeveral):
			return nil, Invalid(fmt.Sprintf("%s[%d]", field, i), "%v, and several addresses in an array of strings", err)
		case err != nil:
			return nil, Invalid(fmt.Sprintf("%s[%d]", field, i), "%v", err)
		}
		out = append(out, a)
	}
	return out, nil
}

func (in *EmailInput) subject(*Mail) error { return checkSubject("subject", in.Subject) }

func checkSubject(field, s string) error {
	switch {
	case strings.TrimSpace(s) == "":
		return Invalid(field, "is required")
	case len(s) > MaxSubject:
		return Invalid(field, "must not be longer than %d bytes", MaxSubject)
	case !utf8.ValidString(s):
		return Invalid(field, "must be valid UTF-8")
	case strings.ContainsAny(s, "\r\n\x00"):
		return Invalid(field, "must not contain line breaks or NUL")
	}
	return nil
}

func (in *EmailInput) bodies(m *Mail) error {
	if err := checkBody("html", in.HTML); err != nil {
		return err
	}
	m.HTML = htmltext.RepairPageLinks(in.HTML)
	switch {
	case in.Text != nil:
		if err := checkBody("text", *in.Text); err != nil {
			return err
		}
		m.Text = htmltext.RepairPageLinks(*in.Text)
	case in.HTML != "":
		m.Text = htmltext.PlainText(m.HTML)
	}
	if m.HTML == "" && m.Text == "" {
		return Invalid("html", "or `text` is required")
	}
	for _, part := range []struct{ field, body string }{{"html", m.HTML}, {"text", m.Text}} {
		if Placeholders(part.body) > maxPlaceholders {
			return Invalid(part.field, "must not hold more than %d unsubscribe placeholders", maxPlaceholders)
		}
	}
	return nil
}

func (in *EmailInput) topic(m *Mail) error {
	if in.TopicID == "" {
		return nil
	}
	id, ok := ParseID(in.TopicID)
	if !ok {
		return Invalid("topic_id", "must be the id of a topic")
	}
	m.TopicID = id
	return nil
}

func checkBody(field, s string) error {
	if !utf8.ValidString(s) {
		return Invalid(field, "must be valid UTF-8")
	}
	if strings.IndexByte(s, 0) >= 0 {
		return Invalid(field, "must not contain NUL")
	}
	return nil
}

func (in *EmailInput) tags(m *Mail) error {
	if len(in.Tags) > MaxTags {
		return Invalid("tags", "must not hold more than %d tags", MaxTags)
	}
	seen := make(map[string]bool, len(in.Tags))
	for i, tag := range in.Tags {
		field := fmt.Sprintf("tags[%d]", i)
		if err := checkTagText(field+".name", tag.Name); err != nil {
			return err
		}
		if err := checkTagText(field+".value", tag.Value); err != nil {
			return err
		}
		if seen[tag.Name] {
			return Invalid(field+".name", "is given twice")
		}
		seen[tag.Name] = true
	}
	m.Tags = append([]Tag(nil), in.Tags...)
	return nil
}

func checkTagText(field, s string) error {
	ok := s != "" && len(s) <= MaxTagLength
	for i := 0; ok && i < len(s); i++ {
		c := s[i] | 0x20
		ok = c >= 'a' && c <= 'z' || s[i] >= '0' && s[i] <= '9' || s[i] == '-' || s[i] == '_'
	}
	if !ok {
		return Invalid(field, "must be 1 to %d ASCII letters, digits, dashes and underscores", MaxTagLength)
	}
	return nil
}
