package rawmail

import (
	"bytes"
	"mime"
	"net/mail"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/mailbox"
)

// readFields parses the fields of raw[from:to] and returns the start of the body; -1: there is no
// empty line.
func readFields(raw []byte, from, to int) (fields []Field, body int, err error) {
	for at := from; at < to; {
		line := raw[at:to]
		if bytes.HasPrefix(line, crlf) {
			return fields, at + len(crlf), nil
		}
		end := fieldEnd(line)
		name, value, ok := strings.Cut(string(line[:end]), ":")
		switch {
		case at+end-from > maxHeader || len(fields) == maxFields:
			return nil, 0, app.Invalid("header", "must not hold more than %d fields and %d bytes", maxFields, maxHeader)
		case !ok || !isName(name):
			return nil, 0, app.Invalid("header", "holds a line that is no field: %q", shortened(string(line[:end])))
		case !utf8.ValidString(value):
			return nil, 0, app.Invalid(name, "must be ASCII, or UTF-8 (RFC 6532)")
		}
		fields = append(fields, Field{Name: name, Value: unfold(value), From: at, To: at + end})
		at += end
	}
	return fields, -1, nil
}

// fieldEnd returns the end of the field at the beginning of b: after the first CRLF that no blank
// follows.
func fieldEnd(b []byte) int {
	for at := 0; ; {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return len(b)
		}
		at += n + 1
		if at == len(b) || b[at] != ' ' && b[at] != '\t' {
			return at
		}
	}
}

// isName accepts names of RFC 5322 3.6.8, without a blank before the colon: parsers disagree about
// such fields.
func isName(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return s != "" && len(s) <= 200
}

func unfold(s string) string {
	return strings.Trim(strings.ReplaceAll(s, "\r\n", ""), " \t")
}

func shortened(s string) string {
	s = strings.TrimSpace(s)
	return s[:min(len(s), 60)]
}

// once are the fields that must occur at most once (RFC 5322 3.6, RFC 2045). Parsers disagree
// about which of two counts.
var once = []string{"From", "Sender", "Reply-To", "To", "Cc", "Subject", "Date", "Message-ID", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"}

// Get returns the value of the first field with a name; empty: none.
func (m *Message) Get(name string) string { return get(m.Fields, name) }

func get(fields []Field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// readHeader parses the fields that readers see.
func (m *Message) readHeader() (err error) {
	for _, name := range once {
		if n := count(m.Fields, name); n > 1 {
			return app.Invalid(name, "is %d times in the header", n)
		}
	}
	if m.From, err = readFrom(m.Get("From")); err != nil {
		return err
	}
	for name, to := range map[string]*[]app.Address{"To": &m.To, "Cc": &m.Cc, "Reply-To": &m.ReplyTo} {
		if *to, err = addresses(name, m.Get(name)); err != nil {
			return err
		}
	}
	m.Subject = Decoded(m.Get("Subject"), app.MaxSubject)
	m.ID = messageID(m.Get("Message-ID"))
	return nil
}

func count(fields []Field, name string) (n int) {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			n++
		}
	}
	return n
}

// messageID returns the text between the angle brackets (RFC 5322 3.6.4); empty: not of the form
// <left@right>.
func messageID(value string) string {
	id, closed := strings.CutSuffix(value, ">")
	id, opened := strings.CutPrefix(id, "<")
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' || r == '>' }
	left, right, _ := strings.Cut(id, "@")
	if !opened || !closed || left == "" || right == "" || strings.Contains(right, "@") || len(id) > maxLine/2 || strings.ContainsFunc(id, bad) {
		return ""
	}
	return id
}

// readFrom parses the single author. The checked domain must be the one that recipients see.
func readFrom(value string) (app.Address, error) {
	if value == "" {
		return app.Address{}, app.Invalid("From", "is required")
	}
	from, err := app.ParseAddress(value)
	if err == nil && !strings.Contains(value, "=?") {
		return from, nil
	}
	list, parseErr := parser.ParseList(value)
	if parseErr != nil || len(list) != 1 || strings.Count(value, "<") > 1 || !strings.Contains(value, list[0].Address) {
		if err == nil {
			return from, nil
		}
		return app.Address{}, app.Invalid("From", "must be one address: it %v", err)
	}
	if from, err = app.ParseAddress(list[0].Address); err != nil {
		return app.Address{}, app.Invalid("From", "%v", err)
	}
	from.Name = plain(list[0].Name, maxName)
	return from, nil
}

// maxName is the maximum length of a displayed name in bytes.
const maxName = 320

var (
	decoder = &mime.WordDecoder{CharsetReader: charsetReader}
	parser  = mail.AddressParser{WordDecoder: decoder}
)

