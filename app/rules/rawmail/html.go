package rawmail

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/quotedprintable"
	"slices"
	"strings"
	"unicode/utf8"
)

// Change is a replacement of a part's body.
type Change struct {
	from, to int // range of the body
	with     []byte
}

// In returns the message with the change. It does not modify raw.
func (c *Change) In(raw []byte) []byte { return slices.Concat(raw[:c.from], c.with, raw[c.to:]) }

// ChangeHTML returns the change that replaces the HTML of a parsed message by the result of
// change, in the same transfer encoding and character set. ok is false if the HTML must not change
// or can't be changed alone: there is not exactly one HTML part, it is a file, a part is signed
// (or DKIM-signed) or encrypted, its text does not convert exactly in both directions, or a line
// would be too long.
func ChangeHTML(raw []byte, change func(html string) string) (c Change, ok bool) {
	p, around, ok := onlyHTML(raw)
	if !ok {
		return c, false
	}
	content, ok := decodeStrictly(p.encoding, raw[p.from:p.to])
	if !ok {
		return c, false
	}
	set, text, ok := charsetOf(p.params["charset"], content)
	if !ok {
		return c, false
	}
	if content, ok = set.bytes(change(text)); !ok {
		return c, false
	}
	c = Change{from: p.from, to: p.to, with: encode(p.encoding, content)}
	if !bytes.HasSuffix(c.with, crlf) && (p.to == len(raw) || p.encoding == "base64" && bytes.HasSuffix(raw[p.from:p.to], crlf)) {
		c.with = append(c.with, crlf...)
	}
	return c, shortLines(c.with) && !delimits(c.with, around)
}

// pgpMark begins OpenPGP data (RFC 9580 6.2.1).
const pgpMark = "-----BEGIN PGP "

// onlyHTML returns the only HTML part of a message and its enclosing multiparts.
func onlyHTML(raw []byte) (html part, around []part, ok bool) {
	fields, body := Fields(raw)
	for _, name := range []string{"DKIM-Signature", "DomainKey-Signature", "ARC-Message-Signature"} {
		if count(fields, name) > 0 {
			return html, nil, false
		}
	}
	w := walker{raw: raw}
	found := 0
	w.leaf = func(p part) error {
		if isSignature(p) || strings.HasPrefix(p.mediaType, "text/") && bytes.Contains(decode(p.encoding, raw[p.from:p.to]), []byte(pgpMark)) {
			w.protected = true
		}
		if p.mediaType == "text/html" {
			found++
			html, around = p, slices.Clone(w.around)
		}
		return nil
	}
	if w.walk(partOf(fields, body, len(raw), "text/plain")) != nil || found != 1 || w.protected || isFile(html) || !isClear(html) {
		return html, nil, false
	}
	for _, p := range around {
		if !isClear(p) || !slices.Contains([]string{"", "7bit", "8bit", "binary"}, p.encoding) {
			return html, nil, false
		}
	}
	return html, around, true
}

// isSignature reports whether a part is a signature of another part.
func isSignature(p part) bool {
	switch p.mediaType {
	case "application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature":
		return true
	}
	return false
}

// isFile reports whether a part is, or may be, an attachment.
func isFile(p part) bool {
	disposition, params, err := mime.ParseMediaType(get(p.fields, "Content-Disposition"))
	return err != nil && get(p.fields, "Content-Disposition") != "" || disposition != "" && disposition != "inline" || params["filename"] != "" || p.params["name"] != ""
}

// isClear reports whether all parsers agree about a part.
func isClear(p part) bool {
	return count(p.fields, "Content-Type") <= 1 && count(p.fields, "Content-Transfer-Encoding") <= 1
}

// decodeStrictly decodes a transfer encoding that encode supports.
func decodeStrictly(encoding string, body []byte) (content []byte, ok bool) {
	var err error
	switch encoding {
	case "", "7bit", "8bit":
		return body, true
	case "quoted-printable":
		if !isQuoted(body) {
			return nil, false
		}
		content, err = io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
	case "base64":
		content, err = base64.StdEncoding.AppendDecode(nil, body)
	default:
		return nil, false
	}
	return content, err == nil
}

// isQuoted reports whether every = of quoted-printable text is followed by an allowed sequence
// (RFC 2045 6.7): parsers disagree about others.
func isQuoted(body []byte) bool {
	for {
		at := bytes.IndexByte(body, '=')
		if at < 0 {
			return true
		}
		body = body[at+1:]
		if rest := bytes.TrimLeft(body, " \t"); len(rest) == 0 || bytes.HasPrefix(rest, crlf) {
			continue
		}
		if len(body) < 2 || !isHex(body[0]) || !isHex(body[1]) {
			return false
		}
	}
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// encode is the inverse of decodeStrictly. It returns new memory.
func encode(encoding string, content []byte) []byte {
	switch encoding {
	case "quoted-printable":
		return encodeQuoted(content)
	case "base64":
		var d downgrader
		d.base64(content)
		return bytes.TrimSuffix(d.out, crlf)
	}
	return slices.Clip(content)
}

// encodeQuoted keeps line breaks and encodes a single CR or LF.
func encodeQuoted(content []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(content) + len(content)/8)
	w := quotedprintable.NewWriter(&out)
	write := func(b []byte, binary bool) {
		w.Binary = binary
		w.Write(b) // never fails
	}
	for i, line := range bytes.Split(content, crlf) {
		if i > 0 {
			write(crlf, false)
		}
		write(line, true)
	}
	w.Close()
	return out.Bytes()
}

func shortLines(b []byte) bool {
	for line := range bytes.Lines(b) {
		if len(line) > maxLine+len(crlf) {
			return false
		}
	}
	return true
}

// delimits reports whether a body contains a delimiter of an enclosing multipart.
func delimits(body []byte, around []part) bool {
	return slices.ContainsFunc(around, func(p part) bool {
		mark := []byte("\n--" + p.params["boundary"])
		return bytes.HasPrefix(body, mark[1:]) || bytes.Contains(body, mark)
	})
}

// charset is a character set that converts exactly in both directions.
type charset struct{ latin, nine bool }

// charsetOf returns the character set and the text of a content; ok is false for other character
// sets and invalid text.
func charsetOf(name string, content []byte) (set charset, text string, ok bool) {
	switch strings.ToLower(strings.Trim(name, " \t")) {
	case "", "us-ascii", "ascii", "utf-8", "utf8":
		return set, string(content), utf8.Valid(content)
	}
	set = charset{latin: true, nine: isLatin9(name)}
	if text, ok = fromLatin(content, name); !ok {
		return set, "", false
	}
	back, ok := set.bytes(text)
	return set, text, ok && bytes.Equal(back, content)
}

// bytes returns a text in the character set.
func (s charset) bytes(text string) (content []byte, ok bool) {
	if !s.latin {
		return []byte(text), true
	}
	known := make(map[rune]byte, 128)
	for c := utf8.RuneSelf; c <= 0xff; c++ {
		if r := latinRune(byte(c), s.nine); r != utf8.RuneError {
			known[r] = byte(c) // the last value wins, as in ISO 8859-15
		}
	}
	content = make([]byte, 0, len(text))
	for _, r := range text {
		switch c, ok := known[r]; {
		case r < utf8.RuneSelf:
			content = append(content, byte(r))
		case ok:
			content = append(content, c)
		default:
			return nil, false
		}
	}
	return content, true
}
