package liquid

import (
	"mailer/app"
	"mailer/app/kit/htmltext"
)

// CheckHTML sets the context of each output and placeholder of an HTML document, and checks that a
// value can be escaped there. Whatever the values are, the tags and the names of attributes stay
// the same. The branches of a block must end in the same position in the HTML. Errors: *Error.
func CheckHTML(tokens []Token) error {
	h := htmlChecker{}
	for i := range tokens {
		if err := h.token(&tokens[i]); err != nil {
			return err
		}
	}
	return nil
}

// htmlChecker reads a document in the order of its source.
type htmlChecker struct {
	position
	blocks []htmlBlock
	bare   *Token // the value that begins an attribute without quotes, in the state bareStart
}

// htmlBlock is a block that is open.
type htmlBlock struct {
	tok    *Token
	begin  position // before the block
	after  position // after the branches that were read
	closed bool     // after is set
	last   string   // the tag that began the branch
}

func (h *htmlChecker) token(tok *Token) error {
	if tok.Kind == Text {
		return h.text(tok)
	}
	tok.Context = Context{}
	if h.state == bareStart {
		return tok.fault("has a value in an attribute without quotes, with more Liquid behind it: put the attribute in quotes")
	}
	switch {
	case tok.Kind == Leaf:
		return nil
	case tok.Kind == Placeholder:
		return h.placeholder(tok)
	case tok.Kind == Output || tok.tag.name == "cycle":
		return h.output(tok)
	case h.state == rawText && h.element == "script":
		return tok.fault("has %s in a script", tok.Text[:2])
	}
	return h.control(tok)
}

func (h *htmlChecker) text(tok *Token) error {
	if h.state == bareStart {
		if c := tok.Text[0]; c == '"' || c == '\'' {
			return tok.fault("has a quote behind a value in an attribute without quotes")
		}
		h.bare.Context.all = upTo(tok.Text[:1], htmltext.Blanks+">") == 0
	}
	if at, fault := h.read(tok.Text); fault != "" {
		return tok.faultAt(at, "%s", fault)
	}
	return nil
}

// placeholder sets the context of what the caller fills. It can stand in more places than an output:
// in the host of an address, in svg, and links to pages in any attribute.
func (h *htmlChecker) placeholder(tok *Token) error {
	c, fault := h.context()
	inValue := h.state == beforeValue || h.inValue()
	switch {
	case fault == "":
		tok.Context = c
	case h.state == inText || h.state == inComment || inValue && (h.kind != refusedAttribute || app.IsPageKey(tok.Placeholder.Key)):
		tok.Context = Context{place: quotedText, bare: true}
	default:
		return tok.fault("has a placeholder %s", fault)
	}
	if h.state == beforeValue {
		h.state = bareValue
	}
	if h.inValue() && h.kind == addressAttribute && h.address.part <= inHost {
		h.address = addressPosition{part: afterFiller}
	}
	h.comment.value()
	h.hidden.value()
	return nil
}

// output sets the context of an output or a cycle.
func (h *htmlChecker) output(tok *Token) error {
	c, fault := h.context()
	if fault != "" {
		return tok.fault("has a value %s", fault)
	}
	last := ""
	if tok.expr != nil {
		last = tok.expr.last
	}
	if last == "raw" && (c.place != htmlText && c.place != plainText || c.comment) {
		return tok.fault("uses raw %s: it is for text only", &h.position)
	}
	if tok.Context = c; h.state == beforeValue {
		h.state, h.bare = bareStart, tok
	}
	if c.place == wholeAddress {
		h.address = addressPosition{part: afterWhole}
	}
	h.comment.value()
	h.hidden.value()
	return nil
}

// context returns the context of a value at the position. fault is empty if a value can stand there.
func (h *htmlChecker) context() (c Context, fault string) {
	c.comment = h.hidden != 0
	switch {
	case h.state == captured:
		return Context{}, ""
	case h.state == inText:
		c.place = htmlText
	case h.state == inMarkup:
		c.place = commentText
	case h.state == inComment && h.pending == noCondition:
		c.place, c.comment = commentText, true
	case h.state == rawText && h.pending != "":
		return c, "within an end tag"
	case h.state == rawText && h.element == "style":
		if c.place = styleSheet; h.cut {
			return c, "after a backslash"
		}
	case h.state == rawText && (h.element == "title" || h.element == "textarea"):
		c.place = quotedText
	case h.state == beforeValue || h.inValue():
		c.bare = h.state != doubleQuoted && h.state != singleQuoted
		return h.valueContext(c)
	case h.state == inComment:
		return c, "at the beginning of a comment: put a blank before it"
	default:
		return c, h.String()
	}
	if h.foreign > 0 {
		return c, "in svg or math"
	}
	return c, ""
}

