package htmltext

import (
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Tokens tokenizes HTML like html.Tokenizer; a test compares the two. html.Tokenizer copies its
// input byte by byte and attribute names into a table, which took half of the time of accepting a
// mail apart from the database, and its table is cleared at each tag at the size of the largest.
// Here a token is a range of the source, and nothing is copied. Tokenizing takes linear time for
// any source.
type Tokens struct {
	Source  string
	returns bool // the source contains carriage returns
	Begin   int  // start of the token
	At      int  // bytes read: end of the token
	kind    html.TokenType

	Name string // of the tag, in lower case
	Attr int    // start of the tag's attributes

	Element string // element whose content is raw text and is next or was just read; empty: none
	pending bool   // the raw text was not read yet
}

// NewTokens returns a tokenizer before the first token of a source.
func NewTokens(source string) Tokens {
	return Tokens{Source: source, returns: strings.IndexByte(source, '\r') >= 0}
}

// Next advances to the next token. It returns html.ErrorToken at the end and for a tag without an
// end.
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

// Raw returns the source text of the token.
func (t *Tokens) Raw() string { return t.Source[t.Begin:t.At] }

// Text returns the decoded text of a text token.
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

// markupAt reports whether s has markup at an index: a less-than sign before a letter, slash,
// exclamation or question mark.
func markupAt(s string, at int) bool {
	if at+1 >= len(s) || s[at] != '<' {
		return false
	}
	c := s[at+1]
	return IsLetter(c) || c == '/' || c == '!' || c == '?'
}

// markupIndex returns the index of the next markup at or after at, or len(s).
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

// IsLetter reports whether c is an ASCII letter, which must begin a tag name.
func IsLetter(c byte) bool {
	c |= 0x20
	return c >= 'a' && c <= 'z'
}

// markup reads a token that begins with a less-than sign.
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

// commentEnd returns the index after the end of a comment whose content begins at at: after two
// dashes, an optional exclamation mark and a greater-than sign. If only dashes came before, the
// greater-than sign alone ends it.
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
		n := strings.IndexByte(s[at+1:], '-') // only dashes matter from here
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

// tag reads a tag whose name begins at from and returns the start of its last attribute; -1: the
// tag has no end.
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

// endsInValue reports whether the slash before the end of a tag belongs to an unquoted value: that
// of its last attribute, which begins at last, unless an earlier attribute has the same name.
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

// attributes yields the attributes of a tag as they are written, in order. Of attributes with the
// same name only the first counts.
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

// Value returns the decoded value of an attribute; ok is false if there is none.
func (t *Tokens) Value(name string) (value string, ok bool) {
	for key, value := range t.attributes {
		if EqualASCII(key, name) {
			return AttributeText(value), true
		}
	}
	return "", false
}

// textOnly reports whether the content of an element is raw text up to its end tag.
func textOnly(name string) bool {
	switch name {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}

// elementEnd returns the end of the raw text of the open element.
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
	// A script within a comment within a script hides an end tag by its own rules (WHATWG HTML
	// 13.2.5.19 to 13.2.5.31).
	z := html.NewTokenizer(io.MultiReader(strings.NewReader("<script>"), strings.NewReader(t.Source[t.At:])))
	z.Next()
	z.Next()
	return t.At + len(z.Raw())
}

// endTagIndex returns the index of an element's end tag, or len(s).
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

// EqualASCII compares s and t, ignoring the case of ASCII letters only, as HTML does.
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

// lowerName returns the name of a tag as it is compared.
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

// plainNewlines converts line breaks to
// , as HTML parsers do.
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
