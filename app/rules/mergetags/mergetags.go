// Package mergetags converts merge tags of other services to placeholders. It does no I/O.
//
// Failure policy: a tag is converted only if the placeholder has the same meaning. Others are kept
// and reported. The result is always valid content of a draft.
package mergetags

import (
	"bytes"
	"strings"

	"mailer/app"
)

// Dialect is the tag syntax of a service.
type Dialect string

// The services whose tags are known.
const (
	Resend     Dialect = "resend" // our placeholders
	Listmonk   Dialect = "listmonk"
	Mailchimp  Dialect = "mailchimp"
	Brevo      Dialect = "brevo"
	SendGrid   Dialect = "sendgrid"
	Postmark   Dialect = "postmark"
	HubSpot    Dialect = "hubspot"
	MailerLite Dialect = "mailerlite"
)

// Use is where a text is used, which determines the valid placeholders.
type Use int

// The uses of a text. In a template the name of a contact is a variable, since each send gives it;
// in a broadcast it is the contact's name.
const (
	Template         Use = iota // HTML or text
	TemplateSubject             // no links
	Broadcast                   // HTML or text
	BroadcastSubject            // or preview text; no links
)

func (u Use) template() bool { return u == Template || u == TemplateSubject }
func (u Use) link() bool     { return u == Template || u == Broadcast }

// Tag is a tag that was not converted.
type Tag struct {
	Line   int    // where it begins, from 1
	Text   string // at most 80 characters
	Reason string
}

// Result is the result of a conversion.
type Result struct {
	Text        string
	Unconverted []Tag // at most maxNamed
	// Variables are the distinct keys in the text in order: variables to declare in a template
	// (with an empty fallback, since none of these services refuses a mail for a missing value),
	// otherwise properties.
	Variables []string
}

const (
	maxTag     = 4096 // bytes; longer ones are text
	maxNamed   = 1000
	maxExcerpt = 80
	maxLinks   = 100 // in one body
)

// Convert replaces the tags of a dialect by placeholders. Existing placeholders are kept in each
// dialect. It reads the text once in linear time and makes it at most four times as long.
func Convert(d Dialect, use Use, text string) Result {
	t := &converter{dialect: d, use: use, in: text, line: 1, seen: map[string]bool{}, out: make([]byte, 0, len(text)+len(text)/8)}
	forms := formsOf[d]
	starts := "{%&@"
	for _, f := range forms {
		starts += f.open[:1]
	}
	for at := 0; ; {
		i := strings.IndexAny(t.in[at:], starts)
		if i < 0 {
			break
		}
		at = t.step(at+i, forms)
	}
	t.copyTo(len(t.in))
	t.result.Text = string(t.out)
	return t.result
}

// converter is a running conversion.
type converter struct {
	dialect Dialect
	use     Use
	in      string
	done    int // copied up to here
	line    int // line of done
	out     []byte
	links   int
	seen    map[string]bool // in result.Variables
	blocks  []bool          // open blocks; true: names have another meaning within it
	result  Result
}

// form is the beginning and end of a tag.
type form struct{ open, close string }

var ownForms = form{"{{{", "}}}"}

// step examines a possible beginning of a tag and returns where to continue.
func (t *converter) step(at int, forms []form) int {
	run := 0
	for at+run < len(t.in) && t.in[at+run] == '{' {
		run++
	}
	if run >= 3 {
		from := at + run - 3 // the last three count
		if _, end, ok := ownForms.find(t.in, from); ok {
			if _, p, after, found, err := app.NextPlaceholder(t.in[from:end]); err == nil && found && after == "" && t.isOurs(p) {
				t.tag(from, end, meaning{kind: ownPlaceholder, key: p.Key})
				return end
			}
		}
	}
	if t.dialect == Listmonk && strings.HasPrefix(t.in[at:], trackSuffix) && t.followsLink(at) {
		t.skipTo(at + len(trackSuffix))
		return t.done
	}
	for _, f := range forms {
		from := at
		if braces := len(f.open) - len(strings.TrimLeft(f.open, "{")); run > 0 {
			from = max(at, at+run-braces)
		}
		inside, end, ok := f.find(t.in, from)
		if !ok {
			continue
		}
		if m := t.read(f, from, end, inside); m.kind != notATag {
			t.tag(from, end, m)
			return t.done
		}
	}
	return at + max(run, 1)
}

