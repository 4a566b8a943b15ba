package smtpout

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mailer/app"
)

const (
	// maxLine is the preferred line length (RFC 5322 2.1.1).
	maxLine = 78
	// hardLine is the maximum line length.
	hardLine = 998
	// maxEncodedLine is the maximum length of a line with encoded words (RFC 2047), each of which
	// has at most 75 characters.
	maxEncodedLine = 76
)

// headerWriter writes header fields word by word, folding between words.
type headerWriter struct {
	buf    []byte
	column int
	first  bool // no word yet in this field
}

func (w *headerWriter) name(name string) {
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, ':')
	w.column, w.first = len(name)+1, true
}

// word writes a space and s, folding before it if the line would be too long. The first word stays
// on the line of the name if possible, because some readers treat a field that begins with a fold
// as empty.
func (w *headerWriter) word(s string) {
	limit := maxLine
	if w.first {
		limit = hardLine
	}
	if w.column+1+len(s) > limit {
		w.fold()
	}
	w.buf = append(w.buf, ' ')
	w.buf = append(w.buf, s...)
	w.column += 1 + len(s)
	w.first = false
}

// fold ends the line. The space before the next word continues the field.
func (w *headerWriter) fold() {
	w.buf = append(w.buf, '\r', '\n')
	w.column = 0
}

func (w *headerWriter) end() {
	w.buf = append(w.buf, '\r', '\n')
}

// field writes a short field whose value is ours.
func (w *headerWriter) field(name, value string) {
	w.name(name)
	w.word(value)
	w.end()
}

// text writes unstructured text so that every reader gets exactly s: as encoded words (RFC 2047),
// unless s is ASCII whose spaces survive folding and that does not look encoded.
func (w *headerWriter) text(name, s string) {
	w.name(name)
	if isPlainText(s) && !strings.Contains(s, "=?") {
		w.words(s)
	} else {
		w.encoded(s)
	}
	w.end()
}

// custom writes a caller's header: ASCII unchanged, because programs read many of these, other text
// encoded.
func (w *headerWriter) custom(name, s string) {
	w.name(name)
	if isASCII(s) {
		w.words(s)
	} else {
		w.encoded(s)
	}
	w.end()
}

// words splits s at single spaces; longer runs of spaces stay inside a word.
func (w *headerWriter) words(s string) {
	begin := 0
	for i := 1; i+1 < len(s); i++ {
		if s[i] == ' ' && s[i-1] != ' ' && s[i+1] != ' ' {
			w.word(s[begin:i])
			begin = i + 1
		}
	}
	w.word(s[begin:])
}

// isPlainText reports whether s is printable ASCII without leading, trailing or repeated spaces and
// without a word that is too long for a line.
func isPlainText(s string) bool {
	if s == "" || s[0] == ' ' || s[len(s)-1] == ' ' || strings.Contains(s, "  ") {
		return false
	}
	run := 0
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
		if run++; s[i] == ' ' {
			run = 0
		}
		if run > hardLine-2 {
			return false
		}
	}
	return true
}

// encoded writes s as encoded words (RFC 2047) on lines of at most 76 characters, each with whole
// characters, in the shorter of the encodings B and Q.
func (w *headerWriter) encoded(s string) {
	const prefix, suffix = "=?utf-8?", "?="
	const overhead = len(prefix) + len("q?") + len(suffix)
	const narrow = 16 // at least 12, the longest encoding of a character
	s = strings.ToValidUTF8(s, "\uFFFD")
	quoted := qLength(s) <= base64.StdEncoding.EncodedLen(len(s))
	for s != "" {
		space := maxEncodedLine - w.column - len(" ") - overhead
		if space < narrow && w.first {
			space = narrow
		} else if space < narrow {
			w.fold()
			space = maxEncodedLine - len(" ") - overhead
		}
		n := fitting(s, quoted, space)
		if quoted {
			w.word(prefix + "q?" + qEncode(s[:n]) + suffix)
		} else {
			w.word(prefix + "b?" + base64.StdEncoding.EncodeToString([]byte(s[:n])) + suffix)
		}
		s = s[n:]
	}
}

