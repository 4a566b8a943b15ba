package app

import (
	"strings"

	"golang.org/x/net/html"
)

// htmlTokens reads HTML as html.Tokenizer does, in linear time. That one keeps
// the names of a tag's attributes in a table, which it empties at each tag and
// never makes smaller: after one tag with a hundred thousand attributes each of a
// hundred thousand small ones would cost as much. So after a large tag another
// tokenizer goes on.
type htmlTokens struct {
	*html.Tokenizer
	source string
	at     int  // bytes read
	worn   bool // a large tag was read
	text   bool // text without tags follows
}

// largeTag is the size of a tag, in bytes, that wears a tokenizer out.
const largeTag = 512

func newHTMLTokens(source string) *htmlTokens {
	return &htmlTokens{Tokenizer: html.NewTokenizer(strings.NewReader(source)), source: source}
}

// Next implements html.Tokenizer.
func (t *htmlTokens) Next() html.TokenType {
	if t.worn && !t.text {
		t.Tokenizer, t.worn = html.NewTokenizer(strings.NewReader(t.source[t.at:])), false
	}
	kind := t.Tokenizer.Next()
	raw := t.Raw()
	t.at += len(raw)
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken:
		t.worn = t.worn || len(raw) > largeTag
		t.text = textOnly(raw)
	case html.EndTagToken:
		t.text = false
	}
	return kind
}

// textOnly tells whether the tokenizer reads what follows a start tag, up to its
// end tag, as text.
func textOnly(tag []byte) bool {
	switch strings.ToLower(tagName(string(tag[1:]))) {
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		return true
	}
	return false
}
