package render

import (
	"html"
	"slices"
	"strings"

	nethtml "golang.org/x/net/html"

	"mailer/app"
	"mailer/app/kit/htmltext"
	"mailer/app/rules/liquid"
	"mailer/app/rules/tracking"
)

// html compiles the HTML body, and the text derived from it if needed.
func (c *compiler) html() error {
	b := c.broadcast
	marks := newMarks(b.HTML, b.Preview)
	source, err := c.marked(marks, "html", b.HTML, nil)
	if err != nil {
		return err
	}
	if b.Text == nil {
		if err := c.derivedText(marks, source); err != nil {
			return err
		}
	}
	preview, err := c.marked(marks, "preview_text", b.Preview, html.EscapeString)
	if err != nil {
		return err
	}
	if preview != "" {
		at := bodyStart(source)
		source = source[:at] + `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0">` + preview + "</div>" + source[at:]
	}
	if len(c.clicks) > 0 {
		source = marks.badged(source, c.clicks)
	}
	h := htmlCompiler{compiler: c, marks: marks, source: source, bare: marks.bare(source)}
	c.mail.html, err = h.compile()
	return err
}

// changesText reports whether text derived from HTML may depend on more than the value of a mark.
func (m mark) changesText() bool {
	return m.token != nil && (m.token.Kind == liquid.Tag || m.token.Context.IsWholeAddress() && !app.IsPageKey(m.Key))
}

// derivedText compiles the text derived from marked HTML. Fallbacks are HTML there. With tags of
// Liquid, or addresses that are a value, it is derived from the HTML of each recipient.
func (c *compiler) derivedText(marks *marks, source string) error {
	if slices.ContainsFunc(marks.list, mark.changesText) {
		c.mail.deriveText = true
		return nil
	}
	const brace = "{{{" // so that a link to a mark is treated like one to a placeholder
	source = htmltext.PlainText(strings.ReplaceAll(source, marks.prefix, brace+marks.prefix))
	if source == "" {
		return nil
	}
	var out textBuilder
	for whole := source; ; {
		before, p, after, found := marks.cut(source)
		if !found {
			out.add(before)
			var err error
			c.mail.text, err = c.done("html", &out)
			return err
		}
		out.add(strings.TrimSuffix(before, brace))
		at := len(whole) - len(source) + len(before)
		if p.isLiquid() {
			out.token(textOutput(p.token, inQuery(strings.TrimSuffix(whole[:at], brace))))
			source = after
			continue
		}
		out.fill(c.slotAt(whole[:at], p.Placeholder, htmltext.PlainText(p.Fallback), unescaped).escaped)
		source = after
	}
}

// htmlCompiler compiles marked HTML.
type htmlCompiler struct {
	*compiler
	marks  *marks
	source string
	bare   map[int]bool // positions of marks found by marks.bare
	out    textBuilder
}

// compile cuts the source at its marks, at tracked links, and at the position of the pixel, as
// tracking.Track does.
func (h *htmlCompiler) compile() (*compiledText, error) {
	t := h.mail.tracking
	if t == nil {
		h.add(0, len(h.source))
		return h.done("html", &h.out)
	}
	scanned := tracking.ScanLinks(h.source, h.mayTrack)
	if !t.Click {
		scanned.Links = nil
	}
	at, pixel := 0, t.Open
	for _, link := range h.numbered(scanned.Links) {
		if pixel && link.From > scanned.End {
			h.add(at, scanned.End)
			h.pixel()
			at, pixel = scanned.End, false
		}
		h.add(at, link.From)
		h.link(link)
		at = link.To
	}
	if pixel {
		h.add(at, scanned.End)
		h.pixel()
		at = scanned.End
	}
	h.add(at, len(h.source))
	return h.done("html", &h.out)
}

// add compiles a range of the source.
func (h *htmlCompiler) add(from, to int) {
	for _, p := range h.parts(from, to) {
		h.out.part(p)
	}
}

// textPart is a fixed text, and the slot or the part of Liquid after it.
type textPart struct {
	text  string
	slot  *slot         // nil: none
	token *liquid.Token // nil: none
}

// part appends a part.
func (b *textBuilder) part(p textPart) {
	b.add(p.text)
	if p.slot != nil {
		b.fill(p.slot.escaped)
	}
	if p.token != nil {
		b.token(p.token)
	}
}

// parts cuts a range of the source at its marks.
func (h *htmlCompiler) parts(from, to int) (out []textPart) {
	for {
		before, p, after, found := h.marks.cut(h.source[from:to])
		if !found {
			return append(out, textPart{text: before})
		}
		if p.isLiquid() {
			out = append(out, textPart{text: before, token: p.token})
			from = to - len(after)
			continue
		}
		if p.token != nil {
			out = append(out, textPart{text: before, slot: h.liquidSlot(p)})
			from = to - len(after)
			continue
		}
		escape := html.EscapeString
		if h.bare[from+len(before)] {
			escape = escapeBare
		}
		out = append(out, textPart{text: before, slot: h.slotAt(h.source[:from+len(before)], p.Placeholder, p.Fallback, escape)})
		from = to - len(after)
	}
}

// pixel compiles the tracking pixel.
func (h *htmlCompiler) pixel() {
	before, after := tracking.Pixel(h.mail.tracking)
	h.out.add(before)
	h.out.step(textStep{fill: func(f *fillState) string { return tracking.OpenToken(f.sealer, f.recipient.ID) }})
	h.out.add(after)
}

// bodyStart returns the position after the body tag, or where it would be.
func bodyStart(source string) int {
	z, at, open := htmltext.NewTokens(source), 0, true // open: no visible content yet
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return at
		case nethtml.DoctypeToken:
			if open {
				at = z.At
			}
		case nethtml.EndTagToken:
			if open && z.Name == "head" {
				at = z.At
			}
		case nethtml.TextToken:
			open = open && (z.Element != "" || strings.Trim(z.Raw(), htmltext.Blanks) == "")
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken:
			switch name := z.Name; {
			case name == "body":
				return z.At
			case open && name == "html":
				at = z.At
			default:
				open = open && strings.Contains(" head title base link meta style script noscript template ", " "+name+" ")
			}
		}
	}
}

// bare returns marks within tags without quotes around them: a blank in a value would begin
// another attribute there.
func (m *marks) bare(source string) map[int]bool {
	out := map[int]bool{}
	z := htmltext.NewTokens(source)
	for {
		switch z.Next() {
		case nethtml.ErrorToken:
			return out
		case nethtml.StartTagToken, nethtml.SelfClosingTagToken, nethtml.EndTagToken:
			if raw := z.Raw(); strings.Contains(raw, m.prefix) {
				m.bareInTag(raw, func(at int) { out[z.Begin+at] = true })
			}
		}
	}
}

func (m *marks) bareInTag(tag string, found func(at int)) {
	done := 0 // processed up to here
	look := func(to int) {
		for {
			i := strings.Index(tag[done:to], m.prefix)
			if i < 0 {
				return
			}
			found(done + i)
			done += i + len(m.prefix)
		}
	}
	for at := 1 + len(htmltext.TagName(tag[1:])); at < len(tag) && tag[at] != '>'; at = htmltext.SkipBlanks(tag, at) {
		key := htmltext.AttributeKey(tag[at:])
		at = htmltext.SkipBlanks(tag, at+len(key))
		from, to, bare, next := htmltext.AttributeValue(tag, at)
		if !bare {
			look(from)
			done = to
		}
		at = next
	}
	look(len(tag))
}
