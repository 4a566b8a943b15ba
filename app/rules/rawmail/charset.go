package rawmail

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// windows1252 is what 0x80 to 0x9f stand for there, and, as browsers have it, in what says
// that it is ISO 8859-1; 0: nothing.
var windows1252 = [32]rune{'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ'}

// latin9 is where ISO 8859-15 is not ISO 8859-1.
var latin9 = map[byte]rune{0xa4: '€', 0xa6: 'Š', 0xa8: 'š', 0xb4: 'Ž', 0xb8: 'ž', 0xbc: 'Œ', 0xbd: 'œ', 0xbe: 'Ÿ'}

// shown is a body as text in UTF-8. The character sets are those that browsers read, by
// the names of the Encoding standard of WHATWG; of another one only what is UTF-8, or ASCII,
// can be read.
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
	case "", "us-ascii", "ascii": // what is said to be ASCII and is neither that nor UTF-8 mostly is this
		if utf8.Valid(content) {
			return "", false
		}
	default:
		return "", false
	}
	return latinText(content, isLatin9(charset)), true
}

// isLatin9 tells ISO 8859-15 from the other Western character sets.
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

// charsetReader has encoded words read as bodies are.
func charsetReader(charset string, in io.Reader) (io.Reader, error) {
	content, err := io.ReadAll(in)
	return bytes.NewReader([]byte(shown(content, charset))), err
}
