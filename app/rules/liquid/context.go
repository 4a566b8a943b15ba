package liquid

import (
	"html"
	"strings"

	"mailer/app/kit/htmltext"
)

// Context is the position of a value in HTML. The zero value is plain text.
type Context struct {
	place   place
	bare    bool // in an attribute without quotes
	all     bool // the value is all there is in that attribute
	comment bool // in a comment, which a value must not end
}

type place uint8

const (
	plainText    place = iota
	htmlText           // between tags
	quotedText         // in an attribute, title or textarea
	commentText        // in a comment or a declaration
	styleText          // in an attribute style
	styleSheet         // in an element style
	addressPath        // behind the host of an address
	addressQuery       // in the query or the fragment of an address
	addressRest        // behind mailto: or tel:
	wholeAddress       // all of an address
	attributes         // of a tag of Liquid: within a tag of HTML, outside of values
)

// IsPlain reports whether c is plain text.
func (c Context) IsPlain() bool { return c.place == plainText }

// IsAttributes reports whether a tag of Liquid is within a tag of HTML, where blanks have no meaning.
func (c Context) IsAttributes() bool { return c.place == attributes }

// IsWholeAddress reports whether a value is all of an address, so that Escape may refuse it.
func (c Context) IsWholeAddress() bool { return c.place == wholeAddress }

// isAddress reports whether values are percent-encoded.
func (c Context) isAddress() bool { return c.place >= addressPath && c.place <= addressRest }

// Escape escapes a value. ok is false, and the result empty, for a value that was to be a whole
// address and that is none of http, https, mailto and tel.
func (c Context) Escape(v string) (escaped string, ok bool) { return c.escape(clean(v), "") }

// escape is Escape for the value of an output whose last filter is last.
func (c Context) escape(v, last string) (escaped string, ok bool) {
	ok = true
	switch c.place {
	case plainText:
		if last == "raw" {
			v = htmltext.PlainText(v)
		}
		return v, true
	case htmlText:
		if last == "raw" {
			return v, true
		}
	case styleText:
		v = strings.Map(styleRune, v)
	case styleSheet:
		v = strings.Map(styleRune, v)
		if c.comment {
			v = strings.ReplaceAll(v, "-", "")
		}
		return v, true
	case addressPath:
		if last != "url_encode" {
			v = encode(v, "/")
			break
		}
		v = encode(v, "")
	case addressQuery:
		v = encode(v, "")
	case addressRest:
		v = encode(v, "@+")
	case wholeAddress:
		v, ok = address(v)
	}
	v = html.EscapeString(v)
	switch {
	case c.bare && c.all && v == "":
		return `""`, ok
	case c.bare:
		v = bareEscaper.Replace(v)
	case c.place == htmlText && last == "newline_to_br":
		v = lineBreaks.Replace(v)
	}
	if c.comment {
		v = commentEscaper.Replace(v)
	}
	return v, ok
}

var (
	bareEscaper    = strings.NewReplacer(" ", "&#32;", "\t", "&#9;", "\n", "&#10;", "\f", "&#12;", "\r", "&#13;", "=", "&#61;", "`", "&#96;")
	commentEscaper = strings.NewReplacer("-", "&#45;", "!", "&#33;")
	lineBreaks     = strings.NewReplacer("\r\n", "<br>\n", "\n", "<br>\n")
)

// clean removes characters that mail must not contain.
func clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// styleRune keeps the characters of a value that have no meaning in a style but their own; -1: the
// others.
func styleRune(r rune) rune {
	if isWordRune(r) || r < 0x80 && strings.IndexByte("#%.,- ", byte(r)) >= 0 {
		return r
	}
	return -1
}

func isWordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// encode percent-encodes all characters but those that an address can contain anywhere (RFC 3986
// 2.3) and those of keep.
func encode(v, keep string) string {
	return htmltext.PercentEncode(v, func(r rune) bool {
		return !isWordRune(r) && !(r < 0x80 && strings.IndexByte("-._~"+keep, byte(r)) >= 0)
	})
}

// address returns a whole address as browsers read it; ok is false for one of another scheme.
func address(v string) (normalized string, ok bool) {
	v = strings.TrimFunc(v, func(r rune) bool { return r <= ' ' })
	v = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(v)
	for _, begin := range []string{"http://", "https://", "mailto:", "tel:"} {
		if len(v) > len(begin) && htmltext.EqualASCII(v[:len(begin)], begin) {
			return htmltext.PercentEncode(v, func(r rune) bool { return r <= ' ' || r >= 0x7f && r < 0xa0 }), true
		}
	}
	return "", false
}
