package erase

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// scrubList replaces the entries of the set in an address list by Erased. It does not modify list.
func (e *Set) scrubList(list []app.Address) (out []app.Address, changed bool) {
	out = list
	for i, a := range list {
		clean := e.scrubAddress(a)
		if clean == a {
			continue
		}
		if !changed {
			out = append([]app.Address(nil), list...)
			changed = true
		}
		out[i] = clean
	}
	return out, changed
}

// scrubAddress returns Erased for an address of the set, and others with their name scrubbed.
func (e *Set) scrubAddress(a app.Address) app.Address {
	if e.has(a.Local, a.Domain) {
		return app.Address{Local: app.Erased}
	}
	a.Name = e.Scrub(a.Name)
	return a
}

// InList reports whether an address list in JSON contains an address of the set.
func (e *Set) InList(text string) bool {
	if text == "" || !e.mayHold(text) {
		return false
	}
	var list []app.Address
	if json.Unmarshal([]byte(text), &list) != nil {
		return false
	}
	_, changed := e.scrubList(list)
	return changed
}

// mayHold is a quick test before decoding a list, whose domains are in A-labels.
func (e *Set) mayHold(list string) bool {
	const few = 16
	if len(e.locals) > few {
		return true
	}
	for domain := range e.locals {
		if strings.Contains(list, domain) {
			return true
		}
	}
	return strings.ContainsAny(list, "%&\\") // a display name may contain another form
}

// ScrubMail scrubs an email: addresses with names, subject, bodies, headers, tags and attachments,
// which must have their content. It reports what changed. A raw message can't be changed: if it
// contains an address, it is removed, and only the other fields remain.
func (e *Set) ScrubMail(m *app.Mail) (changed bool, attachments []*app.Attachment) {
	for _, list := range []*[]app.Address{&m.To, &m.Cc, &m.ReplyTo} {
		clean, hit := e.scrubList(*list)
		*list, changed = clean, changed || hit
	}
	if from := e.scrubAddress(m.From); from != m.From {
		m.From, changed = from, true
	}
	texts := []*string{&m.Subject, &m.HTML, &m.Text}
	m.Headers, m.Tags = append([]app.Header(nil), m.Headers...), append([]app.Tag(nil), m.Tags...)
	for i := range m.Headers {
		texts = append(texts, &m.Headers[i].Name, &m.Headers[i].Value)
	}
	for i := range m.Tags {
		texts = append(texts, &m.Tags[i].Name, &m.Tags[i].Value)
	}
	for _, text := range texts {
		if clean := e.Scrub(*text); clean != *text {
			*text, changed = clean, true
		}
	}
	for i := range m.Attachments {
		if e.scrubAttachment(&m.Attachments[i]) {
			changed, attachments = true, append(attachments, &m.Attachments[i])
		}
	}
	if m.Raw != nil && (changed || e.In(string(m.Raw))) {
		m.Raw, changed = nil, true
	}
	bcc, hit := e.scrubList(m.Bcc) // Bcc is not in messages
	m.Bcc = bcc
	return changed || hit, attachments
}

// scrubAttachment scrubs the name and content of a file: text is rewritten, other content keeps
// its length (Mask). Compressed and encrypted content can't be read and is kept.
func (e *Set) scrubAttachment(a *app.Attachment) (changed bool) {
	if name := e.scrubFilename(a.Filename); name != a.Filename {
		a.Filename, changed = name, true
	}
	if kind := e.Scrub(a.ContentType); kind != a.ContentType {
		a.ContentType, changed = kind, true
	}
	if e.Scrub(a.ContentID) != a.ContentID { // the rest would not be a Content-ID
		a.ContentID, changed = "", true
	}
	if !isText(a) {
		return e.Mask(a.Content) || changed
	}
	text := string(a.Content)
	clean := e.Scrub(text)
	if clean == text {
		return changed
	}
	a.Content, a.Size = []byte(clean), int64(len(clean))
	return true
}

// maxExtensions is how many extensions of a file name are examined: .tar.gz.asc.
const maxExtensions = 3

// scrubFilename is Scrub for a file name, whose extension could be taken for a part of the domain:
// jane@example.com.txt.
func (e *Set) scrubFilename(name string) string {
	clean := e.Scrub(name)
	end := len(clean)
	for range maxExtensions {
		if end = strings.LastIndexByte(clean[:end], '.'); end < 0 {
			break
		}
		if stem := e.Scrub(clean[:end]); stem != clean[:end] {
			return stem + clean[end:]
		}
	}
	return clean
}

// isText reports whether a file may change its length.
func isText(a *app.Attachment) bool {
	kind, _, _ := strings.Cut(strings.ToLower(a.ContentType), ";")
	kind = strings.TrimSpace(kind)
	switch {
	case bytes.IndexByte(a.Content, 0) >= 0 || !utf8.Valid(a.Content):
		return false
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"):
		return true
	}
	return kind == "application/json" || kind == "application/xml"
}

