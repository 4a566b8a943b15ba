package rawmail

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// windows1252 maps 0x80 to 0x9f. Browsers use it for ISO 8859-1 too. 0: undefined.
var windows1252 = [32]rune{'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ'}

// latin9 are the differences of ISO 8859-15 to ISO 8859-1.
var latin9 = map[byte]rune{0xa4: '€', 0xa6: 'Š', 0xa8: 'š', 0xb4: 'Ž', 0xb8: 'ž', 0xbc: 'Œ', 0xbd: 'œ', 0xbe: 'Ÿ'}

// shown converts a body to UTF-8. It supports the character sets of browsers under the names of
// the WHATWG Encoding standard. In another one only valid UTF-8 and ASCII can be read.
func shown(content []byte, charset string) string {
	text := string(content)
	if known, ok := fromLatin(content, charset); ok {
		text = known
	} else if known, err := htmlindex.Get(charset); err == nil && known != encoding.Replacement {
		if decoded, err := known.NewDecoder().Bytes(content); err == nil {
			text = string(decoded)
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// fromLatin decodes the Western character sets.
func fromLatin(content []byte, charset string) (text string, ok bool) {
	charset = strings.ToLower(strings.Trim(charset, " \t"))
	switch charset {
	case "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252", "iso-8859-15", "iso8859-15", "latin-9", "latin9":
	case "", "us-ascii", "ascii": // text labelled ASCII that is neither ASCII nor UTF-8 is mostly Windows-1252
		if utf8.Valid(content) {
			return "", false
		}
	default:
		return "", false
	}
	return latinText(content, isLatin9(charset)), true
}

// isLatin9 reports whether a name means ISO 8859-15.
func isLatin9(charset string) bool {
	charset = strings.ToLower(strings.Trim(charset, " \t"))
	return strings.HasSuffix(charset, "15") || strings.HasSuffix(charset, "9")
}

func latinText(content []byte, nine bool) string {
	var b strings.Builder
	b.Grow(len(content))
	for _, c := range content {
		b.WriteRune(latinRune(c, nine))
	}
	return b.String()
}

func latinRune(c byte, nine bool) rune {
	if nine && latin9[c] != 0 {
		return latin9[c]
	}
	if c >= 0x80 && c < 0xa0 {
		if r := windows1252[c-0x80]; r != 0 {
			return r
		}
		return utf8.RuneError
	}
	return rune(c)
}

// charsetReader decodes encoded words like bodies.
func charsetReader(charset string, in io.Reader) (io.Reader, error) {
	content, err := io.ReadAll(in)
	return bytes.NewReader([]byte(shown(content, charset))), err
}
