package inbound

import (
	"strings"
	"unicode/utf8"

	"mailer/app/kit/mailbox"
)

// word is an encoded word (RFC 2047 2).
type word struct {
	charset string
	content []byte
}

// decodeWords returns the text of a field. Encoded words are decoded also where they violate RFC
// 2047: in quotes, within other words, with blanks, without padding, or with a character that is
// divided between two of them. label is the character set of unencoded text beyond ASCII that is
// not UTF-8; empty: Windows-1252.
func decodeWords(s, label string) string {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0x1b) >= 0 {
		s = toUTF8([]byte(s), label)
	}
	if !strings.Contains(s, "=?") {
		return visible(s)
	}
	var out strings.Builder
	var last word // pending, since the next one may continue it
	flush := func() {
		out.WriteString(toUTF8(last.content, last.charset))
		last = word{}
	}
	ends := 0 // index of the first ?= at or after the last place where one was looked for
	for at := 0; at < len(s); {
		n := strings.Index(s[at:], "=?")
		if n < 0 {
			n = len(s) - at
		}
		between := s[at : at+n]
		w, next, ok := wordAt(s, at+n, &ends)
		if last.charset == "" || !ok || strings.Trim(between, " \t") != "" {
			flush()
			out.WriteString(between)
		}
		switch {
		case !ok:
			next = min(at+n+2, len(s))
			out.WriteString(s[at+n : next])
		case strings.EqualFold(last.charset, w.charset):
			last.content = append(last.content, w.content...)
		default:
			flush()
			last = w
		}
		at = next
	}
	flush()
	return visible(out.String())
}

// maxCharsetName is the length of the longest name of a character set in bytes.
const maxCharsetName = 60

// wordAt decodes the encoded word that begins at an index. next is its end. ends is kept between
// calls, so that a text without ?= is searched once.
func wordAt(s string, at int, ends *int) (w word, next int, ok bool) {
	if at+2 > len(s) {
		return w, 0, false
	}
	rest := s[at+2:]
	n := strings.IndexByte(rest[:min(len(rest), maxCharsetName)], '?')
	if n < 1 || n+2 >= len(rest) || rest[n+2] != '?' || strings.ContainsAny(rest[:n], " \t") {
		return w, 0, false
	}
	begin := at + 2 + n + 3
	if *ends < begin {
		*ends = len(s)
		if n := strings.Index(s[begin:], "?="); n >= 0 {
			*ends = begin + n
		}
	}
	if *ends == len(s) {
		return w, 0, false
	}
	w.charset, _, _ = strings.Cut(rest[:n], "*") // with a language (RFC 2231 5)
	if w.charset == "" {
		return w, 0, false
	}
	content := s[begin:*ends]
	switch rest[n+1] {
	case 'B', 'b':
		w.content = decodeBase64([]byte(content))
	case 'Q', 'q':
		w.content = decodeQuoted([]byte(strings.ReplaceAll(content, "_", " ")))
	default:
		return w, 0, false
	}
	return w, *ends + len("?="), true
}

// oneLine returns a text for display on one line, cut to a number of bytes.
func oneLine(s string, maxBytes int) string {
	s = visible(s)
	if strings.ContainsFunc(s, mailbox.IsControl) {
		s = strings.Map(func(r rune) rune {
			if mailbox.IsControl(r) {
				return ' '
			}
			return r
		}, s)
	}
	if len(s) > maxBytes {
		s = strings.ToValidUTF8(s[:maxBytes], "")
	}
	return strings.TrimSpace(s)
}

// withoutHidden removes invisible characters that change how a name is displayed.
func withoutHidden(s string) string {
	return strings.Map(func(r rune) rune {
		if mailbox.IsHidden(r) {
			return -1
		}
		return r
	}, s)
}
