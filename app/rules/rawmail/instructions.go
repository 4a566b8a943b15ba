package rawmail

import (
	"slices"
	"strconv"
	"strings"

	"mailer/app"
)

// The headers by which programs set fields that API calls have. They are removed before sending.
const (
	idempotencyHeader = "Resend-Idempotency-Key"
	topicHeader       = "X-Mailer-Topic"
	tagHeader         = "X-Mailer-Tag" // name=value, repeatable
	scheduledHeader   = "X-Mailer-Scheduled-At"
	expiresHeader     = "X-Mailer-Expires-In"
)

// foreignTags are the tag headers of other services, with one value each.
var foreignTags = []string{"X-PM-Tag", "X-Mailgun-Tag"}

// Instructions are the values of a message's control headers.
type Instructions struct {
	IdempotencyKey string // empty: none
	TopicID        string // empty: none
	Tags           []app.Tag
	ScheduledAt    string // as written; empty: immediately
	ExpiresIn      string // as written; empty: the default of the relay
}

// Instructions reads the control headers. Errors: CodeValidation, which names the header.
func (m *Message) Instructions() (o Instructions, err error) {
	for _, f := range []struct {
		name string
		to   *string
	}{{idempotencyHeader, &o.IdempotencyKey}, {topicHeader, &o.TopicID}, {scheduledHeader, &o.ScheduledAt}, {expiresHeader, &o.ExpiresIn}} {
		if count(m.Fields, f.name) > 1 {
			return o, app.Invalid(f.name, "is given twice")
		}
		*f.to = m.Get(f.name)
	}
	if o.TopicID != "" {
		id, ok := app.ParseID(o.TopicID)
		if !ok {
			return o, app.Invalid(topicHeader, "must be the id of a topic")
		}
		o.TopicID = id
	}
	o.Tags, err = m.tags()
	return o, err
}

func (m *Message) tags() (tags []app.Tag, err error) {
	for _, f := range m.Fields {
		var tag app.Tag
		switch {
		case strings.EqualFold(f.Name, tagHeader):
			name, value, _ := strings.Cut(f.Value, "=")
			if tag = (app.Tag{Name: name, Value: value}); tagText(name) != name || tagText(value) != value || name == "" || value == "" {
				return nil, app.Invalid(tagHeader, "must be name=value, each 1 to %d ASCII letters, digits, dashes and underscores", app.MaxTagLength)
			}
		case slices.ContainsFunc(foreignTags, func(name string) bool { return strings.EqualFold(name, f.Name) }):
			if tag = (app.Tag{Name: freeName(tags), Value: tagText(Decoded(f.Value, maxLine))}); tag.Value == "" {
				continue
			}
		default:
			continue
		}
		if slices.ContainsFunc(tags, func(t app.Tag) bool { return t.Name == tag.Name }) {
			return nil, app.Invalid(tagHeader, "names %s twice", tag.Name)
		}
		if tags = append(tags, tag); len(tags) > app.MaxTags {
			return nil, app.Invalid(tagHeader, "must not occur more than %d times", app.MaxTags)
		}
	}
	return tags, nil
}

// freeName returns the first free name of tag, tag_2, tag_3 …: the tags of other services have
// no names.
func freeName(tags []app.Tag) string {
	const name = "tag"
	for n := 1; ; n++ {
		free := name
		if n > 1 {
			free += "_" + strconv.Itoa(n)
		}
		if !slices.ContainsFunc(tags, func(t app.Tag) bool { return t.Name == free }) {
			return free
		}
	}
}

// tagText replaces characters that a tag can't have, since other services allow more.
func tagText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), app.MaxTagLength)]
}

// allowedInstructions are the provider headers that this server interprets itself, in lower case.
var allowedInstructions = []string{"x-pm-tag", "x-mailgun-tag"}

