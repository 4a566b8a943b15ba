package liquid

import (
	"slices"
	"strings"

	"mailer/app/kit/htmltext"
)

// position is a position in HTML as its tokenizer sees it (WHATWG HTML 13.2.5). Two positions are
// the same if the same text after them means the same.
type position struct {
	state   state
	tag     string // name of the tag, in lower case
	end     bool   // it is an end tag
	slash   bool   // a slash was just read in the tag
	name    string // of the attribute, in lower case
	kind    attributeKind
	address addressPosition
	cut     bool   // the style ends with the beginning of an escape
	element string // element that contains raw text
	pending string // begin of a mark that the next text may complete
	foreign int    // open svg and math
	comment dashes // of the comment
	hidden  dashes // of the conditional comment around everything; 0: none
}

type state uint8

const (
	inText        state = iota
	tagOpen             // after <
	endTagOpen          // after </
	declaration         // after <!
	tagName             // in the name of a tag
	beforeName          // in a tag, before the name of an attribute
	attributeName       // in the name of an attribute
	afterName           // after the name of an attribute and a blank
	beforeValue         // after an equals sign
	doubleQuoted        // in the value of an attribute
	singleQuoted
	bareValue
	bareStart     // in a value without quotes that may be empty up to here
	afterValue    // after the quote that ends a value
	boundary      // after branches that end in a name or after a value: a blank or the end must follow
	boundaryBlank // boundary, after a blank
	inComment
	conditionHead // in <!--[if
	inMarkup      // in a declaration, which ends with >
	rawText       // in an element whose content is no HTML
	captured      // in a capture
)

// stateNames are the states as errors name them.
var stateNames = [...]string{
	inText: "in text", tagOpen: "after <", endTagOpen: "after </", declaration: "after <!", tagName: "in the name of a tag",
	beforeName: "in the name of an attribute", attributeName: "in the name of an attribute", afterName: "in the name of an attribute",
	beforeValue: "before the value of an attribute", doubleQuoted: "in an attribute", singleQuoted: "in an attribute",
	bareValue: "in an attribute without quotes", bareStart: "in an attribute without quotes", afterValue: "in the name of an attribute",
	boundary: "in the name of a tag or attribute", boundaryBlank: "in the name of an attribute",
	inComment: "in a comment", conditionHead: "in a condition", inMarkup: "in a declaration", rawText: "in an element", captured: "in capture",
}

// String names the position in an error.
func (p *position) String() string {
	if p.state == rawText {
		return "in the element " + p.element
	}
	return stateNames[p.state]
}

// inValue reports whether the position is in the value of an attribute.
func (p *position) inValue() bool {
	return p.state == doubleQuoted || p.state == singleQuoted || p.state == bareValue || p.state == bareStart
}

// step reads the beginning of a text and returns the rest. fault is empty if the text is allowed.
func (p *position) step(s string) (rest, fault string) {
	switch p.state {
	case inText:
		if s[0] == '<' {
			p.state = tagOpen
			return s[1:], ""
		}
		return s[upTo(s, "<"):], ""
	case tagOpen, endTagOpen, declaration:
		return p.open(s), ""
	case doubleQuoted:
		return p.value(s, `"`)
	case singleQuoted:
		return p.value(s, "'")
	case bareStart:
		p.state = bareValue
		return s, ""
	case bareValue:
		return p.value(s, htmltext.Blanks+">")
	case inMarkup:
		n := upTo(s, ">")
		if n == len(s) {
			return "", ""
		}
		p.state = inText
		return s[n+1:], ""
	case inComment, conditionHead:
		return p.commentText(s)
	case rawText:
		return p.rawText(s), ""
	case captured:
		return capturedText(s)
	}
	return p.inTag(s)
}

