package inbound

import (
	"bytes"
	"strings"
)

// part is an entity (RFC 2045 2.4): the message or one of its parts.
type part struct {
	fields   fields
	kind     string // media type in lower case
	params   map[string]string
	from, to int     // of its body
	number   int     // among the parts that are not multiparts; -1: a multipart
	parts    []*part // of a multipart
}

func (p *part) isMultipart() bool { return p.number < 0 }

// find returns the part with a number; nil: none.
func (p *part) find(n int) *part {
	if p.number == n && n >= 0 {
		return p
	}
	for _, child := range p.parts {
		if found := child.find(n); found != nil {
			return found
		}
	}
	return nil
}

// reader reads the parts of a message.
type reader struct {
	raw        []byte
	parts      int // read, of all kinds
	leaves     int // read, that are not multiparts
	headerLeft int // bytes of headers that may still be read
	fieldsLeft int
	cut        bool // a limit was exceeded
	work       int  // bytes looked at, for tests
}

// entity reads an entity with its parts.
func (r *reader) entity(from, to, depth int, usual string) *part {
	r.parts++
	p := &part{to: to, number: -1}
	p.fields, p.from = r.readFields(from, to)
	p.kind, p.params = readType(p.fields.get("content-type"), usual)
	if strings.HasPrefix(p.kind, "multipart/") {
		if depth == maxDepth {
			r.cut = true
		} else if r.multipart(p, depth) {
			return p
		} else {
			p.kind = "text/plain" // it has no parts, but it may hold the text
		}
	}
	p.number = r.leaves
	r.leaves++
	return p
}

// multipart reads the parts of a multipart. ok is false if it has none.
func (r *reader) multipart(p *part, depth int) (ok bool) {
	usual := "text/plain"
	if p.kind == "multipart/digest" {
		usual = "message/rfc822"
	}
	spans := r.split(p.from, p.to, p.params["boundary"])
	if len(spans) == 0 {
		spans = r.split(p.from, p.to, r.guessBoundary(p.from, p.to))
	}
	for _, s := range spans {
		if r.parts >= maxParts {
			r.cut = true
			break
		}
		p.parts = append(p.parts, r.entity(s.from, s.to, depth+1, usual))
	}
	return len(p.parts) > 0
}

type span struct{ from, to int }

// maxBoundary is the length of the longest boundary in bytes. RFC 2046 allows 70.
const maxBoundary = 500

// split returns the parts of a multipart (RFC 2046 5.1.1): the text between its delimiters,
// without the line break before each. A missing last delimiter means the end.
func (r *reader) split(from, to int, boundary string) (spans []span) {
	if boundary == "" || len(boundary) > maxBoundary {
		return nil
	}
	r.work += to - from
	mark := []byte("\n--" + boundary)
	begin := -1
	for at := from; at < to; {
		if at > from || !bytes.HasPrefix(r.raw[at:to], mark[1:]) {
			n := bytes.Index(r.raw[at:to], mark)
			if n < 0 {
				break
			}
			at += n + 1
		}
		line, next := r.line(at, to)
		rest := bytes.TrimRight(line[len(mark)-1:], " \t\r")
		if last := string(rest) == "--"; last || len(rest) == 0 {
			if begin >= 0 {
				spans = append(spans, span{begin, max(begin, r.beforeBreak(at))})
			}
			if begin = next; last || len(spans) > maxParts {
				return spans
			}
		}
		at = next - 1 // at the line feed, or the last byte
	}
	if begin >= 0 && begin <= to {
		spans = append(spans, span{begin, to})
	}
	return spans
}

// beforeBreak returns the start of the line break that ends before at.
func (r *reader) beforeBreak(at int) int {
	if at > 0 && r.raw[at-1] == '\n' {
		at--
		if at > 0 && r.raw[at-1] == '\r' {
			at--
		}
	}
	return at
}

// line returns the line at a position without its line feed, and the start of the next line.
func (r *reader) line(at, to int) (line []byte, next int) {
	if n := bytes.IndexByte(r.raw[at:to], '\n'); n >= 0 {
		return r.raw[at : at+n], at + n + 1
	}
	return r.raw[at:to], to
}

// guessBoundary returns the boundary of a multipart whose header names none or a wrong one: the
// first line that begins with two dashes and is followed by a content field. Empty: none.
func (r *reader) guessBoundary(from, to int) string {
	r.work += to - from
	for at := from; at < to; {
		line, next := r.line(at, to)
		rest, ok := bytes.CutPrefix(bytes.TrimRight(line, " \t\r"), []byte("--"))
		if ok && len(rest) > 0 && len(rest) <= maxBoundary && !bytes.ContainsAny(rest, " \t") && hasPrefixFold(r.raw[next:to], "content-") {
			return string(rest)
		}
		at = next
	}
	return ""
}

func hasPrefixFold(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && strings.EqualFold(string(b[:len(prefix)]), prefix)
}

// content returns the decoded content of a part. It may share memory with the message.
func (r *reader) content(p *part) []byte {
	return decodeTransfer(r.raw[p.from:p.to], p.encoding())
}

// size returns the length of the decoded content.
func (r *reader) size(p *part) int64 {
	body := r.raw[p.from:p.to]
	if p.encoding() == "base64" {
		return int64(base64Size(body))
	}
	return int64(len(decodeTransfer(body, p.encoding())))
}

// encoding returns the transfer encoding of a part in lower case, without a comment.
func (p *part) encoding() string {
	value := strings.ToLower(strings.Trim(p.fields.get("content-transfer-encoding"), " \t\"'"))
	if end := strings.IndexAny(value, " \t;(\"'"); end >= 0 {
		value = value[:end]
	}
	return value
}