// fitting returns how many bytes of s, in whole characters, fit into an encoded word.
func fitting(s string, quoted bool, space int) int {
	n, used := 0, 0
	for n < len(s) {
		_, size := utf8.DecodeRuneInString(s[n:])
		if quoted {
			used += qLength(s[n : n+size])
		} else {
			used = base64.StdEncoding.EncodedLen(n + size)
		}
		if used > space {
			break
		}
		n += size
	}
	return n
}

// isQSafe reports whether Q encoding leaves c unchanged in a phrase, the strictest context (RFC
// 2047 section 5 (3)).
func isQSafe(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '!' || c == '*' || c == '+' || c == '-' || c == '/'
}

func qLength(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if n++; !isQSafe(s[i]) && s[i] != ' ' {
			n += 2
		}
	}
	return n
}

const upperHex = "0123456789ABCDEF"

func qEncode(s string) string {
	out := make([]byte, 0, 3*len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == ' ':
			out = append(out, '_')
		case isQSafe(c):
			out = append(out, c)
		default:
			out = append(out, '=', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(out)
}

// addresses writes an address list (RFC 5322 3.4) without erased addresses, or nothing if it is
// empty.
func (w *headerWriter) addresses(name string, list []app.Address) {
	if slices.ContainsFunc(list, app.Address.IsErased) {
		list = slices.DeleteFunc(slices.Clone(list), app.Address.IsErased)
	}
	if len(list) == 0 {
		return
	}
	w.name(name)
	for i, a := range list {
		mailbox := a.Mailbox()
		if a.Name != "" {
			w.phrase(a.Name)
			mailbox = "<" + mailbox + ">"
		}
		if i+1 < len(list) {
			mailbox += ","
		}
		w.word(mailbox)
	}
	w.end()
}

// phrase writes a display name: plain if it consists of atoms, quoted if it is short, else encoded.
func (w *headerWriter) phrase(name string) {
	if !isPlainText(name) || strings.Contains(name, "=?") {
		w.encoded(name)
		return
	}
	if !strings.ContainsAny(name, `()<>[]:;@\,."`) && len(name) <= maxLine {
		w.words(name)
		return
	}
	if quoted := app.QuoteString(name); len(quoted) <= maxLine-len("Reply-To: ") {
		w.word(quoted)
		return
	}
	w.encoded(name)
}

// filename writes the filename parameter: quoted if it is short ASCII, else percent-encoded UTF-8,
// in sections if it is long (RFC 2231). Encoded words are not allowed in quotes (RFC 2047 section
// 5).
func (w *headerWriter) filename(name string) {
	const short, piece = 60, 54
	if len(name) <= short && isPlainText(name) && !strings.Contains(name, "=?") {
		w.word("filename=" + app.QuoteString(name))
		return
	}
	encoded := percentEncode(name)
	if len(encoded) <= piece {
		w.word("filename*=utf-8''" + encoded)
		return
	}
	charset := "utf-8''"
	for i := 0; encoded != ""; i++ {
		n := min(piece, len(encoded))
		for k := 1; k <= 2 && n < len(encoded); k++ { // not inside a %XX
			if encoded[n-k] == '%' {
				n -= k
			}
		}
		param := "filename*" + strconv.Itoa(i) + "*=" + charset + encoded[:n]
		charset, encoded = "", encoded[n:]
		if encoded != "" {
			param += ";"
		}
		w.word(param)
	}
}

// percentEncode leaves unchanged the characters that both RFC 2231 and RFC 5987 allow.
func percentEncode(s string) string {
	out := make([]byte, 0, 3*len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' {
			out = append(out, c)
			continue
		}
		out = append(out, '%', upperHex[c>>4], upperHex[c&15])
	}
	return string(out)
}

// hasControl reports whether s contains a control character: C0, including CR and LF, or DEL.
func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] == 0x7f {
			return true
		}
	}
	return false
}
