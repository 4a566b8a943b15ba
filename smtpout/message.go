package smtpout

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mailer/app"
)

// appendMessage appends the unsigned message (RFC 5322, RFC 2045) to buf, with CRLF line ends: the
// same bytes for the same Outgoing on every call, ASCII except for local parts that need SMTPUTF8,
// no line longer than 998 octets, no bare CR or LF. It fails for a mail that
// app.EmailInput.Validate did not accept.
//
// No mail library is used: go-mail writes folded headers in random order, can't break long words,
// lets a subject that looks like an encoded word be decoded, puts encoded words into quoted file
// names, and holds six times an attachment's size in memory.
func appendMessage(buf []byte, m *app.Outgoing) ([]byte, error) {
	if err := checkOutgoing(m); err != nil {
		return nil, fmt.Errorf("compose message: %w", err)
	}
	w := messageWriter{id: m.EmailID}
	w.buf = slices.Grow(buf, estimate(m.Mail))
	w.messageHeaders(m)
	w.field("MIME-Version", "1.0")
	w.body(m.Mail)
	return w.buf, nil
}

// checkOutgoing checks m once more before headers are written. It never fails for a validated mail;
// it protects against a missed validation.
func checkOutgoing(m *app.Outgoing) error {
	mail := m.Mail
	switch {
	case mail == nil || len(mail.To) == 0:
		return errors.New("no recipient in To")
	case mail.From.IsErased():
		return errors.New("the sender was erased")
	case !mail.HasBody():
		return errors.New("no body")
	case !isBoundaryText(m.EmailID):
		return errors.New("email id is not an id")
	case m.MessageID == "" || hasControl(m.MessageID) || strings.ContainsAny(m.MessageID, " <>"):
		return errors.New("message id is not valid")
	case strings.ContainsAny(mail.Subject, "\r\n\x00"):
		return errors.New("line break in Subject")
	}
	for _, list := range [][]app.Address{{mail.From}, mail.To, mail.Cc, mail.ReplyTo} {
		for _, a := range list {
			if hasControl(a.Name) || hasControl(a.Local) || hasControl(a.Domain) {
				return errors.New("control character in an address")
			}
		}
	}
	for _, h := range mail.Headers {
		if h.Name == "" || h.Value == "" || strings.ContainsAny(h.Name, ": ") || hasControl(h.Name) || hasControl(h.Value) {
			return errors.New("custom header is not valid")
		}
	}
	for _, a := range mail.Attachments {
		if hasControl(a.Filename) || hasControl(a.ContentType) || hasControl(a.ContentID) || strings.ContainsAny(a.ContentID, " <>") || int64(len(a.Content)) != a.Size {
			return errors.New("attachment is not valid")
		}
	}
	return nil
}

// estimate is slightly more than the size of the message, so that the buffer grows at most once. It
// is exact for attachments.
func estimate(m *app.Mail) int {
	n := 4096 + (len(m.HTML)+len(m.Text)+m.Bodies.Size())*6/5
	for _, a := range m.Attachments {
		n += (len(a.Content)/57+1)*78 + 1024
	}
	return n
}

type messageWriter struct {
	headerWriter
	id string
}