// valueContext returns the context of a value in an attribute.
func (h *htmlChecker) valueContext(c Context) (_ Context, fault string) {
	if h.foreign > 0 {
		return c, "in svg or math"
	}
	c.place = quotedText
	switch h.kind {
	case refusedAttribute:
		return c, "in the attribute " + h.name + " of " + h.tag
	case styleAttribute:
		if c.place = styleText; h.cut {
			return c, "after a backslash or an ampersand"
		}
	case addressAttribute:
		switch h.address.part {
		case atStart:
			c.place = wholeAddress
		case inPath:
			c.place = addressPath
		case inQuery:
			c.place = addressQuery
		case inRest:
			c.place = addressRest
		case afterWhole:
			return c, "after another one that is the whole address"
		case inRelative:
			return c, "in an address without a host"
		case inOther:
			return c, "in an address that is neither http, https, mailto nor tel, or whose branches differ"
		default:
			return c, "in the scheme, host or port of an address"
		}
	}
	return c, ""
}

// control follows the branches of blocks. Build reports tags that do not fit together.
func (h *htmlChecker) control(tok *Token) error {
	name, last := tok.tag.name, len(h.blocks)-1
	switch h.state {
	case tagName, beforeName, attributeName, afterName, afterValue, boundary, boundaryBlank:
		tok.Context.place = attributes
	}
	switch name {
	case "if", "unless", "case", "for", "capture":
		h.blocks = append(h.blocks, htmlBlock{tok: tok, begin: h.position, last: name})
		if name != "capture" {
			return nil
		}
		if h.state != inText && h.state != captured || h.foreign > 0 {
			return tok.fault("has capture %s: it is for text only", &h.position)
		}
		tok.Context.place = htmlText
		h.position = position{state: captured}
	case "block":
		if !h.isBetweenTags() {
			return tok.fault("has a saved block %s: it can stand between tags only", &h.position)
		}
	case "break", "continue":
		for i := last; i >= 0; i-- {
			if b := &h.blocks[i]; b.tok.tag.name == "for" {
				return h.repeats(b, tok)
			}
		}
	case "elsif", "else", "when":
		if last < 0 {
			return nil
		}
		b := &h.blocks[last]
		err := h.endBranch(b, tok)
		b.last, h.position = name, b.begin
		return err
	case "endif", "endunless", "endcase", "endfor", "endcapture":
		if last < 0 {
			return nil
		}
		b := h.blocks[last]
		h.blocks = h.blocks[:last]
		return h.endBlock(&b, tok)
	}
	return nil
}

// endBranch adds the position after a branch to those of its block.
func (h *htmlChecker) endBranch(b *htmlBlock, tok *Token) error {
	switch {
	case b.last == "case":
		return nil
	case b.last == "for":
		b.after, b.closed = b.begin, true
		return h.repeats(b, tok)
	case !b.closed:
		b.after, b.closed = h.position, true
		return nil
	}
	return h.join(b, h.position, tok)
}

// join merges a position into those after the branches of a block.
func (h *htmlChecker) join(b *htmlBlock, p position, tok *Token) error {
	merged, ok := merge(b.after, p)
	if !ok {
		return tok.fault("ends %s (line %d) %s in one branch and %s in another one: each branch must end at the same position of the HTML",
			b.tok.tag.name, b.tok.Line, &b.after, &p)
	}
	b.after = merged
	return nil
}

// repeats checks that a loop can begin again at the current position.
func (h *htmlChecker) repeats(b *htmlBlock, tok *Token) error {
	if merged, ok := merge(b.begin, h.position); !ok || merged != b.begin {
		return tok.fault("ends for (line %d) %s, which begins %s: a loop must end at the position of the HTML at which it begins",
			b.tok.Line, &h.position, &b.begin)
	}
	return nil
}

func (h *htmlChecker) endBlock(b *htmlBlock, tok *Token) error {
	if b.tok.tag.name == "capture" {
		h.position = b.begin
		return nil
	}
	if err := h.endBranch(b, tok); err != nil {
		return err
	}
	if b.last != "else" && b.tok.tag.name != "for" {
		if !b.closed {
			b.after = b.begin
		}
		if err := h.join(b, b.begin, tok); err != nil {
			return err
		}
	}
	h.position = b.after
	return nil
}
