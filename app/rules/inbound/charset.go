package inbound

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
)

// toUTF8 converts a text to UTF-8 without NUL. It knows the character sets of browsers under the
// names of the WHATWG Encoding standard, and those of IANA. Mail programs name wrong ones: valid
// UTF-8 that is called Western or ASCII is UTF-8, and text without a known name is UTF-8 if valid,
// else ISO-2022-JP if it has its escapes, else Windows-1252.
func toUTF8(content []byte, label string) string {
	set := lookup(label)
	switch {
	case set == nil || set == charmap.Windows1252 || set == charmap.ISO8859_1:
		if set == nil && isISO2022JP(content) {
			set = japanese.ISO2022JP
			break
		}
		if utf8.Valid(content) {
			return visible(string(content))
		}
		if set == nil && hasMultibyte(content) { // UTF-8 that was cut or mixed
			return visible(string(content))
		}
		set = charmap.Windows1252
	case set == encoding.Nop:
		if !utf8.Valid(content) && !hasMultibyte(content) {
			set = charmap.Windows1252
			break
		}
		return visible(string(bytes.TrimPrefix(content, []byte("\ufeff"))))
	}
	text, err := set.NewDecoder().Bytes(content)
	if err != nil {
		return visible(string(content))
	}
	return visible(string(text))
}

// lookup returns a character set; encoding.Nop is UTF-8. nil: unknown, or ASCII.
func lookup(label string) encoding.Encoding {
	label = strings.ToLower(strings.Trim(label, " \t\"'"))
	switch label {
	case "", "us-ascii", "ascii", "7bit", "8bit", "unknown-8bit", "x-unknown", "binary", "default", "default_charset":
		return nil
	case "utf-8", "utf8", "utf8mb4", "utf_8", "utf":
		return encoding.Nop
	}
	if len(label) > 60 {
		return nil
	}
	known, err := htmlindex.Get(label)
	if err != nil {
		if alias := aliases[label]; alias != "" {
			known, err = htmlindex.Get(alias)
		} else {
			known, err = ianaindex.MIME.Encoding(label)
		}
	}
	if err != nil || known == nil || known == encoding.Replacement {
		return nil
	}
	if name, err := htmlindex.Name(known); err == nil && name == "utf-8" {
		return encoding.Nop
	}
	return known
}

// aliases are names of character sets that Windows and others write.
var aliases = map[string]string{"cp932": "shift_jis", "ms932": "shift_jis", "cp936": "gbk", "ms936": "gbk", "cp949": "euc-kr", "ms949": "euc-kr", "uhc": "euc-kr", "cp950": "big5", "iso-2022-jp-ms": "iso-2022-jp",
	"cp50220": "iso-2022-jp", "cp50221": "iso-2022-jp", "iso-8859-8-i": "iso-8859-8-i", "cp874": "windows-874", "big5-eten": "big5", "gb-2312": "gb2312", "ansi": "windows-1252", "latin-1": "windows-1252", "iso_8859_1": "windows-1252"}

// isISO2022JP reports whether ASCII text has escapes of ISO-2022-JP.
func isISO2022JP(b []byte) bool {
	return bytes.Contains(b, []byte("\x1b$B")) || bytes.Contains(b, []byte("\x1b$@"))
}

// hasMultibyte reports whether a text has a valid character of UTF-8 beyond ASCII.
func hasMultibyte(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if n > 1 && r != utf8.RuneError {
			return true
		}
		b = b[n:]
	}
	return false
}

// visible replaces what a database can't hold as text.
func visible(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// htmlToUTF8 converts HTML. Without a name of its character set, the document may name it.
func htmlToUTF8(content []byte, label string) string {
	if lookup(label) == nil && !utf8.Valid(content) {
		_, label, _ = charset.DetermineEncoding(content, "")
	}
	return toUTF8(content, label)
}
