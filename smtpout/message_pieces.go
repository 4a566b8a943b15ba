package smtpout

import (
	"bytes"
	"strings"

	"mailer/app"
)

// pieces writes a body of a broadcast: what all recipients share is encoded
// once. Which encoding it is depends on that alone, and since no value may be
// taken for harmless it is never 7bit.
func (w *messageWriter) pieces(b *app.Body) {
	if b.Wide {
		w.base64([]byte(normalLines(b.String())))
		return
	}
	q := quoter{buf: w.buf}
	for i := range b.Pieces {
		p := &b.Pieces[i]
		if p.Shared != nil {
			q.shared(p.Shared)
		}
		q.text(p.Own)
	}
	w.buf = q.buf
}

func pieceEncoding(b *app.Body) string {
	if b.Wide {
		return "base64"
	}
	return "quoted-printable"
}

// quoter appends text in quoted-printable (RFC 2045 6.7), with CRLF for each line
// end. Its lines have at most 76 characters, and each text ends such that
// anything may follow.
type quoter struct {
	buf    []byte
	column int
	cr     bool // the last byte of the text was a CR, for which a CRLF stands
}

// quotedLine is how much a line holds before the = of a soft line break.
const quotedLine = 75

// quotedAsIs marks what stands for itself anywhere in a line.
var quotedAsIs = func() (table [256]bool) {
	for c := byte('!'); c <= '~'; c++ {
		table[c] = c != '='
	}
	return table
}()

// shared appends a text that is encoded once: from the beginning of a line on.
func (q *quoter) shared(t *app.SharedText) {
	if q.cr && strings.HasPrefix(t.Text, "\n") {
		q.text(t.Text)
		return
	}
	wire := t.Wire(quote)
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
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\n' && q.cr {
			q.cr = false
			continue
		}
		q.cr = c == '\r'
		switch {
		case c == '\r' || c == '\n':
			q.buf = append(q.buf, '\r', '\n')
			q.column = 0
		case c == 'F' && q.column == 0 && strings.HasPrefix(s[i:], "From "): // a mailbox file would change it
			q.escaped(c)
		case quotedAsIs[c]:
			i += q.run(s[i:]) - 1
		case (c == ' ' || c == '\t') && i+1 < len(s) && s[i+1] != '\r' && s[i+1] != '\n':
			if q.column == quotedLine {
				q.breakLine()
			}
			q.buf = append(q.buf, c)
			q.column++
		default:
			q.escaped(c)
		}
	}
}

// run appends what of s stands for itself and fits into the line, at least one
// byte, and tells how many those are.
func (q *quoter) run(s string) int {
	if q.column == quotedLine {
		q.breakLine()
	}
	n := 1
	for most := min(len(s), quotedLine-q.column); n < most && quotedAsIs[s[n]]; {
		n++
	}
	q.buf = append(q.buf, s[:n]...)
	q.column += n
	return n
}

func (q *quoter) escaped(c byte) {
	if q.column+3 > quotedLine {
		q.breakLine()
	}
	q.buf = append(q.buf, '=', upperHex[c>>4], upperHex[c&15])
	q.column += 3
}
