package feedback

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"

	"mailer/app/kit/htmltext"
)

// bounceParts holds the relevant parts of a message. They are parsed by a separate parser, since
// old mail programs send broken messages, and one broken part must not lose the valid ones.
type bounceParts struct {
	left      int    // parts that may still be parsed
	header    fields // of the message
	report    bool   // a multipart/report with a delivery status
	status    []byte // message/delivery-status
	misplaced []byte // a delivery status in a part of another type
	feedback  []byte // message/feedback-report
	receipt   bool   // message/disposition-notification: the message was displayed
	original  fields // header of the returned message
	text      string // first text part
	html      string // first HTML part
}

// readParts parses a message and its parts in linear time.
func readParts(raw []byte) *bounceParts {
	p := &bounceParts{left: maxBounceParts}
	header, body := splitHeader(raw)
	p.header = header
	p.walk(header, body, 0)
	if strings.TrimSpace(p.text) == "" {
		p.text = htmltext.PlainText(p.html)
	}
	return p
}

// splitHeader splits an entity into header and body. An entity without a field is only a body.
func splitHeader(raw []byte) (header fields, body []byte) {
	end, next := len(raw), len(raw)
	for at := 0; at < len(raw) && at < maxBounceHeader; {
		line, after := cutLine(raw, at)
		if len(bytes.TrimRight(line, " \t\r")) == 0 {
			end, next = at, after
			break
		}
		at = after
	}
	header = readFields(raw[:min(end, maxBounceHeader)])
	if len(header) == 0 && end == len(raw) {
		return header, raw
	}
	return header, raw[next:]
}

// cutLine returns the line at a position without its line feed, and the start of the next line.
func cutLine(b []byte, at int) (line []byte, next int) {
	if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
		return b[at : at+n], at + n + 1
	}
	return b[at:], len(b)
}

// walk processes an entity and its parts. It does not enter the returned message, whose content is
// not a report.
func (p *bounceParts) walk(header fields, body []byte, depth int) {
	if p.left--; p.left < 0 || depth > maxBounceDepth {
		return
	}
	kind, parameters := contentType(header.get("content-type"))
	if strings.HasPrefix(kind, "multipart/") {
		if kind == "multipart/report" {
			of := strings.ToLower(parameters["report-type"])
			p.report = p.report || of == "delivery-status" || of == ""
		}
		boundary := parameters["boundary"]
		if boundary == "" {
			boundary = guessBoundary(body)
		}
		if boundary != "" && p.each(body, boundary, depth) {
			return
		}
		kind = "text/plain" // not an entity, but it may contain the text
	}
	p.take(kind, parameters["charset"], header, body)
}

// each walks through the parts of a multipart body; false: it has none.
func (p *bounceParts) each(body []byte, boundary string, depth int) (any bool) {
	start := -1
	part := func(end int) {
		if start >= 0 && p.left > 0 {
			any = true
			header, body := splitHeader(bytes.TrimSuffix(bytes.TrimSuffix(body[start:end], []byte("\n")), []byte("\r")))
			p.walk(header, body, depth+1)
		}
	}
	delimiter := []byte("--" + boundary)
	for at := 0; at < len(body) && p.left > 0; {
		line, next := cutLine(body, at)
		if rest, ok := bytes.CutPrefix(line, delimiter); ok {
			rest = bytes.TrimRight(rest, " \t\r")
			if closing := string(rest) == "--"; len(rest) == 0 || closing {
				part(at)
				if start = next; closing {
					return any
				}
			}
		}
		at = next
	}
	part(len(body))
	return any
}

// guessBoundary returns the boundary of a multipart body whose header lacks it: its first line
// that begins with two dashes.
func guessBoundary(body []byte) string {
	for at := 0; at < len(body) && at < maxBounceHeader; {
		line, next := cutLine(body, at)
		line = bytes.TrimRight(line, " \t\r")
		if rest, ok := bytes.CutPrefix(line, []byte("--")); ok && len(rest) > 0 && len(rest) <= 70 && !bytes.ContainsAny(rest, " \t") {
			return string(rest)
		}
		at = next
	}
	return ""
}

