// Package rawmail reads messages that programs hand in whole (RFC 5322, RFC 2045): what
// they say, for people to see, and what may not leave, which is cut out of their header;
// no other byte of them ever changes. The services and smtpout may import it; it does no
// I/O and keeps no state.
//
// Failure policy: what can't be sent on as one well-formed message is refused, with an
// *app.Error of CodeValidation that names the header field; what only can't be shown,
// such as a foreign character set, is shown as far as it can be read.
package rawmail

import (
	"bytes"

	"mailer/app"
)

// Bounds of one message. Lines are those of RFC 5322 2.1.1, without their CRLF.
const (
	maxLine   = 998
	maxHeader = 256 << 10 // bytes of the header, and of each part's
	maxFields = 1000
	maxDepth  = 20   // multiparts in one another
	maxParts  = 1000 // of all kinds
)

// Message is a message as it came, read.
type Message struct {
	Raw    []byte  // with CRLF at its end
	Fields []Field // of the header, in their order
	Body   int     // where it begins in Raw, behind the empty line

	From    app.Address
	To      []app.Address
	Cc      []app.Address
	ReplyTo []app.Address
	Subject string
	ID      string // its Message-ID without angle brackets; empty: none that can be used

	HTML        string
	Text        string
	Attachments []app.Attachment // with their content, without ids
	// Protected: it is signed or encrypted by its author, so that not a byte of its body may
	// change.
	Protected bool
}

// Field is a header field: its value is unfolded, and all of it, with its CRLF, stands at
// From to To of the message.
type Field struct {
	Name     string
	Value    string
	From, To int
}

// Parse reads a message. It may write behind the end of raw.
func Parse(raw []byte) (*Message, error) {
	if err := checkLines(raw); err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(raw, crlf) {
		raw = append(raw, crlf...)
	}
	m := &Message{Raw: raw}
	var err error
	if m.Fields, m.Body, err = readFields(raw, 0, len(raw)); err != nil {
		return nil, err
	}
	if m.Body < 0 { // a header alone
		m.Raw = append(raw, crlf...)
		m.Body = len(m.Raw)
	}
	if err := m.readHeader(); err != nil {
		return nil, err
	}
	return m, m.readParts()
}

var crlf = []byte("\r\n")

// checkLines refuses what no relay need take, and what servers read in different ways
// (RFC 5321 2.3.8).
func checkLines(raw []byte) error {
	if bytes.IndexByte(raw, 0) >= 0 {
		return app.Invalid("message", "must not hold NUL")
	}
	for rest := raw; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		line := rest
		if end >= 0 {
			line, rest = rest[:end], rest[end+1:]
			if len(line) == 0 || line[len(line)-1] != '\r' {
				return app.Invalid("message", "must not hold a bare LF: lines end with CRLF")
			}
			line = line[:len(line)-1]
		} else {
			rest = nil
		}
		if bytes.IndexByte(line, '\r') >= 0 {
			return app.Invalid("message", "must not hold a bare CR: lines end with CRLF")
		}
		if len(line) > maxLine {
			return app.Invalid("message", "must not hold lines of more than %d bytes", maxLine)
		}
	}
	return nil
}
