// Package rawmail parses messages that programs submit (RFC 5322, RFC 2045) for display, and
// removes header fields that must not be sent. It never changes another byte of a message. It does
// no I/O and keeps no state.
//
// Failure policy: a message that can't be sent on as one well-formed message is refused, with an
// *app.Error of CodeValidation that names the header field. What only can't be displayed, such as
// an unknown character set, is displayed as far as possible.
package rawmail

import (
	"bytes"

	"mailer/app"
)

// Limits of one message. Lines are measured without their CRLF (RFC 5322 2.1.1).
const (
	maxLine   = 998
	maxHeader = 256 << 10 // bytes of the header, and of each part's header
	maxFields = 1000
	maxDepth  = 20   // nested multiparts
	maxParts  = 1000 // of all kinds
)

// Message is a parsed message.
type Message struct {
	Raw    []byte  // ends with CRLF
	Fields []Field // header fields in order
	Body   int     // start of the body in Raw

	From    app.Address
	To      []app.Address
	Cc      []app.Address
	ReplyTo []app.Address
	Subject string
	ID      string // Message-ID without angle brackets; empty: none or invalid

	HTML        string
	Text        string
	Attachments []app.Attachment // with content, without ids
	// Protected: the message is signed or encrypted by its author, so its body must not change at
	// all.
	Protected bool
}

// Field is a header field. Its value is unfolded. From and To are its range in the message,
// including its CRLF.
type Field struct {
	Name     string
	Value    string
	From, To int
}

// Parse parses a message. It may write after the end of raw.
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
	if m.Body < 0 { // only a header
		m.Raw = append(raw, crlf...)
		m.Body = len(m.Raw)
	}
	if err := m.readHeader(); err != nil {
		return nil, err
	}
	return m, m.readParts()
}

var crlf = []byte("\r\n")

// checkLines refuses lines that relays may refuse and that servers parse differently (RFC 5321
// 2.3.8).
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