// contentType parses a Content-Type even if its parameters are invalid.
func contentType(value string) (kind string, parameters map[string]string) {
	kind, parameters, err := mime.ParseMediaType(value)
	if err == nil {
		return kind, parameters
	}
	kind, rest, _ := strings.Cut(value, ";")
	parameters = map[string]string{}
	for n := 0; rest != "" && n < 20; n++ {
		var one string
		one, rest, _ = strings.Cut(rest, ";")
		name, value, _ := strings.Cut(one, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); parameters[name] == "" {
			parameters[name] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), parameters
}

// take stores the content of a part.
func (p *bounceParts) take(kind, charset string, header fields, body []byte) {
	decode := func() []byte {
		return decodeTransfer(body[:min(len(body), 2*maxBouncePart)], header.get("content-transfer-encoding"))
	}
	switch kind {
	case "message/delivery-status", "message/global-delivery-status":
		p.status = append(append(p.status, decode()...), "\n\n"...)
	case "message/feedback-report":
		if p.feedback == nil {
			p.feedback = decode()
		}
	case "message/disposition-notification", "message/global-disposition-notification":
		p.receipt = true
	case "message/rfc822", "text/rfc822-headers", "text/rfc822-header", "message/rfc822-headers", "message/global", "message/global-headers":
		if p.original == nil {
			p.original = readFields(decode())
		}
	case "text/html":
		if strings.TrimSpace(p.html) == "" {
			p.html = decodeCharset(decode(), charset)
		}
	default:
		p.takeText(kind, charset, decode)
	}
}

// takeText stores the first text, and a delivery status in a part of another type.
func (p *bounceParts) takeText(kind, charset string, decode func() []byte) {
	text := kind == "text/plain" || kind == "" || kind == "text" || strings.HasPrefix(kind, "text/")
	if !text && !strings.HasPrefix(kind, "application/") && !strings.HasPrefix(kind, "message/") {
		return
	}
	b := decode()
	if p.misplaced == nil && hasStatusFields(b) {
		p.misplaced = b
	}
	if text && strings.TrimSpace(p.text) == "" {
		p.text = decodeCharset(b, charset)
	}
}

// hasStatusFields reports whether a text has the fields of a delivery status.
func hasStatusFields(b []byte) bool {
	b = bytes.ToLower(b)
	return hasLine(b, "final-recipient:") && (hasLine(b, "action:") || hasLine(b, "status:"))
}

func hasLine(b []byte, prefix string) bool {
	return bytes.HasPrefix(b, []byte(prefix)) || bytes.Contains(b, []byte("\n"+prefix))
}

// decodeTransfer decodes a content transfer encoding as far as it is valid.
func decodeTransfer(b []byte, encoding string) []byte {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		kept := make([]byte, 0, len(b))
		for _, c := range b {
			if c == '=' {
				break
			}
			if c == '+' || c == '/' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
				kept = append(kept, c)
			}
		}
		out := make([]byte, base64.RawStdEncoding.DecodedLen(len(kept)))
		n, _ := base64.RawStdEncoding.Decode(out, kept)
		b = out[:n]
	case "quoted-printable":
		b = decodeQuoted(b)
	}
	return b[:min(len(b), maxBouncePart)]
}

// decodeQuoted decodes quoted-printable and leaves invalid sequences unchanged.
func decodeQuoted(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '=' {
			out = append(out, b[i])
			continue
		}
		rest := b[i+1:]
		if high, low := hexAt(rest, 0), hexAt(rest, 1); high >= 0 && low >= 0 {
			out = append(out, byte(high<<4|low))
			i += 2
			continue
		}
		end := 0
		for end < len(rest) && (rest[end] == ' ' || rest[end] == '\t' || rest[end] == '\r') {
			end++
		}
		if end == len(rest) || rest[end] == '\n' { // a soft line break
			i += end + 1
			continue
		}
		out = append(out, '=')
	}
	return out
}

// hexAt returns the value of a hexadecimal digit; -1: not a digit.
func hexAt[T ~string | ~[]byte](b T, at int) int {
	if at >= len(b) {
		return -1
	}
	switch c := b[at]; {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// decodeCharset converts a text to UTF-8. An unknown character set is treated as UTF-8 if valid,
// otherwise as Windows-1252.
func decodeCharset(b []byte, charset string) string {
	charset = strings.ToLower(strings.Trim(charset, " \t\"'"))
	if charset != "" && charset != "utf-8" && charset != "utf8" && charset != "us-ascii" && charset != "ascii" {
		if known, err := htmlindex.Get(charset); err == nil {
			if text, err := known.NewDecoder().Bytes(b); err == nil {
				return string(text)
			}
		}
	}
	if utf8.Valid(b) {
		return string(b)
	}
	text, err := charmap.Windows1252.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), " ")
	}
	return string(text)
}

// decodeWords decodes the encoded words (RFC 2047) of a field.
func decodeWords(s string) string {
	if !strings.Contains(s, "=?") {
		return decodeCharset([]byte(s), "")
	}
	decoder := mime.WordDecoder{CharsetReader: func(charset string, r io.Reader) (io.Reader, error) {
		b, err := io.ReadAll(r)
		return strings.NewReader(decodeCharset(b, charset)), err
	}}
	if decoded, err := decoder.DecodeHeader(s); err == nil {
		return decoded
	}
	return decodeCharset([]byte(s), "")
}