// isOurs reports whether three braces are a placeholder: Handlebars uses them too.
func (t *converter) isOurs(p app.Placeholder) bool {
	return t.dialect != SendGrid && t.dialect != Postmark || p.HasFallback || app.ReservedKey(p.Key)
}

const trackSuffix = "@TrackLink"

// followsLink copies up to at and reports whether the text ends in a URL.
func (t *converter) followsLink(at int) bool {
	t.copyTo(at)
	before := t.out[max(0, len(t.out)-maxTag/2):]
	return bytes.Contains(before[bytes.LastIndexAny(before, " \t\r\n\"'<>()")+1:], []byte("://"))
}

// find returns the content of the tag at from, decoded if it is percent-encoded, and its end.
// Another beginning within it means that it is not a tag.
func (f form) find(s string, from int) (inside string, end int, ok bool) {
	n := match(s[from:], f.open)
	if n == 0 {
		return "", 0, false
	}
	for at := from + n; at < len(s) && at < from+maxTag; at++ {
		if m := match(s[at:], f.close); m > 0 {
			inside = s[from+n : at]
			if encoded := s[from] == '%' || strings.HasPrefix(inside, "%20"); encoded {
				inside = unescape(inside)
			}
			return strings.Trim(inside, " \t\r\n"), at + m, true
		}
		if match(s[at:], f.open) > 0 {
			break
		}
	}
	return "", 0, false
}

// match returns how many bytes at the beginning of s are want, plain, percent-encoded or as
// character references; 0: no match.
func match(s, want string) int {
	at := 0
	for i := range len(want) {
		n := matchByte(s[at:], want[i])
		if n == 0 {
			return 0
		}
		at += n
	}
	return at
}

func matchByte(s string, want byte) int {
	switch {
	case s == "":
	case s[0] == '%' && len(s) > 2 && unhex(s[1])<<4|unhex(s[2]) == int(want):
		return 3
	case s[0] == want:
		return 1
	case s[0] == '&':
		for i, c := range "<>{}|*" {
			if byte(c) == want {
				name := strings.Fields("&lt; &gt; &#123; &#125; &#124; &#42;")[i]
				if strings.HasPrefix(s, name) {
					return len(name)
				}
			}
		}
	}
	return 0
}