func (w *messageWriter) messageHeaders(m *app.Outgoing) {
	mail := m.Mail
	w.field("Date", m.Date.UTC().Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	w.addresses("From", []app.Address{mail.From})
	if slices.ContainsFunc(mail.To, func(a app.Address) bool { return !a.IsErased() }) {
		w.addresses("To", mail.To)
	} else {
		w.field("To", "undisclosed-recipients:;")
	}
	w.addresses("Cc", mail.Cc)
	w.addresses("Reply-To", mail.ReplyTo)
	w.text("Subject", mail.Subject)
	w.field("Message-ID", "<"+m.MessageID+">")
	w.field(app.EmailIDHeader, m.EmailID)
	for _, h := range mail.Headers {
		w.custom(h.Name, h.Value)
	}
}

// body writes the content header fields and the body: a single part, or text and HTML as
// alternatives, the HTML related to its inline files, all mixed with the other attachments.
func (w *messageWriter) body(m *app.Mail) {
	defer w.endLine()
	shown, others := related(m)
	if len(others) == 0 {
		w.textParts(m, shown)
		return
	}
	boundary := w.multipart("mixed", "")
	w.delimiter(boundary)
	w.textParts(m, shown)
	w.attachments(boundary, others)
	w.closeDelimiter(boundary)
}

// related returns the files that the HTML shows inline, and the others. Without HTML no file is
// inline.
func related(m *app.Mail) (shown, others []*app.Attachment) {
	html := m.HTML != "" || m.Bodies != nil && m.Bodies.HTML != nil
	for i := range m.Attachments {
		if a := &m.Attachments[i]; html && a.Inline() {
			shown = append(shown, a)
		} else {
			others = append(others, a)
		}
	}
	return shown, others
}

// textParts writes the text and HTML: a single part, or two alternatives.
func (w *messageWriter) textParts(m *app.Mail, shown []*app.Attachment) {
	text, html := m.Text, m.HTML
	var textPieces, htmlPieces *app.Body
	if m.Bodies != nil {
		textPieces, htmlPieces = m.Bodies.Text, m.Bodies.HTML
	}
	switch {
	case html == "" && htmlPieces == nil:
		w.textPart("text/plain", text, textPieces)
	case text == "" && textPieces == nil:
		w.htmlPart(html, htmlPieces, shown)
	default:
		boundary := w.multipart("alternative", "")
		w.delimiter(boundary)
		w.textPart("text/plain", text, textPieces)
		w.delimiter(boundary)
		w.htmlPart(html, htmlPieces, shown)
		w.closeDelimiter(boundary)
	}
}

// htmlPart writes the HTML with its inline files (RFC 2387).
func (w *messageWriter) htmlPart(html string, pieces *app.Body, shown []*app.Attachment) {
	if len(shown) == 0 {
		w.textPart("text/html", html, pieces)
		return
	}
	boundary := w.multipart("related", " type=\"text/html\";")
	w.delimiter(boundary)
	w.textPart("text/html", html, pieces)
	w.attachments(boundary, shown)
	w.closeDelimiter(boundary)
}

func (w *messageWriter) attachments(boundary string, files []*app.Attachment) {
	for _, a := range files {
		w.delimiter(boundary)
		w.attachment(a)
	}
}

// boundaryMark begins every boundary. "=_" can't occur in quoted-printable, "_" not in base64, and
// 7bit is not chosen for a text that contains it (RFC 2045 6.7).
const boundaryMark = "=_"

// multipart writes the header of a multipart and returns its boundary. The blank line after the
// header is written by the first delimiter. The boundary contains the email's id, which no caller
// knows when writing the body. params are written before the boundary.
func (w *messageWriter) multipart(subtype, params string) string {
	boundary := boundaryMark + subtype + "_" + w.id
	w.raw("Content-Type: multipart/", subtype, ";", params, "\r\n boundary=\"", boundary, "\"\r\n")
	return boundary
}

// delimiter begins a part. Its leading CRLF belongs to the delimiter, not to the text before it
// (RFC 2046 5.1.1).
func (w *messageWriter) delimiter(boundary string) {
	w.raw("\r\n--", boundary, "\r\n")
}

func (w *messageWriter) closeDelimiter(boundary string) {
	w.raw("\r\n--", boundary, "--")
}

// textPart writes a part with s, or with pieces if they are not nil.
func (w *messageWriter) textPart(mediaType, s string, pieces *app.Body) {
	encoding := ""
	if pieces != nil {
		encoding = pieceEncoding(pieces)
	} else {
		encoding = textEncoding(s)
	}
	w.raw("Content-Type: ", mediaType, "; charset=utf-8\r\nContent-Transfer-Encoding: ", encoding, "\r\n\r\n")
	if pieces != nil {
		w.pieces(pieces)
		return
	}
	switch encoding {
	case "7bit":
		w.lines(s)
	case "base64":
		w.base64([]byte(normalLines(s)))
	default:
		q := quoter{buf: w.buf}
		q.text(s)
		w.buf = q.buf
	}
}

// textEncoding chooses the encoding of a body: 7bit if that is safe everywhere, base64 if the text
// is mostly not ASCII, else quoted-printable.
func textEncoding(s string) string {
	var wide, control int
	for i := range len(s) {
		control += int(unsafeByte[s[i]])
		wide += int(s[i] >> 7)
	}
	switch {
	case wide == 0 && control == 0 && shortLines(s) && safeAsIs(s):
		return "7bit"
	case wide > len(s)/3: // quoted-printable keeps Latin scripts readable; base64 is shorter for others
		return "base64"
	}
	return "quoted-printable"
}

// unsafeByte marks the control characters that 7bit text must not contain. safeAsIs checks CR and
// LF.
var unsafeByte = func() (table [256]byte) {
	for c := range byte(' ') {
		table[c] = 1
	}
	table['\t'], table['\r'], table['\n'], table[0x7f] = 0, 0, 0, 1
	return table
}()

// shortLines reports whether no line is longer than maxLine.
func shortLines(s string) bool {
	for len(s) > maxLine {
		at := strings.LastIndexByte(s[:maxLine+1], '\n')
		if at < 0 {
			// A CR before the line end does not count.
			if at = strings.IndexByte(s[:min(len(s), maxLine+2)], '\n'); at < 0 || s[at-1] != '\r' {
				return false
			}
		}
		s = s[at+1:]
	}
	return true
}

// safeAsIs reports whether s has no bare CR, nothing like a boundary, and no line that a mailbox
// file would change ("From ").
func safeAsIs(s string) bool {
	if strings.Contains(s, "--"+boundaryMark) || strings.HasPrefix(s, "From ") || strings.Contains(s, "\nFrom ") {
		return false
	}
	return strings.Count(s, "\r") == strings.Count(s, "\r\n")
}

// lines writes s with CRLF line ends.
func (w *messageWriter) lines(s string) {
	for {
		line, rest, found := strings.Cut(s, "\n")
		w.raw(strings.TrimSuffix(line, "\r"))
		if !found {
			return
		}
		w.raw("\r\n")
		s = rest
	}
}

// normalLines returns s with CRLF for every CRLF, CR and LF, the form of text in base64 (RFC 2046
// 4.1.1).
func normalLines(s string) string {
	return strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(s)
}

func (w *messageWriter) attachment(a *app.Attachment) {
	w.name("Content-Type")
	for i, param := range strings.Split(a.ContentType, "; ") {
		if i > 0 {
			w.buf = append(w.buf, ';')
		}
		w.word(param)
	}
	w.end()
	w.raw("Content-Transfer-Encoding: base64\r\n")
	disposition := "attachment;"
	if a.Inline() {
		w.field("Content-ID", "<"+a.ContentID+">")
		disposition = "inline;"
	}
	w.name("Content-Disposition")
	w.word(disposition)
	w.filename(a.Filename)
	w.end()
	w.raw("\r\n")
	w.base64(a.Content)
}

// base64 writes lines of 76 characters with CRLF between them (RFC 2045 6.8).
func (w *messageWriter) base64(content []byte) {
	const perLine = 57
	for len(content) > perLine {
		w.buf = base64.StdEncoding.AppendEncode(w.buf, content[:perLine])
		w.buf = append(w.buf, '\r', '\n')
		content = content[perLine:]
	}
	w.buf = base64.StdEncoding.AppendEncode(w.buf, content)
}

func (w *messageWriter) raw(parts ...string) {
	for _, s := range parts {
		w.buf = append(w.buf, s...)
	}
}

func (w *messageWriter) endLine() {
	if !bytes.HasSuffix(w.buf, []byte("\r\n")) {
		w.raw("\r\n")
	}
}

func isBoundaryText(s string) bool {
	ok := s != "" && len(s) <= 40
	for i := 0; ok && i < len(s); i++ {
		c := s[i] | 0x20
		ok = c >= 'a' && c <= 'z' || s[i] >= '0' && s[i] <= '9' || s[i] == '-'
	}
	return ok
}
