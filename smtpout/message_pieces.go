package smtpout

import (
	"bytes"
	"strings"

	"mailer/app"
)

// pieces writes a body of a broadcast. The text that all recipients share is encoded once. The
// encoding depends on the shared text only, and is never 7bit, because the values of recipients may
// contain anything.
func (w *messageWriter) pieces(b *app.Body) {
	if b.NonASCII {
		w.base64([]byte(normalLines(b.String())))
		return
	}
	q := quoter{buf: w.buf}
	for i := range b.Pieces {
		p := &b.Pieces[i]
		if p.Shared != nil {
			q.shared(p.Shared)
		}
		q.text(p.Personal)
	}
	w.buf = q.buf
}

func pieceEncoding(b *app.Body) string {
	if b.NonASCII {
		return "base64"
	}
	return "quoted-printable"
}

// quoter appends text in quoted-printable (RFC 2045 6.7), with CRLF for each line end. Lines have
// at most 76 characters, and anything may follow after each text.
type quoter struct {
	buf    []byte
	column int
	cr     bool // the last byte was a CR, written as CRLF
}

// quotedLine is the maximum length of a line before the = of a soft line break.
const quotedLine = 75

// quotedAsIs marks the bytes that are written unchanged within a line.
var quotedAsIs = func() (table [256]bool) {
	for c := byte(' '); c <= '~'; c++ {
		table[c] = c != '='
	}
	table['\t'] = true
	return table
}()

// shared appends a text that is encoded once, starting at the beginning of a line.
func (q *quoter) shared(t *app.SharedText) {
	if q.cr && strings.HasPrefix(t.Text, "\n") {
		q.text(t.Text)
		return
	}
	wire := t.Encoded(quote)
	if q.column > 0 && !bytes.HasPrefix(wire, crlf) {
		q.breakLine()
	}
	q.buf = append(q.buf, wire...)
	q.column = len(wire) - 1 - bytes.LastIndexByte(wire, '\n')
	q.cr = strings.HasSuffix(t.Text, "\r")
}

func quote(text string) []byte {
	q := quoter{buf: make([]byte, 0, len(text)*9/8+16)}
	q.text(text)
	return q.buf
}

func (q *quoter) breakLine() {
	q.buf = append(q.buf, "=\r\n"...)
	q.column = 0
}

// text appends a text.
func (q *quoter) text(s string) {
	for s != "" {
		if s[0] == '\r' || s[0] == '\n' {
			q.lineEnd(s[0])
			s = s[1:]
			continue
		}
		q.cr = false
		if q.column == quotedLine {
			q.breakLine()
		}
		n := plainRun(s, quotedLine-q.column)
		if n == 0 || q.column < len(mailboxLine) && q.completes(s) {
			q.escaped(s[0])
			s = s[1:]
			continue
		}
		q.buf = append(q.buf, s[:n]...)
		q.column += n
		s = s[n:]
	}
}

// mailboxLine is the beginning of a line that a mailbox file would change.
const mailboxLine = "From "

// completes reports whether s, after the current line so far, completes a mailboxLine.
func (q *quoter) completes(s string) bool {
	begun := q.buf[len(q.buf)-q.column:]
	return string(begun) == mailboxLine[:q.column] && strings.HasPrefix(s, mailboxLine[q.column:])
}

func (q *quoter) lineEnd(c byte) {
	if c == '\n' && q.cr {
		q.cr = false
		return
	}
	q.buf = append(q.buf, '\r', '\n')
	q.column, q.cr = 0, c == '\r'
}

// plainRun returns how many bytes of s can be written unchanged on a line with space left for that
// many. A blank must not end a line or the text.
func plainRun(s string, space int) int {
	n := 0
	for limit := min(len(s), space); n < limit && quotedAsIs[s[n]]; {
		n++
	}
	if n > 0 && (s[n-1] == ' ' || s[n-1] == '\t') && (n == len(s) || s[n] == '\r' || s[n] == '\n') {
		n--
	}
	return n
}

func (q *quoter) escaped(c byte) {
	if q.column+3 > quotedLine {
		q.breakLine()
	}
	q.buf = append(q.buf, '=', upperHex[c>>4], upperHex[c&15])
	q.column += 3
}
