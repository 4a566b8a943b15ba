package liquid

import (
	"html"
	"strings"
)

// Context is the position of a value. The zero value is plain text.
type Context struct{ place place }

type place uint8

const (
	plainText place = iota
	htmlText
)

// CheckHTML sets the context of each output.
func CheckHTML(tokens []Token) error {
	for i := range tokens {
		tokens[i].Context = Context{htmlText}
	}
	return nil
}

func (c Context) isAddress() bool { return false }

// escape escapes a value; ok is false if it is no address where it had to be one. last is the last
// filter of the output.
func (c Context) escape(v, last string) (escaped string, ok bool) {
	if c.place == plainText || last == "raw" {
		return v, true
	}
	v = html.EscapeString(v)
	if last == "newline_to_br" {
		v = strings.ReplaceAll(strings.ReplaceAll(v, "\r\n", "\n"), "\n", "<br>\n")
	}
	return v, true
}
