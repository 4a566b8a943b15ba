package rawmail

import (
	"encoding/base64"
	"errors"
	"mime/quotedprintable"
	"strings"
	"unicode/utf8"

	"mailer/app"
)

// SevenBit returns a parsed message in which every part with non-ASCII bytes has a transfer
// encoding (RFC 6152 3), for a relay without 8BITMIME. It does not change the message header and
// does not modify raw. It fails if such a part is signed or encrypted by its author, or is a
// part's header.
func SevenBit(raw []byte) ([]byte, error) {
	fields, body, err := readFields(raw, 0, len(raw))
	if err != nil || body < 0 {
		return raw, err
	}
	d := &downgrader{raw: raw, out: make([]byte, 0, len(raw)+len(raw)/2)}
	err = d.entity(fields, 0, body, len(raw), "text/plain", 0)
	return d.out, err
}

// downgrader writes a message anew, part by part.
type downgrader struct {
	raw, out []byte
}

var (
	errProtected  = errors.New("it holds 8-bit text in a part that its author signed or encrypted")
	errPartHeader = errors.New("it holds 8-bit text in the header of a part, or between parts")
	errTooDeep    = errors.New("its parts nest too deep")
	errEncoded    = errors.New("it holds 8-bit text in a part that says it has none")
)

// entity writes raw[from:to], whose body begins at body. The header of the message itself
// may hold UTF-8.
func (d *downgrader) entity(fields []Field, from, body, to int, usual string, depth int) error {
	header := d.raw[from:body]
	switch {
	case isASCII(d.raw[body:to]) && (depth == 0 || isASCII(header)):
		d.out = append(d.out, d.raw[from:to]...)
		return nil
	case depth > 0 && !isASCII(header):
		return errPartHeader
	case depth > maxDepth:
		return errTooDeep
	}
	p := partOf(fields, body, to, usual)
	switch {
	case isProtected(p):
		return errProtected
	case strings.HasPrefix(p.mediaType, "multipart/"):
		d.header(fields, "7bit")
		return d.multipart(p, depth)
	case p.mediaType == "message/rfc822":
		d.header(fields, "7bit")
		return d.inner(p, depth)
	case strings.HasPrefix(p.mediaType, "message/"), p.encoding == "base64", p.encoding == "quoted-printable":
		return errEncoded
	case strings.HasPrefix(p.mediaType, "text/"):
		d.header(fields, "quoted-printable")
		w := quotedprintable.NewWriter(d)
		_, err := w.Write(d.raw[p.from:p.to])
		return errors.Join(err, w.Close())
	}
	d.header(fields, "base64")
	d.base64(d.raw[p.from:p.to])
	return nil
}

// Write implements io.Writer for encoders.
func (d *downgrader) Write(b []byte) (int, error) {
	d.out = append(d.out, b...)
	return len(b), nil
}

// header writes fields with another transfer encoding.
func (d *downgrader) header(fields []Field, encoding string) {
	found := false
	for _, f := range fields {
		if strings.EqualFold(f.Name, "Content-Transfer-Encoding") {
			d.out = append(d.out, "Content-Transfer-Encoding: "+encoding+"\r\n"...)
			found = true
			continue
		}
		d.out = append(d.out, d.raw[f.From:f.To]...)
	}
	if !found && encoding != "7bit" {
		d.out = append(d.out, "Content-Transfer-Encoding: "+encoding+"\r\n"...)
	}
	d.out = append(d.out, crlf...)
}

func (d *downgrader) base64(content []byte) {
	const perLine = 57
	for len(content) > 0 {
		n := min(perLine, len(content))
		d.out = base64.StdEncoding.AppendEncode(d.out, content[:n])
		d.out = append(d.out, crlf...)
		content = content[n:]
	}
}

// multipart writes the parts and the unchanged text between them.
func (d *downgrader) multipart(p part, depth int) error {
	usual := "text/plain"
	if p.mediaType == "multipart/digest" {
		usual = "message/rfc822"
	}
	done := p.from
	for _, at := range split(d.raw, p.from, p.to, p.params["boundary"], maxParts) {
		if err := d.between(done, at.from); err != nil {
			return err
		}
		fields, body, err := readFields(d.raw, at.from, at.to)
		if err != nil {
			return errPartHeader
		}
		if body < 0 {
			body = at.to
		}
		if err := d.entity(fields, at.from, body, at.to, usual, depth+1); err != nil {
			return err
		}
		done = at.to
	}
	return d.between(done, p.to)
}

func (d *downgrader) between(from, to int) error {
	if !isASCII(d.raw[from:to]) {
		return errPartHeader
	}
	d.out = append(d.out, d.raw[from:to]...)
	return nil
}

// inner writes an attached message, which must not be encoded as a whole (RFC 2046 5.2.1).
func (d *downgrader) inner(p part, depth int) error {
	fields, body, err := readFields(d.raw, p.from, p.to)
	if err != nil || body < 0 {
		return errPartHeader
	}
	return d.entity(fields, p.from, body, p.to, "text/plain", depth+1)
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Fields returns the header of a parsed message and the start of its body.
func Fields(raw []byte) (fields []Field, body int) {
	fields, body, err := readFields(raw, 0, len(raw))
	if err != nil || body < 0 {
		return fields, len(raw)
	}
	return fields, body
}

// Addresses parses the value of a field with addresses. Errors: CodeValidation.
func Addresses(f Field) ([]app.Address, error) { return addresses(f.Name, f.Value) }