// ScrubContact scrubs names and properties of a contact and reports whether it changed. Its own
// address is kept.
func (e *Set) ScrubContact(c *app.Contact) (changed bool) {
	for _, name := range []*string{&c.FirstName, &c.LastName} {
		if clean := e.Scrub(*name); clean != *name {
			*name, changed = clean, true
		}
	}
	c.Properties = maps.Clone(c.Properties)
	for key, v := range c.Properties {
		if clean := e.Scrub(v.Text); clean != v.Text {
			v.Text = clean
			c.Properties[key], changed = v, true
		}
	}
	return changed
}

// mayHoldJSON is a quick test before decoding JSON.
func mayHoldJSON(text string) bool {
	return strings.ContainsAny(text, "@&\\%")
}

// InJSON reports whether ScrubJSON would change the text.
func (e *Set) InJSON(text string) bool {
	if !mayHoldJSON(text) {
		return false
	}
	clean, err := e.ScrubJSON(text)
	return err != nil || clean != text
}

// ScrubJSON scrubs every string in a JSON text. In an object whose member `email` is an address of
// the set, names become null. The order of members is kept. Text without addresses is returned
// unchanged.
func (e *Set) ScrubJSON(text string) (string, error) {
	if !mayHoldJSON(text) {
		return text, nil
	}
	dec := jsontext.NewDecoder(strings.NewReader(text))
	value, err := dec.ReadValue()
	if err != nil {
		return "", fmt.Errorf("read JSON to be scrubbed: %w", err)
	}
	clean, changed, err := e.scrubValue(value.Clone())
	if err != nil {
		return "", fmt.Errorf("scrub JSON: %w", err)
	}
	if !changed {
		return text, nil
	}
	return string(clean), nil
}

func (e *Set) scrubValue(v jsontext.Value) (out jsontext.Value, changed bool, err error) {
	switch v.Kind() {
	case '"':
		var text string
		if err := json.Unmarshal(v, &text); err != nil {
			return nil, false, err
		}
		clean := e.Scrub(text)
		if clean == text {
			return v, false, nil
		}
		if a, err := app.ParseAddress(text); err == nil && e.Has(a.Mailbox()) {
			clean = app.Erased // with its display name
		}
		out, err = json.Marshal(clean)
		return out, true, err
	case '{', '[':
		return e.scrubMembers(v)
	}
	return v, false, nil
}

// scrubMembers scrubs an object or array.
func (e *Set) scrubMembers(v jsontext.Value) (out jsontext.Value, changed bool, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return nil, false, err
	}
	object := v.Kind() == '{'
	var names []string
	var values []jsontext.Value
	person := false
	for k := dec.PeekKind(); k != '}' && k != ']'; k = dec.PeekKind() {
		name := ""
		if object {
			token, err := dec.ReadToken()
			if err != nil {
				return nil, false, err
			}
			name = token.String()
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false, err
		}
		clean, hit, err := e.scrubValue(value.Clone())
		if err != nil {
			return nil, false, err
		}
		names, values = append(names, name), append(values, clean)
		changed, person = changed || hit, person || hit && name == "email"
	}
	if !changed {
		return v, false, nil
	}
	out, err = writeMembers(object, names, values, person)
	return out, true, err
}

func writeMembers(object bool, names []string, values []jsontext.Value, person bool) (jsontext.Value, error) {
	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf)
	begin, end := jsontext.BeginArray, jsontext.EndArray
	if object {
		begin, end = jsontext.BeginObject, jsontext.EndObject
	}
	if err := enc.WriteToken(begin); err != nil {
		return nil, err
	}
	for i, value := range values {
		if object {
			if err := enc.WriteToken(jsontext.String(names[i])); err != nil {
				return nil, err
			}
		}
		if person && (names[i] == "first_name" || names[i] == "last_name") {
			value = jsontext.Value("null")
		}
		if err := enc.WriteValue(value); err != nil {
			return nil, err
		}
	}
	if err := enc.WriteToken(end); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// InBytes reports whether a file contains an address of the set, also in the JSON form of Address,
// whatever surrounds it.
func (e *Set) InBytes(b []byte) bool {
	if !bytes.Contains(b, []byte("@")) && !bytes.Contains(b, []byte(`"domain":"`)) && !bytes.Contains(b, []byte("%40")) {
		return false
	}
	text := strings.ToLower(string(b))
	for _, sign := range [...]string{"@", "%40", `","domain":"`} {
		for at := strings.Index(text, sign); at >= 0; {
			if e.around(text[:at], text[at+len(sign):]) {
				return true
			}
			next := strings.Index(text[at+1:], sign)
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	return false
}

func (e *Set) around(before, after string) bool {
	for domain, locals := range e.locals {
		if !strings.HasPrefix(after, domain) && (e.unicode[domain] == "" || !strings.HasPrefix(after, e.unicode[domain])) {
			continue
		}
		for _, local := range locals {
			if strings.HasSuffix(before, local) {
				return true
			}
		}
	}
	return false
}
