package rest

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// LongText is a string that may be long, like the body of a message: it is copied once while it is
// decoded. Null is empty.
type LongText string

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (t *LongText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'n':
		*t = ""
	case '"':
		*t = LongText(unquote(v[1 : len(v)-1]))
	default:
		return NewShapeError(d.StackPointer(), "must be a string")
	}
	return nil
}

// unquote decodes the content of a valid JSON string.
func unquote(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v)
	}
	var b strings.Builder
	b.Grow(len(v)) // decoding never makes it longer
	for {
		n := bytes.IndexByte(v, '\\')
		if n < 0 {
			b.Write(v)
			return b.String()
		}
		b.Write(v[:n])
		if c := plainEscape(v[n+1]); c != 0 {
			b.WriteByte(c)
			v = v[n+2:]
			continue
		}
		r := hexEscape(v[n:])
		if v = v[n+6:]; utf16.IsSurrogate(r) { // a pair: lone surrogates are invalid
			r = utf16.DecodeRune(r, hexEscape(v))
			v = v[6:]
		}
		b.WriteRune(r)
	}
}

// plainEscape returns the byte that a backslash and c stand for; 0 for \u.
func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'u':
		return 0
	}
	return c // a quote, a backslash or a slash
}

// hexEscape decodes \uXXXX.
func hexEscape(v []byte) rune {
	n, _ := strconv.ParseUint(string(v[2:6]), 16, 16)
	return rune(n)
}