// inTag reads a part of a tag outside of values.
func (p *position) inTag(s string) (rest, fault string) {
	c := s[0]
	blank := strings.IndexByte(htmltext.Blanks, c) >= 0
	switch p.state {
	case tagName:
		n := upTo(s, htmltext.Blanks+"/>")
		if p.tag = addName(p.tag, s[:n]); n > 0 {
			return s[n:], ""
		}
	case attributeName:
		n := upTo(s, htmltext.Blanks+"/>=")
		if p.name = addName(p.name, s[:n]); n > 0 {
			return s[n:], ""
		}
		p.state = afterName
		return s, ""
	case afterName:
		if c == '=' {
			p.state, p.kind, p.address, p.cut = beforeValue, kindOf(p.tag, p.name), addressStart, false
			return s[1:], ""
		}
	case beforeValue:
		switch {
		case c == '"':
			p.state = doubleQuoted
			return s[1:], ""
		case c == '\'':
			p.state = singleQuoted
			return s[1:], ""
		case c != '>' && !blank:
			p.state = bareValue
			return s, ""
		}
	case boundary:
		if !blank && c != '/' && c != '>' {
			return s, "has no blank between a block and the name of a tag or attribute"
		}
	case boundaryBlank:
		if c == '=' {
			return s, "has an equals sign after a block that may end with the name of an attribute"
		}
	}
	return p.betweenAttributes(s, blank), ""
}

// betweenAttributes reads a blank, a slash, the end of the tag, or the first part of a name.
func (p *position) betweenAttributes(s string, blank bool) (rest string) {
	switch {
	case s[0] == '>':
		p.endOfTag()
	case s[0] == '/':
		if p.slash = true; p.state != boundary && p.state != boundaryBlank {
			p.state = beforeName
		}
	case blank && p.state == boundary:
		p.state = boundaryBlank
	case blank && (p.state == tagName || p.state == afterValue):
		p.state = beforeName
	case blank:
		p.slash = false
	default:
		n := 1 + upTo(s[1:], htmltext.Blanks+"/>=")
		p.state, p.slash, p.name = attributeName, false, addName("", s[:n])
		return s[n:]
	}
	return s[1:]
}

// upTo returns the index of the first of some characters, or len(s).
func upTo(s, characters string) int {
	if n := strings.IndexAny(s, characters); n >= 0 {
		return n
	}
	return len(s)
}

// maxName limits the length of names that are told apart.
const maxName = 64

// addName adds a part to a name, in lower case as HTML has it.
func addName(name, part string) string {
	if room := maxName - len(name); len(part) > room {
		part = part[:room]
	}
	lower := []byte(part)
	for i, c := range lower {
		if c >= 'A' && c <= 'Z' {
			lower[i] += 'a' - 'A'
		}
	}
	return name + string(lower)
}

// open reads what follows <, </ or <!.
func (p *position) open(s string) (rest string) {
	c := s[0]
	letter := htmltext.IsLetter(c)
	switch p.state {
	case tagOpen:
		switch {
		case letter:
			p.state, p.tag, p.end = tagName, "", false
		case c == '/':
			p.state = endTagOpen
			return s[1:]
		case c == '!':
			p.state = declaration
			return s[1:]
		case c == '?':
			p.state = inMarkup
		default:
			p.state = inText
		}
	case endTagOpen:
		if p.state = inMarkup; letter {
			p.state, p.tag, p.end = tagName, "", true
		}
	case declaration:
		if c == '-' && p.pending == "" {
			p.pending = "-"
			return s[1:]
		}
		if p.state = inMarkup; c == '-' {
			p.state, p.comment, s = inComment, dashesAtStart, s[1:]
		}
		p.pending = ""
	}
	return s
}

// capturedText reads the text in a capture.
func capturedText(s string) (rest, fault string) {
	for i := range len(s) - 1 {
		if s[i] == '<' && (htmltext.IsLetter(s[i+1]) || strings.IndexByte("/!?", s[i+1]) >= 0) {
			return s[i:], "has a tag within capture: a captured text is escaped where it is written"
		}
	}
	return "", ""
}

// commentText reads one character of a comment.
func (p *position) commentText(s string) (rest, fault string) {
	c := s[0]
	ends, clear := p.comment.next(c)
	switch {
	case !clear:
		return s, unclearEnd
	case ends:
		p.state, p.comment, p.pending = inText, 0, ""
	case p.state == conditionHead && c == '>' && p.pending == "]":
		p.state, p.comment, p.pending, p.hidden = inText, 0, "", noDash
	case p.state == conditionHead:
		p.pending = ""
		if c == ']' {
			p.pending = "]"
		}
	case p.pending != noCondition:
		n := len(p.pending)
		if p.pending += string([]byte{c}); n == len(ifMark) || p.hidden != 0 || !htmltext.EqualASCII(p.pending, ifMark[:n+1]) {
			p.pending = noCondition
		} else if n+1 == len(ifMark) {
			p.state, p.pending = conditionHead, ""
		}
	}
	return s[1:], ""
}

