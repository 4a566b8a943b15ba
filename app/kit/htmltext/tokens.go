package htmltext

import (
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Tokens reads HTML token by token as html.Tokenizer does; a test compares
// the two. That one copies its input into a buffer byte by byte, and the names of
// attributes into a table, which was half of all that accepting a mail cost beside
// the database; and the table grows with the largest tag and is emptied at each
// one. Here a token is a place in the source and nothing is copied. It takes
// linear time whatever the source is.
type Tokens struct {
	Source  string
	returns bool // it has carriage returns
	Begin   int  // of the token
	At      int  // bytes read: its end
	kind    html.TokenType

	Name string // of the tag, in lower case
	Attr int    // where the attributes of the tag begin

	Element string // whose content is text without tags, and comes next or was just read; empty: none
	pending bool   // that text was not read yet
}

// NewTokens stands before the first token of a source.
func NewTokens(source string) Tokens {
	return Tokens{Source: source, returns: strings.IndexByte(source, '\r') >= 0}
}

// Next goes to the next token. At the end, and for a tag that has none, it is
// html.ErrorToken.
func (t *Tokens) Next() html.TokenType {
	t.Begin = t.At
	if t.pending {
		t.pending = false
		if t.At = t.elementEnd(); t.At > t.Begin {
			t.kind = html.TextToken
			return t.kind
		}
	}
	t.Element = ""
	if !markupAt(t.Source, t.At) {
		t.At = markupIndex(t.Source, t.At)
	}
	switch {
	case t.At > t.Begin:
		t.kind = html.TextToken
	case t.At == len(t.Source):
		t.kind = html.ErrorToken
	default:
		t.kind = t.markup()
	}
	return t.kind
}

// Raw is the token as it is written.
func (t *Tokens) Raw() string { return t.Source[t.Begin:t.At] }

// Text is what a text token means.
func (t *Tokens) Text() string {
	s := t.Raw()
	if t.returns {
		s = plainNewlines(s)
	}
	switch t.Element {
	case "":
		return unescapeText(s)
	case "textarea", "title":
		return unescapeText(visibleNUL(s))
	}
	return visibleNUL(s)
}

// markupAt reports whether what stands at a place is no text: a less-than sign before
// a letter, a slash, an exclamation or a question mark.
func markupAt(s string, at int) bool {
	if at+1 >= len(s) || s[at] != '<' {
		return false
	}
	c := s[at+1]
	return IsLetter(c) || c == '/' || c == '!' || c == '?'
}

// markupIndex finds what is no text from a place on, or the end.
func markupIndex(s string, at int) int {
	for {
		n := strings.IndexByte(s[at:], '<')
		if n < 0 {
			return len(s)
		}
		if at += n; markupAt(s, at) {
			return at
		}
		at++
	}
}

// IsLetter reports whether c is an ASCII letter, with which the name of a tag must
// begin.
func IsLetter(c byte) bool {
	c |= 0x20
	return c >= 'a' && c <= 'z'
}

// markup reads what begins with a less-than sign.
func (t *Tokens) markup() html.TokenType {
	inside := t.Begin + 2
	switch t.Source[t.Begin+1] {
	case '/':
		return t.endTag(inside)
	case '!':
		return t.declaration(inside)
	case '?':
		return t.bogus(t.Begin + 1)
	}
	return t.startTag()
}

// bogus reads up to the next greater-than sign.
func (t *Tokens) bogus(from int) html.TokenType {
	t.At = len(t.Source)
	if n := strings.IndexByte(t.Source[from:], '>'); n >= 0 {
		t.At = from + n + 1
	}
	return html.CommentToken
}

func (t *Tokens) declaration(from int) html.TokenType {
	const doctype = "doctype"
	rest := t.Source[from:]
	switch {
	case strings.HasPrefix(rest, "--"):
		t.At = commentEnd(t.Source, from+2)
		return html.CommentToken
	case len(rest) >= len(doctype) && EqualASCII(rest[:len(doctype)], doctype):
		t.bogus(from)
		return html.DoctypeToken
	}
	return t.bogus(from)
}

// commentEnd is behind the end of a comment, from what follows its <!-- on: two
// dashes, an exclamation mark or none, and a greater-than sign, of which alone is
// enough where nothing but dashes was before.
func commentEnd(s string, at int) int {
	dashes, empty := 0, true
	for ; at < len(s); at++ {
		switch s[at] {
		case '-':
			dashes++
			continue
		case '>':
			if dashes >= 2 || empty {
				return at + 1
			}
		case '!':
			if dashes < 2 {
				break
			}
			if at++; at == len(s) {
				return at
			}
			if s[at] == '>' {
				return at + 1
			}
			if s[at] == '-' {
				dashes, empty = 1, false
				continue
			}
		}
		n := strings.IndexByte(s[at+1:], '-') // nothing else matters now
		if n < 0 {
			return len(s)
		}
		dashes, empty = 0, false
		at += n
	}
	return at
}

func (t *Tokens) endTag(from int) html.TokenType {
	switch {
	case from == len(t.Source):
		t.At = from
		return html.TextToken
	case !IsLetter(t.Source[from]):
		return t.bogus(from)
	case t.tag(from) < 0:
		return html.ErrorToken
	}
	return html.EndTagToken
}

func (t *Tokens) startTag() html.TokenType {
	last := t.tag(t.Begin + 1)
	if last < 0 {
		return html.ErrorToken
	}
	if textOnly(t.Name) {
		t.Element, t.pending = t.Name, true
	}
	if t.Source[t.At-2] == '/' && !t.endsInValue(last) {
		return html.SelfClosingTagToken
	}
	return html.StartTagToken
}

// tag reads a tag whose name begins at that place, and returns where its last
// attribute begins; -1: the tag has no end.
func (t *Tokens) tag(from int) (last int) {
	s := t.Source
	name := TagName(s[from:])
	t.Name = lowerName(name)
	at := SkipBlanks(s, from+len(name))
	t.Attr = at
	for last = at; at < len(s) && s[at] != '>'; at = SkipBlanks(s, at) {
		last = at
		_, _, _, at = attributeAt(s, at)
	}
	if at >= len(s) {
		t.At = len(s)
		return -1
	}
	t.At = at + 1
	return last
}

// endsInValue reports whether the slash before the end of a tag belongs to a value
// without quotes: that of its last attribute, which begins at that place, unless
// another had its name before.
func (t *Tokens) endsInValue(last int) bool {
	key, from, to, _ := attributeAt(t.Source, last)
	if from == to || to != t.At-1 {
		return false
	}
	for at := t.Attr; at < last; at = SkipBlanks(t.Source, at) {
		var earlier string
		if earlier, _, _, at = attributeAt(t.Source, at); EqualASCII(earlier, key) {
			return false
		}
	}
	return true
}

// attributes returns the attributes of a tag as they are written, in their order.
// Of several of a name only the first one counts.
func (t *Tokens) attributes(yield func(key, value string) bool) {
	tag := t.Source[:t.At]
	for at := t.Attr; at < len(tag)-1; at = SkipBlanks(tag, at) {
		key, from, to, next := attributeAt(tag, at)
		if key != "" && !yield(key, tag[from:to]) {
			return
		}
		at = next
	}
}

// Value returns what the attribute of that name means; ok is false where there is
// none.
func (t *Tokens) Value(name string) (value string, ok bool) {
	for key, value := range t.attributes {
		if EqualASCII(key, name) {
			return AttributeText(value), true
		}
	}
	return "", false
}

// textOnly reports whether what follows the start tag of an element is text up to
// its end tag.
func textOnly(name string) bool {
	switch name {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

// elementEnd is where the text of the open element ends.
func (t *Tokens) elementEnd() int {
	if t.Element == "plaintext" {
		return len(t.Source)
	}
	end := t.At + endTagIndex(t.Source[t.At:], t.Element)
	if t.Element != "script" {
		return end
	}
	_, hidden, found := strings.Cut(t.Source[t.At:end], "<!--")
	if !found || !strings.Contains(strings.ToLower(hidden), "<script") {
		return end
	}
	// A script in a comment in a script hides an end tag by rules of its own (WHATWG
	// HTML 13.2.5.19 to 13.2.5.31).
	z := html.NewTokenizer(io.MultiReader(strings.NewReader("<script>"), strings.NewReader(t.Source[t.At:])))
	z.Next()
	z.Next()
	return t.At + len(z.Raw())
}

// endTagIndex finds the end tag of an element, or the end.
func endTagIndex(s, element string) int {
	at := 0
	for {
		n := strings.Index(s[at:], "</")
		if n < 0 {
			return len(s)
		}
		at += n
		rest := s[at+2:]
		if n := len(element); len(rest) > n && EqualASCII(rest[:n], element) && (isBlank(rest[n]) || rest[n] == '/' || rest[n] == '>') {
			return at
		}
		at += 2
	}
}

// EqualASCII compares without the case of ASCII letters, which alone HTML folds.
func EqualASCII(s, t string) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range len(s) {
		if s[i] != t[i] && (s[i]|0x20 != t[i]|0x20 || !IsLetter(s[i])) {
			return false
		}
	}
	return true
}

// lowerName is the name of a tag as it is compared.
func lowerName(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' || c == 0 {
			return visibleNUL(lowerASCII(s))
		}
	}
	return s
}

func lowerASCII(s string) string {
	b := append(make([]byte, 0, 16), s...)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	if known := atom.Lookup(b); known != 0 {
		return known.String()
	}
	return string(b)
}

func visibleNUL(s string) string { return strings.ReplaceAll(s, "\x00", "\uFFFD") }

// plainNewlines: HTML knows one kind of line break only.
func plainNewlines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

func unescapeText(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	return html.UnescapeString(s)
}

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }
