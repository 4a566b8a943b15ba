package inbound

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mailer/app"
	"mailer/app/kit/htmltext"
)

// body is a piece of what people read: the forms of one alternative. Messages have several if they
// show text around files (Apple Mail), or if a mailing list adds lines.
type body struct{ text, html []string } // pieces to be joined; empty: it has not that form

// filler collects the bodies and files of a message.
type filler struct {
	*reader
	bodies []body
	files  []file
	left   int // bytes of bodies that may still be read
}

// file is a part that is no body.
type file struct {
	*part
	related bool // within a multipart/related, so the HTML may show it
}

// fill sets the text, the HTML and the files of a message. The bodies are the text parts that
// aren't attachments; of a multipart/alternative the first text and the last HTML.
func (r *reader) fill(m *Message, root *part) {
	f := &filler{reader: r, left: MaxBodies}
	f.walk(root, nil, nil)
	hasHTML := slices.ContainsFunc(f.bodies, func(b body) bool { return b.html != nil })
	var plain []string
	var rich strings.Builder
	m.textMade = hasHTML
	for _, b := range f.bodies {
		text, source := joinTexts(b.text), strings.Join(b.html, "")
		if strings.TrimSpace(text) != "" {
			m.textMade = false
		} else if b.html != nil {
			text = htmltext.PlainText(source)
		}
		plain = append(plain, text)
		if hasHTML && b.html == nil && strings.TrimSpace(text) != "" {
			source = `<div style="white-space:pre-wrap">` + html.EscapeString(text) + "</div>"
		}
		rich.WriteString(f.cutText(source, MaxBodies-rich.Len()))
	}
	m.Text, m.HTML = f.cutText(joinTexts(plain), MaxBodies), rich.String()
	m.Files = f.readFiles(m.HTML)
}

// walk collects the bodies and files of a part. one is the alternative that it belongs to; nil:
// each body is a piece of its own.
func (f *filler) walk(p, parent *part, one *body) {
	if !p.isMultipart() {
		if !f.takeBody(p, parent, one) {
			f.files = append(f.files, file{p, parent != nil && parent.kind == "multipart/related"})
		}
		return
	}
	if p.kind == "multipart/alternative" && one == nil {
		b := &body{}
		for _, child := range p.parts {
			f.walk(child, p, b)
		}
		if b.text != nil || b.html != nil {
			f.bodies = append(f.bodies, *b)
		}
		return
	}
	for _, child := range p.parts {
		f.walk(child, p, one)
	}
}

// takeBody takes a part as a body; false: it is a file.
func (f *filler) takeBody(p, parent *part, one *body) bool {
	rich := p.kind == "text/html"
	if !rich && p.kind != "text/plain" && p.kind != "text/markdown" && p.kind != "text/enriched" {
		return parent != nil && parent.kind == "multipart/alternative" && (p.kind == "text/x-amp-html" || p.kind == "text/watch-html")
	}
	disposition, name := p.disposition()
	inAlternative := parent != nil && parent.kind == "multipart/alternative"
	switch {
	case disposition == "attachment", name != "" && parent != nil && !inAlternative:
		return false
	case parent != nil && parent.kind == "multipart/related" && parent.parts[0] != p && p.fields.get("content-id") != "":
		return false // shown by the root
	}
	b := &body{}
	if one != nil {
		b = one
	}
	if !f.addBody(p, b, rich, inAlternative) {
		return false
	}
	if one == nil {
		f.bodies = append(f.bodies, *b)
	}
	return true
}

// addBody adds the content of a part to a body. A second one in the same alternative continues the
// first, unless it is another alternative.
func (f *filler) addBody(p *part, b *body, rich, inAlternative bool) bool {
	if rich {
		if inAlternative {
			b.html = nil // the last one is the richest
		}
		b.html = append(b.html, f.read(htmlToUTF8(f.start(p), p.params["charset"])))
		return true
	}
	if b.text != nil && inAlternative {
		return p.kind != "text/plain" // another form of the same text
	}
	b.text = append(b.text, f.read(lineFeeds(toUTF8(f.start(p), p.params["charset"]))))
	return true
}

// start returns the decoded content of a body, or the start of it that may still be read. A character is not divided.
func (f *filler) start(p *part) []byte {
	content := f.content(p)
	if len(content) <= f.left {
		return content
	}
	f.cut = true
	n := f.left
	for back := 0; back < utf8.UTFMax && n > 0 && !utf8.RuneStart(content[n]); back++ {
		n--
	}
	return content[:n]
}

// read counts the text of a body, and returns what of it may still be read: a character of another character set can be
// longer in UTF-8.
func (f *filler) read(s string) string {
	s = f.cutText(s, f.left)
	f.left -= len(s)
	return s
}

// cutText returns the start of a text of at most n bytes.
func (r *reader) cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	r.cut = true
	return app.CutText(s, n)
}

// joinTexts joins texts on separate lines.
func joinTexts(texts []string) string {
	if len(texts) == 1 {
		return texts[0]
	}
	var b strings.Builder
	for _, text := range texts {
		if b.Len() > 0 && text != "" && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	return b.String()
}

func lineFeeds(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// disposition returns the Content-Disposition in lower case and the name of a file.
func (p *part) disposition() (disposition, name string) {
	disposition, params := readParams(p.fields.get("content-disposition"))
	name = oneLine(withoutHidden(params["filename"]), maxFilename)
	if name == "" {
		name = oneLine(withoutHidden(p.params["name"]), maxFilename)
	}
	return disposition, name
}

// readFiles returns the files. source is the HTML that may show some of them.
func (f *filler) readFiles(source string) (files []app.ReceivedFile) {
	shown := shownIDs(source)
	used := map[string]bool{}
	for _, p := range f.files {
		disposition, name := p.disposition()
		id := contentID(p.fields.get("content-id"))
		if used[id] {
			id = ""
		}
		used[id] = id != ""
		files = append(files, app.ReceivedFile{Part: p.number, Filename: filename(name, p.kind, p.number), ContentType: p.kind, ContentID: id,
			Inline: id != "" && (shown[id] || disposition == "inline" || p.related && disposition == ""), Size: f.size(p.part)})
	}
	return files
}

// contentID returns an id without angle brackets; empty: none, or invalid.
func contentID(value string) string {
	id := strings.Trim(value, "<> \t")
	bad := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`<>"()`, c) }
	if len(id) > app.MaxContentID || strings.ContainsFunc(id, bad) {
		return ""
	}
	return id
}

// maxReferred is how many references of HTML to parts are read.
const maxReferred = 10 * maxParts

// shownIDs returns the ids of parts that HTML refers to (RFC 2392).
func shownIDs(source string) map[string]bool {
	ids := map[string]bool{}
	for range maxReferred {
		at := strings.Index(source, "cid:")
		if at < 0 {
			break
		}
		source = source[at+len("cid:"):]
		text := source[:min(len(source), 3*app.MaxContentID)]
		if end := strings.IndexAny(text, "\"'<> \t\r\n)"); end >= 0 {
			text = text[:end]
		}
		ids[html.UnescapeString(string(fromPercent(text)))] = true
	}
	return ids
}

// extensions are used for files without a name.
var extensions = map[string]string{"text/plain": "txt", "text/html": "html", "text/calendar": "ics", "text/csv": "csv", "text/vcard": "vcf", "message/rfc822": "eml", "message/global": "eml",
	"message/delivery-status": "txt", "message/disposition-notification": "txt", "message/feedback-report": "txt", "text/rfc822-headers": "txt", "application/pgp-signature": "asc",
	"application/pgp-encrypted": "asc", "application/pgp-keys": "asc", "application/pkcs7-signature": "p7s", "application/x-pkcs7-signature": "p7s", "application/pkcs7-mime": "p7m", "application/x-pkcs7-mime": "p7m",
	"application/pdf": "pdf", "application/zip": "zip", "application/json": "json", "application/xml": "xml", "text/xml": "xml", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp", "image/svg+xml": "svg"}

// filename returns a safe name for a file.
func filename(name, kind string, number int) string {
	name = strings.Map(func(c rune) rune {
		if c == '/' || c == '\\' {
			return '_'
		}
		return c
	}, name)
	if strings.Trim(name, ". ") != "" {
		return name
	}
	extension := extensions[kind]
	if extension == "" {
		extension = "bin"
	}
	return "part-" + strconv.Itoa(number+1) + "." + extension
}
