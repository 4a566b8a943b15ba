package rawmail

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"strconv"
	"strings"

	"mailer/app"
)

// part is an entity (RFC 2045 2.4): the message or one of its parts.
type part struct {
	fields    []Field
	from, to  int    // of its body
	mediaType string // in lower case
	params    map[string]string
	encoding  string // in lower case
}

// partOf reads the content fields of a body.
func partOf(fields []Field, from, to int, usual string) part {
	p := part{fields: fields, from: from, to: to, mediaType: usual, encoding: strings.ToLower(get(fields, "Content-Transfer-Encoding"))}
	if value := get(fields, "Content-Type"); value != "" {
		mediaType, params, err := mime.ParseMediaType(value)
		if err != nil && mediaType == "" {
			mediaType = "application/octet-stream"
			if strings.EqualFold(value, "text") { // RFC 1049
				mediaType = "text/plain"
			}
		}
		p.mediaType, p.params = mediaType, params
	}
	return p
}

// reader collects the bodies and files of a message.
type reader struct {
	*Message
	texts   int // bits of the bodies found
	shownID map[string]bool
}

const (
	plainFound = 1 << iota
	htmlFound
)

// readParts parses the body.
func (m *Message) readParts() error {
	r := &reader{Message: m, shownID: map[string]bool{}}
	w := walker{raw: m.Raw, leaf: r.leaf}
	err := w.walk(partOf(m.Fields, m.Body, len(m.Raw), "text/plain"))
	m.Protected = m.Protected || w.protected
	return err
}

// walker walks through the parts of a message.
type walker struct {
	raw       []byte
	leaf      func(p part) error
	parts     int
	around    []part // enclosing multiparts
	protected bool   // an earlier part was signed or encrypted by its author
}

func (w *walker) walk(p part) error {
	if w.parts++; w.parts > maxParts || len(w.around) > maxDepth {
		return app.Invalid("Content-Type", "must not make more than %d parts, nor nest more than %d deep", maxParts, maxDepth)
	}
	if isProtected(p) {
		w.protected = true
	}
	if !strings.HasPrefix(p.mediaType, "multipart/") {
		return w.leaf(p)
	}
	boundary := p.params["boundary"]
	if boundary == "" {
		return app.Invalid("Content-Type", "is %s without a boundary", p.mediaType)
	}
	usual := "text/plain"
	if p.mediaType == "multipart/digest" {
		usual = "message/rfc822"
	}
	w.around = append(w.around, p)
	for _, at := range split(w.raw, p.from, p.to, boundary, maxParts) {
		fields, body, err := readFields(w.raw, at.from, at.to)
		if err != nil {
			fields, body = nil, at.from // invalid parts are shown as text
		}
		if body < 0 {
			body = at.to
		}
		if err := w.walk(partOf(fields, body, at.to, usual)); err != nil {
			return err
		}
	}
	w.around = w.around[:len(w.around)-1]
	return nil
}

// isProtected reports whether a part is signed or encrypted by its author (RFC 1847, RFC 8551, RFC
// 3156).
func isProtected(p part) bool {
	switch p.mediaType {
	case "multipart/signed", "multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted":
		return true
	}
	return false
}

type span struct{ from, to int }

// split returns the parts of a multipart (RFC 2046 5.1.1): the text between its delimiters,
// without the CRLF before each. A missing last delimiter means the end.
func split(raw []byte, from, to int, boundary string, maxParts int) (parts []span) {
	mark := []byte("--" + boundary)
	begin := -1
	for at := from; at < to; {
		line := raw[at:to]
		end := bytes.IndexByte(line, '\n') + 1
		if end == 0 {
			end = len(line)
		}
		if bytes.HasPrefix(line, mark) {
			rest := bytes.TrimRight(line[len(mark):end], " \t\r\n")
			if last := string(rest) == "--"; last || len(rest) == 0 {
				if begin >= 0 {
					parts = append(parts, span{begin, max(begin, at-len(crlf))})
				}
				if last || len(parts) > maxParts {
					return parts
				}
				begin = at + end
			}
		}
		next := bytes.Index(raw[at:to], append([]byte("\n"), mark...))
		if next < 0 {
			break
		}
		at += next + 1
	}
	if begin >= 0 {
		parts = append(parts, span{begin, to})
	}
	return parts
}