// Strip removes from the message what must not be sent: Bcc and Return-Path, an invalid
// Message-ID, control headers, instructions to providers, and signatures of this server (by sender
// and selector). It returns the names of removed instructions to providers, which the sender
// should know. topic: unsubscribe headers will be added, so an incomplete pair is removed. Raw,
// Fields and Body are then those of the rest, in the same memory.
func (m *Message) Strip(topic bool) (orders []string) {
	half := topic && (m.Get("List-Unsubscribe") == "" || m.Get("List-Unsubscribe-Post") == "")
	var kept []Field
	var header []byte
	for _, f := range m.Fields {
		switch m.actionFor(f, half) {
		case removeForeign:
			if !slices.Contains(orders, f.Name) {
				orders = append(orders, f.Name)
			}
		case keep:
			at := len(header)
			header = append(header, m.Raw[f.From:f.To]...)
			f.From, f.To = at, len(header)
			kept = append(kept, f)
		}
	}
	header = append(header, crlf...)
	begin := m.Body - len(header) // fields were only removed, so the rest fits
	copy(m.Raw[begin:], header)
	m.Raw, m.Fields, m.Body = m.Raw[begin:], kept, len(header)
	return orders
}

// action is what Strip does with a field.
type action byte

const (
	keep          action = iota
	remove               // internal or meaningless
	removeForeign        // an instruction to a provider
)

func (m *Message) actionFor(f Field, half bool) action {
	lower := strings.ToLower(f.Name)
	switch lower {
	case "bcc", "resent-bcc", "return-path", strings.ToLower(idempotencyHeader), strings.ToLower(topicHeader), strings.ToLower(tagHeader),
		strings.ToLower(scheduledHeader), strings.ToLower(expiresHeader):
		return remove
	case "message-id":
		if m.ID == "" {
			return remove // invalid, and large receivers refuse such mail
		}
	case "dkim-signature":
		if m.isOurs(f.Value) {
			return remove
		}
	case "list-unsubscribe", "list-unsubscribe-post":
		if half {
			return remove
		}
	}
	switch {
	case slices.Contains(allowedInstructions, lower):
		return remove
	case app.InstructsProvider(lower):
		return removeForeign
	}
	return keep
}

// isOurs reports whether a signature is for the sender's domain under a selector of this server.
func (m *Message) isOurs(signature string) bool {
	var domain, selector string
	for tag := range strings.SplitSeq(signature, ";") {
		name, value, _ := strings.Cut(tag, "=")
		switch strings.Trim(name, " \t") {
		case "d":
			domain = strings.ToLower(strings.Trim(value, " \t"))
		case "s":
			selector = strings.ToLower(strings.Trim(value, " \t"))
		}
	}
	number, ok := strings.CutPrefix(selector, app.DKIMSelector)
	return ok && domain == m.From.Domain && strings.Trim(number, "0123456789") == ""
}

// MissingHeaders returns the fields to add before a submitted message, in order: the id of the
// email, Message-ID and Date if missing, and further headers of the mail.
func MissingHeaders(m *app.Outgoing) []app.Header {
	fields, _ := Fields(m.Mail.Raw)
	has := func(name string) bool {
		return slices.ContainsFunc(fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
	}
	out := []app.Header{{Name: app.EmailIDHeader, Value: m.EmailID}}
	for _, h := range append([]app.Header{{Name: "Message-ID", Value: "<" + m.MessageID + ">"}, {Name: "Date", Value: m.Date.UTC().Format(DateLayout)}}, m.Mail.Headers...) {
		if !has(h.Name) {
			out = append(out, h)
		}
	}
	return out
}

// DateLayout is the layout of a Date (RFC 5322 3.3).
const DateLayout = "Mon, 02 Jan 2006 15:04:05 -0700"

// RemoveFields returns a parsed message without the named fields. It does not modify raw.
func RemoveFields(raw []byte, names ...string) []byte {
	fields, body := Fields(raw)
	out := make([]byte, 0, len(raw))
	for _, f := range fields {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, f.Name) }) {
			out = append(out, raw[f.From:f.To]...)
		}
	}
	return append(append(out, crlf...), raw[body:]...)
}

// Bytes returns the final message without its signature.
func Bytes(m *app.Outgoing) []byte {
	var out []byte
	for _, h := range MissingHeaders(m) {
		out = append(out, h.Name+": "+h.Value+"\r\n"...)
	}
	return append(out, m.Mail.Raw...)
}