// unhex returns the value of a hexadecimal digit, or a value above a byte.
func unhex(c byte) int {
	if i := strings.IndexByte("0123456789abcdef", c|0x20); i >= 0 && (c >= 'A' || c <= '9') {
		return i
	}
	return 1 << 10
}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == '%' && i+2 < len(s) && unhex(s[i+1])|unhex(s[i+2]) < 16 {
			b.WriteByte(byte(unhex(s[i+1])<<4 | unhex(s[i+2])))
			i += 2
		} else {
			b.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// copyTo copies text.
func (t *converter) copyTo(to int) {
	if t.done < to {
		t.text(t.in[t.done:to], true)
		t.skipTo(to)
	}
}

func (t *converter) skipTo(to int) {
	t.line += strings.Count(t.in[t.done:to], "\n")
	t.done = to
}

// wordJoiner is an invisible character between braces that are not a placeholder.
const wordJoiner = "\u2060"

// text appends text that must not be parsed as a placeholder: it separates three braces in a row,
// and reports them if name is set.
func (t *converter) text(s string, name bool) {
	line, counted, last := t.line, 0, -3
	for i := range len(s) {
		if n := len(t.out); s[i] == '{' && n > 1 && t.out[n-1] == '{' && t.out[n-2] == '{' {
			t.out = append(t.out, wordJoiner...)
			if name && i-last > 2 {
				line += strings.Count(s[counted:i], "\n")
				counted = i
				t.name(line, s[max(0, i-2):], "three braces would begin a placeholder: a character without width stands between them now")
			}
			last = i
		}
		t.out = append(t.out, s[i])
	}
}

// name reports a tag that was not converted.
func (t *converter) name(line int, tag, why string) {
	if len(t.result.Unconverted) == maxNamed {
		return
	}
	tag = strings.ToValidUTF8(tag[:min(len(tag), 4*maxExcerpt)], "\uFFFD")
	if r := []rune(tag); len(r) > maxExcerpt {
		tag = string(r[:maxExcerpt])
	}
	t.result.Unconverted = append(t.result.Unconverted, Tag{line, tag, why})
}

// tag processes the tag from from to end.
func (t *converter) tag(from, end int, m meaning) {
	t.copyTo(from)
	tag := t.in[from:end]
	why, turned := t.put(m, tag)
	if !turned {
		t.text(tag, false)
	}
	if why != "" {
		t.name(t.line, tag, why)
	}
	t.skipTo(end)
	if turned && m.trimRight {
		rest := t.in[t.done:]
		t.skipTo(t.done + len(rest) - len(strings.TrimLeft(rest, goBlanks)))
	}
	if turned && m.kind == link && t.dialect == Listmonk {
		if after, ok := strings.CutPrefix(t.in[t.done:], "?manage=true"); ok {
			t.skipTo(len(t.in) - len(after))
		}
	}
}

const goBlanks = " \t\r\n"

// put appends the meaning of a tag, or returns why it was not converted. A converted tag may have
// a reason too.
func (t *converter) put(m meaning, tag string) (why string, turned bool) {
	if m.kind == cannot {
		return m.reason, false
	}
	if m.has && (strings.ContainsAny(m.fallback, "{}\\") || m.fallback != strings.TrimSpace(m.fallback)) {
		return "its fallback can't be used in a placeholder", false
	}
	if why = t.allow(m); why != "" {
		return why, false
	}
	if m.trimLeft {
		t.out = bytes.TrimRight(t.out, goBlanks)
	}
	p := app.Placeholder{Key: m.key, Fallback: m.fallback, HasFallback: m.has}
	switch m.kind {
	case literal:
		t.text(m.key, true)
	case link:
		for _, scheme := range [...]string{"http://", "https://"} { // added by editors before a supposed host
			t.out = bytes.TrimSuffix(t.out, []byte(scheme))
		}
		t.placeholder(app.Placeholder{Key: "UNSUBSCRIBE_URL"})
	case ownPlaceholder:
		t.out = append(t.out, tag...)
	case fullName:
		for i, key := range [...]string{app.FirstNameField, app.LastNameField} {
			if i > 0 {
				t.out = append(t.out, ' ')
			}
			t.placeholder(app.Placeholder{Key: t.fieldKey(key)})
		}
	case field:
		p.Key = t.fieldKey(m.key)
		t.placeholder(p)
	default:
		if app.ReservedKey(p.Key) && !t.use.template() {
			p.Key = "contact." + p.Key
		}
		t.placeholder(p)
	}
	return m.reason, true
}

func (t *converter) placeholder(p app.Placeholder) { t.out = append(t.out, p.String()...) }

// fieldKey returns the key of a contact field.
func (t *converter) fieldKey(field string) string {
	if t.use.template() {
		return field
	}
	return "contact." + field
}

// allow counts links and keys of a tag, or returns why the text can't have more.
func (t *converter) allow(m meaning) (why string) {
	isLink := m.kind == link || m.kind == ownPlaceholder && app.IsUnsubscribeKey(m.key)
	switch {
	case m.kind == literal:
		return ""
	case isLink && !t.use.link():
		return "a subject or a preview text can't hold the link to unsubscribe"
	case isLink && t.links == maxLinks:
		return "a body can't hold the link to unsubscribe more than 100 times"
	case isLink:
		t.links++
		return ""
	case m.kind == fullName && t.use.template():
		if why = t.variable(app.FirstNameField); why == "" {
			why = t.variable(app.LastNameField)
		}
		return why
	case t.use.template() && m.kind == ownPlaceholder && app.ReservedKey(m.key):
		return ""
	case t.use.template() && app.ReservedKey(m.key):
		return "a template can't have a variable of this name"
	case m.kind == field && !t.use.template() || m.kind == fullName:
		return ""
	}
	key := strings.TrimPrefix(m.key, "contact.")
	if listed(" first_name last_name email ", key) || listed(" FIRST_NAME LAST_NAME EMAIL ", m.key) {
		if !t.use.template() {
			return ""
		}
	}
	return t.variable(key)
}

// variable records a key in the text, or returns why it is invalid.
func (t *converter) variable(key string) (why string) {
	limit := app.MaxPropertyKey
	if t.use.template() {
		limit = app.MaxVariableKey
	}
	switch {
	case app.CheckPropertyKey(key, limit) != nil:
		return "its name makes no key"
	case t.seen[key]:
		return ""
	case t.use.template() && len(t.seen) == app.MaxTemplateVariables:
		return "a template has at most 50 variables"
	}
	t.seen[key] = true
	t.result.Variables = append(t.result.Variables, key)
	return ""
}
