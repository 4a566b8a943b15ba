package inbound

import (
	"bytes"
	"slices"
	"strings"

	"mailer/app"
)

// fields are the fields of a header in order: values are unfolded and not decoded.
type fields []field

type field struct {
	name  string // as written
	lower string
	value string
}

// get returns the value of the first field with a name in lower case; empty: none.
func (f fields) get(lower string) string {
	for i := range f {
		if f[i].lower == lower {
			return f[i].value
		}
	}
	return ""
}

func (f fields) all(lower string) (values []string) {
	for i := range f {
		if f[i].lower == lower {
			values = append(values, f[i].value)
		}
	}
	return values
}

// readFields reads the header of an entity and returns the start of its body. Lines that are no
// fields are skipped. If the first line is none, or if no empty line follows one, then the body
// begins there.
func (r *reader) readFields(from, to int) (list fields, body int) {
	badAt, kept := -1, 0
	for at := from; at < to; {
		line, next := r.line(at, to)
		if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
			r.work += next - from
			return list, next
		}
		for next < to && (r.raw[next] == ' ' || r.raw[next] == '\t') {
			_, next = r.line(next, to)
		}
		f, ok := r.field(at, next)
		switch {
		case ok && r.headerLeft >= next-at && r.fieldsLeft > 0:
			r.headerLeft -= next - at
			r.fieldsLeft--
			list = append(list, f)
		case ok:
			r.cut = true
		case at == from && isEnvelopeLine(line): // of a mailbox file
		case at == from:
			r.work += next - from
			return nil, from
		case badAt < 0:
			badAt, kept = at, len(list)
		}
		at = next
	}
	r.work += to - from
	if badAt >= 0 {
		return list[:kept], badAt
	}
	return list, to
}

func isEnvelopeLine(line []byte) bool {
	return bytes.HasPrefix(line, []byte("From ")) || bytes.HasPrefix(line, []byte(">From "))
}

// field reads the field in a range of the message. The value is copied only if it fits into the
// limit.
func (r *reader) field(from, to int) (f field, ok bool) {
	colon := bytes.IndexByte(r.raw[from:min(to, from+maxFieldName)], ':')
	if colon < 0 {
		return f, false
	}
	name := bytes.TrimRight(r.raw[from:from+colon], " \t")
	if !isFieldName(name) {
		return f, false
	}
	if to-from > r.headerLeft || r.fieldsLeft == 0 {
		return f, true
	}
	f.name = string(name)
	f.lower = strings.ToLower(f.name)
	f.value = strings.Trim(breaks.Replace(string(r.raw[from+colon+1:to])), " \t")
	return f, true
}

var breaks = strings.NewReplacer("\r\n", "", "\n", "", "\r", "")

// maxFieldName is the length of the longest name of a field with its colon in bytes.
const maxFieldName = 200

// isFieldName accepts the names of RFC 5322 3.6.8.
func isFieldName(b []byte) bool {
	for _, c := range b {
		if c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return len(b) > 0
}

// readHeader reads the fields that people see. label is the character set of the body.
func (m *Message) readHeader(label string) {
	decode := func(s string) string { return decodeWords(s, label) }
	for _, f := range m.fields {
		m.Headers = append(m.Headers, app.Header{Name: f.name, Value: oneLine(decode(f.value), maxHeader)})
	}
	m.readFrom(decode)
	m.Sender = strings.Join(m.addresses("sender", decode), ", ")
	m.To, m.Cc, m.Bcc, m.ReplyTo = m.addresses("to", decode), m.addresses("cc", decode), m.addresses("bcc", decode), m.addresses("reply-to", decode)
	m.Subject = oneLine(decode(m.fields.get("subject")), app.MaxSubject)
	if ids := readIDs(m.fields.get("message-id")); len(ids) > 0 {
		m.MessageID = "<" + ids[0] + ">"
	}
	m.InReplyTo = lastIDs(readIDs(strings.Join(m.fields.all("in-reply-to"), " ")))
	m.References = lastIDs(readIDs(strings.Join(m.fields.all("references"), " ")))
}

// lastIDs returns the last ids, which are those of the nearest messages.
func lastIDs(ids []string) []string {
	return slices.Clip(ids[max(0, len(ids)-maxReferences):])
}

// readIDs returns the message ids in a field without their angle brackets, each once. A field
// without angle brackets has the words with an @.
func readIDs(value string) (ids []string) {
	seen := map[string]bool{}
	add := func(id string) {
		id = strings.Join(strings.Fields(oneLine(id, maxID+1)), "") // some programs fold within an id
		if id != "" && len(id) <= maxID && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if strings.IndexByte(value, '<') < 0 {
		for word := range strings.FieldsSeq(value) {
			if strings.Contains(word, "@") {
				add(strings.Trim(word, ">,;\""))
			}
		}
		return ids
	}
	for {
		_, rest, found := strings.Cut(value, "<")
		if !found {
			return ids
		}
		end := strings.IndexAny(rest, "<>")
		if end < 0 {
			end = len(rest)
		}
		add(rest[:end])
		value = rest[end:]
	}
}
