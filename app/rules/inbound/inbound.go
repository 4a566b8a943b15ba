// Package inbound reads mail that strangers sent (RFC 5322, RFC 2045) for display. It has its own
// reader of MIME: that of package rawmail refuses what it can't send on, and that of package
// feedback stops at the first text.
//
// Failure policy: nothing fails. Broken mail is read as far as possible, in linear time. At most
// 1,000 parts, 20 nested multiparts, 256 KiB of headers, and 2 MiB of text and of HTML are read; the
// rest is left out, and Message.Cut reports it. No text holds NUL or invalid UTF-8.
package inbound

import (
	"bytes"
	"strings"

	"mailer/app"
)

// Limits of one message.
const (
	maxParts      = 1000 // of all kinds
	maxDepth      = 20   // nested multiparts
	maxHeader     = 256 << 10
	maxFields     = 1000 // of all headers
	maxAddresses  = 1000 // of one field
	maxReferences = 100
	maxID         = 998 // bytes of a Message-ID
	maxFilename   = 255 // bytes
)

// MaxBodies is the maximum length in bytes of all bodies in UTF-8, and of each of Text and HTML.
const MaxBodies = 2 << 20

// Message is a message as people read it.
type Message struct {
	Headers []app.Header // of the message, in order, decoded

	From      string // all mailboxes of the From fields; empty: none
	FromEmail string // address in lower case with A-labels; empty: unreadable, several or none
	// FromDomains are the domains of all mailboxes in From, in A-labels; an empty one is unreadable.
	FromDomains []string
	Sender      string
	To          []string
	Cc          []string
	Bcc         []string
	ReplyTo     []string
	Subject     string // at most app.MaxSubject bytes

	MessageID  string   // with angle brackets; empty: none
	InReplyTo  []string // without angle brackets, at most 100
	References []string // alike; of more the last ones

	Text  string             // lines end with LF; made of the HTML if the message has no text
	HTML  string             // empty: none
	Files []app.ReceivedFile // without ids

	// Auto says which kind of program sent the message, as far as its content shows it
	// (AutoSubmitted).
	Auto app.AutoSubmitted
	// Cut: the message exceeds a limit, so that parts, header fields or the end of a text are missing.
	Cut bool

	fields   fields
	raw      []byte
	report   string // report-type of a multipart/report in lower case, or "unknown"; empty: not one
	textMade bool   // Text was made of the HTML
}

// Parse reads a message. It never fails. The message keeps raw, which must not change.
func Parse(raw []byte) *Message {
	r := newReader(raw)
	root := r.entity(0, len(r.raw), 0, "text/plain")
	m := &Message{fields: root.fields, raw: raw}
	m.readHeader(root.params["charset"])
	if root.kind == "multipart/report" {
		m.report = strings.ToLower(root.params["report-type"])
		if m.report == "" {
			m.report = "unknown"
		}
	}
	r.fill(m, root)
	m.Auto = m.AutoSubmitted(false)
	m.Cut = r.cut
	return m
}

// Part returns the decoded content of the part with the number n of a ReceivedFile: parts that are
// not multiparts are counted from 0 in the order of the message. ok is false if there is none.
func Part(raw []byte, n int) (content []byte, ok bool) {
	r := newReader(raw)
	p := r.entity(0, len(r.raw), 0, "text/plain").find(n)
	if p == nil {
		return nil, false
	}
	return bytes.Clone(r.content(p)), true
}

// newReader returns a reader of a message. Lines may end with CRLF, LF, or CR alone if there is no
// LF at all.
func newReader(raw []byte) *reader {
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') >= 0 {
		raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	}
	return &reader{raw: raw, headerLeft: maxHeader, fieldsLeft: maxFields}
}
