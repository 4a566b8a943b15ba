package rawmail

import (
	"slices"
	"strconv"
	"strings"

	"mailer/app"
)

// The headers by which a program tells what an API call has fields for. None leaves.
const (
	idempotencyHeader = "Resend-Idempotency-Key"
	topicHeader       = "X-Mailer-Topic"
	tagHeader         = "X-Mailer-Tag" // name=value, repeatable
	scheduledHeader   = "X-Mailer-Scheduled-At"
	expiresHeader     = "X-Mailer-Expires-In"
)

// foreignTags are the tags of other services, one value each.
var foreignTags = []string{"X-PM-Tag", "X-Mailgun-Tag"}

// Instructions are what the control headers of a message say.
type Instructions struct {
	IdempotencyKey string // empty: none
	TopicID        string // empty: none
	Tags           []app.Tag
	ScheduledAt    string // as it was written; empty: at once
	ExpiresIn      string // as it was written; empty: as the relay has it
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

// freeName is tag, tag_2, tag_3: the tags of other services have no names.
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

// tagText is s as a tag can have it: other services take more characters.
func tagText(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), app.MaxTagLength)]
}

// allowedInstructions are the orders to providers that a caller means for this server, in lower case.
var allowedInstructions = []string{"x-pm-tag", "x-mailgun-tag"}

// Strip cuts out of the message what may not leave: Bcc and Return-Path, a Message-ID that
// is none, the control headers, orders to providers and signatures of our own (sender and selector say which).
// It returns the names of orders that were given to somebody else, for the sender to know.
// topic: a pair of unsubscribe headers is added, so that half of one goes. Raw, Fields and
// Body are those of the rest afterwards, in the same memory.
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
	begin := m.Body - len(header) // only fields went: it never grew
	copy(m.Raw[begin:], header)
	m.Raw, m.Fields, m.Body = m.Raw[begin:], kept, len(header)
	return orders
}

// action is what becomes of a field.
type action byte

const (
	keep          action = iota
	remove               // ours, or nobody's business
	removeForeign        // an order to somebody else
)

func (m *Message) actionFor(f Field, half bool) action {
	lower := strings.ToLower(f.Name)
	switch lower {
	case "bcc", "resent-bcc", "return-path", strings.ToLower(idempotencyHeader), strings.ToLower(topicHeader), strings.ToLower(tagHeader),
		strings.ToLower(scheduledHeader), strings.ToLower(expiresHeader):
		return remove
	case "message-id":
		if m.ID == "" {
			return remove // it names nothing, and large receivers refuse such mail
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

// isOurs: a signature for the sender's domain under a selector of this server.
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

// MissingHeaders returns the fields that a message which was handed in whole lacks on its way, in
// the order in which they stand before it: what names the email, its Message-ID and Date
// where it has none, and the headers of its mail that are not in it.
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

// DateLayout is how a Date is written (RFC 5322 3.3).
const DateLayout = "Mon, 02 Jan 2006 15:04:05 -0700"

// RemoveFields returns a message that was read before without its fields of those names. raw
// stays as it is.
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

// Bytes is a message as it leaves, but for its signature.
func Bytes(m *app.Outgoing) []byte {
	var out []byte
	for _, h := range MissingHeaders(m) {
		out = append(out, h.Name+": "+h.Value+"\r\n"...)
	}
	return append(out, m.Mail.Raw...)
}