// addresses parses an address list with groups. It is only displayed, so the addresses need not be
// deliverable.
func addresses(name, value string) (list []app.Address, err error) {
	if value == "" || isEmptyGroup(value) {
		return nil, nil
	}
	parsed, err := parser.ParseList(value)
	if err != nil {
		return parseLoose(name, value)
	}
	for _, a := range parsed {
		one, err := app.ParseAddress(a.Address)
		if err != nil {
			at := strings.LastIndexByte(a.Address, '@')
			one = app.Address{Local: plain(a.Address[:at], maxName), Domain: plain(strings.ToLower(a.Address[at+1:]), maxName)}
		}
		one.Name = plain(a.Name, maxName)
		list = append(list, one)
	}
	return list, nil
}

// isEmptyGroup reports whether value is a group without members, like undisclosed-recipients:;
func isEmptyGroup(value string) bool {
	name, rest, ok := strings.Cut(value, ":")
	return ok && strings.Trim(rest, " \t") == ";" && !strings.ContainsAny(name, `@<>",`)
}

// parseLoose parses address lists that violate the grammar and that mail servers accept: unquoted
// names such as ann@example.com <ann@example.com>, semicolons or blanks between addresses,
// unpaired angle brackets. The list is only displayed; the envelope has the recipients.
func parseLoose(name, value string) (list []app.Address, err error) {
	for _, piece := range mailbox.Split(Decoded(value, maxHeader), ",;") {
		if piece = strings.Trim(piece, " \t;"); piece == "" {
			continue
		}
		a, err := parseLooseAddress(piece)
		if err == nil {
			list = append(list, a)
			continue
		}
		words := addressWords(piece)
		if len(words) == 0 {
			return nil, app.Invalid(name, "must be a list of addresses: %q %v", shortened(piece), err)
		}
		list = append(list, words...)
	}
	if len(list) == 0 {
		return nil, app.Invalid(name, "must be a list of addresses: %q holds none", shortened(value))
	}
	return list, nil
}

// addressWords returns the addresses among the words of a text.
func addressWords(s string) (list []app.Address) {
	for word := range strings.FieldsSeq(s) {
		word = strings.Trim(word, `<>[]()"',;`)
		if len(word) > len("mailto:") && strings.EqualFold(word[:len("mailto:")], "mailto:") {
			word = word[len("mailto:"):]
		}
		local, domain, found := strings.Cut(word, "@")
		if found && local != "" && domain != "" && !strings.ContainsAny(word, `<>[]()"',;:\`) && !strings.Contains(domain, "@") {
			list = append(list, app.Address{Local: plain(local, maxName), Domain: plain(strings.ToLower(domain), maxName)})
		}
	}
	return list
}

// parseLooseAddress parses one address. If it is not a valid mailbox, the text before the last
// angle brackets is the name.
func parseLooseAddress(s string) (app.Address, error) {
	a, err := app.ParseAddress(s)
	if err == nil {
		return a, nil
	}
	before, inner, found := cutLast(strings.TrimSpace(s), "<")
	inner, closed := strings.CutSuffix(inner, ">")
	if !found || !closed {
		return a, err
	}
	if a, err = app.ParseAddress(inner); err == nil {
		a.Name = plain(strings.Trim(before, " \t'\""), maxName)
	}
	return a, err
}

func cutLast(s, sep string) (before, after string, found bool) {
	if at := strings.LastIndex(s, sep); at >= 0 {
		return s[:at], s[at+len(sep):], true
	}
	return s, "", false
}

// Decoded returns the text of a field with encoded words (RFC 2047) decoded, printable, at most
// maxBytes bytes.
func Decoded(value string, maxBytes int) string {
	if strings.Contains(value, "=?") {
		if text, err := decoder.DecodeHeader(value); err == nil {
			value = text
		}
	}
	return plain(value, maxBytes)
}

// plain returns text for display on one line, cut to a number of bytes.
func plain(s string, maxBytes int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsFunc(s, mailbox.IsControl) {
		s = strings.Map(func(r rune) rune {
			if mailbox.IsControl(r) {
				return ' '
			}
			return r
		}, s)
	}
	if len(s) > maxBytes {
		s = strings.ToValidUTF8(s[:maxBytes], "")
	}
	return strings.TrimSpace(s)
}

// shownSeparately are fields that are not displayed as headers, in lower case: they are displayed
// in other places, or are trace fields.
var shownSeparately = []string{"from", "to", "cc", "bcc", "reply-to", "subject", "date", "message-id", "mime-version", "received", "return-path", "dkim-signature",
	"domainkey-signature", "delivered-to", "authentication-results"}

// Headers returns the remaining fields for display, each name once and sorted.
func (m *Message) Headers() (out []app.Header) {
	seen := map[string]bool{}
	for _, f := range m.Fields {
		lower := strings.ToLower(f.Name)
		value := Decoded(f.Value, maxLine)
		if seen[lower] || value == "" || len(out) == app.MaxHeaders || slices.Contains(shownSeparately, lower) || strings.HasPrefix(lower, "content-") || strings.HasPrefix(lower, "arc-") {
			continue
		}
		seen[lower] = true
		out = append(out, app.Header{Name: f.Name, Value: value})
	}
	sort.Slice(out, func(i, j int) bool { return strings.ToLower(out[i].Name) < strings.ToLower(out[j].Name) })
	return out
}