const (
	ifMark      = "[if"
	noCondition = "-" // what is pending in a comment that does not begin with ifMark
	unclearEnd  = "has a comment that ends or not, depending on a value"
)

// rawText reads the content of an element that is no HTML, up to its end tag.
func (p *position) rawText(s string) (rest string) {
	t := p.pending + s
	p.pending, p.cut = "", isCut(p.cut, s, `\\`)
	if p.element == "plaintext" {
		return ""
	}
	for at := 0; ; at += 2 {
		n := strings.Index(t[at:], "</")
		if n < 0 {
			if strings.HasSuffix(t[at:], "<") {
				p.pending = "<"
			}
			return ""
		}
		at += n
		name := t[at+2:]
		length := min(len(name), len(p.element))
		if !htmltext.EqualASCII(name[:length], p.element[:length]) {
			continue
		}
		switch {
		case length == len(name):
			p.pending = t[at:]
			return ""
		case strings.IndexByte(htmltext.Blanks+"/>", name[length]) >= 0:
			p.state, p.tag, p.end = tagName, p.element, true
			p.element = ""
			return name[length:]
		}
	}
}

// rawElements are the elements whose content is no HTML.
var rawElements = []string{"iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp"}

// endOfTag goes to what follows a tag.
func (p *position) endOfTag() {
	next := position{state: inText, foreign: p.foreign, hidden: p.hidden}
	foreign := p.tag == "svg" || p.tag == "math"
	switch {
	case p.end && foreign:
		next.foreign = max(0, p.foreign-1)
	case p.end:
	case foreign && !p.slash:
		next.foreign++
	case slices.Contains(rawElements, p.tag):
		next.state, next.element = rawText, p.tag
	}
	*p = next
}

// read reads a text and returns where in it the fault is.
func (p *position) read(text string) (at int, fault string) {
	for s := text; s != ""; {
		before, hidden := p.state, p.hidden
		rest, fault := p.step(s)
		at := len(text) - len(s)
		if fault != "" {
			return len(text) - len(rest), fault
		}
		if hidden != 0 {
			if fault = p.readHidden(s[:len(s)-len(rest)], before); fault != "" {
				return at, fault
			}
		}
		s = rest
	}
	return 0, ""
}

// readHidden reads a part of a text a second time as the programs do for which it is in a comment.
// before is the state before it.
func (p *position) readHidden(s string, before state) (fault string) {
	for i := range len(s) {
		ends, clear := p.hidden.next(s[i])
		if !clear {
			return unclearEnd
		}
		if !ends {
			continue
		}
		if p.state != inText || before != inText && i < len(s)-1 {
			return "has --> within a tag of a conditional comment"
		}
		p.hidden = 0
		break
	}
	return ""
}

// merge returns the position after two branches that end in a and b; ok is false if the same text
// after them could mean different things.
func merge(a, b position) (out position, ok bool) {
	if a == b {
		return a, true
	}
	a.comment |= b.comment
	b.comment = a.comment
	if (a.hidden == 0) == (b.hidden == 0) {
		a.hidden |= b.hidden
		b.hidden = a.hidden
	}
	a.cut = a.cut || b.cut
	b.cut = a.cut
	if a.inValue() && a.state == b.state && a.kind == addressAttribute {
		a.address = a.address.merge(b.address)
		b.address = a.address
	}
	if a != b && a.tag == b.tag && a.end == b.end && a.endsName() && b.endsName() {
		end := boundary
		if a.afterBlank() && b.afterBlank() {
			end = boundaryBlank
		}
		a = position{state: end, tag: a.tag, end: a.end, foreign: a.foreign, hidden: a.hidden}
		b = position{state: end, tag: b.tag, end: b.end, foreign: b.foreign, hidden: b.hidden}
	}
	return a, a == b
}

// afterBlank reports whether the next text of the tag can begin a name.
func (p *position) afterBlank() bool {
	return p.state == beforeName || p.state == afterName || p.state == boundaryBlank
}

// endsName reports whether a blank or the end of the tag at the position ends a name or a value, or
// has no meaning.
func (p *position) endsName() bool {
	switch p.state {
	case tagName, beforeName, attributeName, afterName, bareValue, afterValue, boundary, boundaryBlank:
		return true
	}
	return false
}