// leaf adds a part as a body or a file.
func (r *reader) leaf(p part) error {
	disposition, params, _ := mime.ParseMediaType(get(p.fields, "Content-Disposition"))
	name := Decoded(params["filename"], maxFilename)
	if name == "" {
		name = Decoded(p.params["name"], maxFilename)
	}
	content := decode(p.encoding, r.Raw[p.from:p.to])
	kind := map[string]int{"text/plain": plainFound, "text/html": htmlFound}[p.mediaType]
	if kind != 0 && r.texts&kind == 0 && disposition != "attachment" && name == "" {
		r.texts |= kind
		text := shown(content, p.params["charset"])
		if kind == htmlFound {
			r.HTML = text
			return nil
		}
		r.Text = text
		r.Protected = r.Protected || strings.Contains(text, pgpMark)
		return nil
	}
	if len(r.Attachments) == app.MaxAttachments {
		return app.Invalid("attachments", "must not hold more than %d files", app.MaxAttachments)
	}
	r.Attachments = append(r.Attachments, app.Attachment{Filename: r.filename(name, p.mediaType), ContentType: contentType(p),
		ContentID: r.contentID(p), Size: int64(len(content)), Content: content})
	return nil
}

const maxFilename = 255 // bytes

// extensions are used for files without a name.
var extensions = map[string]string{"text/plain": "txt", "text/html": "html", "text/calendar": "ics", "message/rfc822": "eml", "application/pgp-signature": "asc",
	"application/pgp-encrypted": "asc", "application/pkcs7-signature": "p7s", "application/pkcs7-mime": "p7m", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif"}

// filename returns a safe name for a file.
func (r *reader) filename(name, mediaType string) string {
	name = strings.Map(func(c rune) rune {
		if c == '/' || c == '\\' {
			return '_'
		}
		return c
	}, name)
	if strings.Trim(name, ". ") != "" {
		return name
	}
	extension := extensions[mediaType]
	if extension == "" {
		extension = "bin"
	}
	return "part-" + strconv.Itoa(len(r.Attachments)+1) + "." + extension
}

func contentType(p part) string {
	params := map[string]string{}
	for name, value := range p.params {
		if name != "name" && name != "boundary" && !strings.ContainsAny(value, "\r\n") {
			params[name] = value
		}
	}
	if out := mime.FormatMediaType(p.mediaType, params); out != "" && len(out) <= maxFilename && app.IsASCII(out) {
		return out
	}
	return "application/octet-stream"
}

// contentID returns the Content-ID under which the HTML shows a file; empty: none, or not unique.
func (r *reader) contentID(p part) string {
	id := strings.Trim(get(p.fields, "Content-ID"), "<> \t")
	bad := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`<>"()`, c) }
	if id == "" || len(id) > app.MaxContentID || r.shownID[id] || strings.ContainsFunc(id, bad) {
		return ""
	}
	r.shownID[id] = true
	return id
}

// decode decodes a transfer encoding as far as possible.
func decode(encoding string, body []byte) []byte {
	switch encoding {
	case "base64":
		return fromBase64(body)
	case "quoted-printable":
		if out, err := io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body))); err == nil {
			return out
		}
	}
	return body[:len(body):len(body)] // no copy: bodies are never modified
}

// fromBase64 skips invalid characters (RFC 2045 6.8) and stops at the padding.
func fromBase64(body []byte) []byte {
	clean := make([]byte, 0, len(body))
	for _, c := range body {
		switch {
		case c == '=':
			return decodeBase64(clean)
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/':
			clean = append(clean, c)
		}
	}
	return decodeBase64(clean)
}

func decodeBase64(clean []byte) []byte {
	n, _ := base64.RawStdEncoding.Decode(clean, clean)
	return clean[:n]
}
