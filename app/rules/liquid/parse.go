package liquid

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mailer/app"
)

// operand is a literal or the path of a name.
type operand struct {
	literal Value
	blank   bool       // the literal blank
	empty   bool       // the literal empty
	name    string     // of a path: its first name; empty: a literal
	contact string     // of a path that begins with contact: "contact.KEY"
	path    []pathStep // after the name, or after the key of the contact
	at      int        // in the token
}

// pathStep is a key of an object, or an index.
type pathStep struct {
	key   string
	index *operand // nil: key
}

// expression is an operand with filters.
type expression struct {
	first       operand
	filters     []filterCall
	lastDefault int    // index of the last filter that is default; -1: none
	last        string // name of the last filter
}

type filterCall struct {
	*filter
	args       []operand
	allowFalse *operand // of default
}

// condition is a list of comparisons, which are connected from the right: a and (b or c).
type condition struct {
	parts []comparison
	ands  []bool // after each part but the last: and, not or
}

type comparison struct {
	left, right operand
	operator    string // empty: left alone
}

// loop is what follows for.
type loop struct {
	list          operand
	from, to      *operand // of a range; nil: list
	limit, offset *operand // nil: none
	reversed      bool
}

// tag is a parsed tag.
type tag struct {
	name     string
	variable string     // of assign, capture and for
	expr     expression // of assign
	cond     condition  // of if, elsif and unless
	operands []operand  // of case: one; of when and cycle: the values
	group    string     // of cycle
	loop     loop       // of for
}

// lexeme is a word or sign of an expression.
type lexeme struct {
	kind byte // 'n' name, 's' string, 'd' number, 'o' sign, 0 end
	text string
	at   int
}

// parser parses what an output or a tag contains.
type parser struct {
	token  *Token
	source string
	base   int // offset of source in the token
	at     int
	now    lexeme
}

// fault returns an error at an offset of the source.
func (p *parser) fault(at int, format string, args ...any) *Error {
	return p.token.faultAt(p.base+at, format, args...)
}

// blank returns the length of the blank at the beginning of s; 0: there is none. Visual editors
// write no-break spaces.
func blank(s string) int {
	if s != "" && strings.IndexByte(blanks, s[0]) >= 0 {
		return 1
	}
	for _, b := range []string{"&nbsp;", "\u00a0"} {
		if strings.HasPrefix(s, b) {
			return len(b)
		}
	}
	return 0
}

// next reads the next lexeme. Signs may be written as entities, as visual editors do.
func (p *parser) next() error {
	s := p.source
	for n := blank(s[p.at:]); n > 0; n = blank(s[p.at:]) {
		p.at += n
	}
	from := p.at
	if from == len(s) {
		p.now = lexeme{at: from}
		return nil
	}
	for entity, sign := range map[string]string{"&lt;": "<", "&gt;": ">"} {
		if rest, ok := strings.CutPrefix(s[from:], entity); ok {
			p.at += len(entity)
			return p.sign(sign, rest, from)
		}
	}
	if rest, ok := strings.CutPrefix(s[from:], "&quot;"); ok {
		return p.text(rest, "&quot;", from)
	}
	switch c := s[from]; {
	case c == '"' || c == '\'':
		return p.text(s[from+1:], string(c), from)
	case isNameStart(c):
		p.at++
		for p.at < len(s) && (isNameStart(s[p.at]) || isDigit(s[p.at]) || s[p.at] == '-') {
			p.at++
		}
		p.now = lexeme{'n', s[from:p.at], from}
	case isDigit(c) || c == '-' && from+1 < len(s) && isDigit(s[from+1]):
		p.at++
		for p.at < len(s) && (isDigit(s[p.at]) || s[p.at] == '.' && p.at+1 < len(s) && isDigit(s[p.at+1]) && !strings.Contains(s[from:p.at], ".")) {
			p.at++
		}
		p.now = lexeme{'d', s[from:p.at], from}
	case strings.IndexByte("=!<>|:,.[]()", c) >= 0:
		p.at++
		return p.sign(s[from:p.at], s[p.at:], from)
	default:
		return p.fault(from, "has an unexpected %q", app.Excerpt(firstCharacter(s[from:])))
	}
	return nil
}

func isNameStart(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func firstCharacter(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// sign reads a sign of one or two characters. rest follows its first one.
func (p *parser) sign(first, rest string, from int) error {
	p.now = lexeme{'o', first, from}
	for _, second := range []string{"=", "&gt;", ">", "."} {
		two := first + strings.ReplaceAll(second, "&gt;", ">")
		if strings.HasPrefix(rest, second) && slices.Contains([]string{"==", "!=", "<=", ">=", "<>", ".."}, two) {
			p.at += len(second)
			p.now.text = two
			return nil
		}
	}
	return nil
}

// text reads a string up to its quote.
func (p *parser) text(rest, quote string, from int) error {
	text, _, found := strings.Cut(rest, quote)
	if !found {
		return p.fault(from, "has a text without its closing quote")
	}
	p.at = from + len(text) + 2*len(quote)
	p.now = lexeme{'s', text, from}
	return nil
}

// is reports whether the lexeme is a sign or a name, which it then skips.
func (p *parser) is(text string) (bool, error) {
	if p.now.text != text || p.now.kind != 'o' && p.now.kind != 'n' {
		return false, nil
	}
	return true, p.next()
}

// expect skips a sign that must follow.
func (p *parser) expect(text string) error {
	ok, err := p.is(text)
	if err == nil && !ok {
		return p.unexpected("%s is missing", text)
	}
	return err
}

// unexpected returns the error for the lexeme. The text says what was expected.
func (p *parser) unexpected(format string, args ...any) *Error {
	e := p.fault(p.now.at, "")
	found := "the end of " + p.token.Text[:2]
	if p.now.kind != 0 {
		found = "`" + app.Excerpt(p.now.text) + "`"
	}
	e.Text = "has " + found + " where " + fmt.Sprintf(format, args...)
	return e
}

// end checks that nothing follows.
func (p *parser) end() error {
	if p.now.kind != 0 {
		return p.unexpected("nothing more can follow")
	}
	return nil
}

// output parses what an output contains.
func (p *parser) output() (*expression, error) {
	err := p.next()
	if err != nil {
		return nil, err
	}
	e, err := p.expression()
	if err == nil {
		err = p.end()
	}
	return &e, err
}

func (p *parser) expression() (e expression, err error) {
	e.lastDefault = -1
	if e.first, err = p.operand(0); err != nil {
		return e, err
	}
	for {
		more, err := p.is("|")
		if err != nil || !more {
			return e, err
		}
		at, name := p.now.at, p.now.text
		if p.now.kind != 'n' {
			return e, p.unexpected("the name of a filter is missing")
		}
		call := filterCall{filter: filters[name]}
		if call.filter == nil {
			return e, p.fault(at, "uses the filter %s, which does not exist", app.Excerpt(name))
		}
		if err = p.next(); err == nil {
			err = p.arguments(name, &call)
		}
		if err != nil {
			return e, err
		}
		if n := len(call.args); n < call.min || n > call.max {
			return e, p.fault(at, "gives the filter %s %d values; it takes %s", name, n, call.takes())
		}
		if name == "default" {
			e.lastDefault = len(e.filters)
		}
		if e.last == "raw" || name == "raw" && (e.first.name == "" || e.first.contact != "" || len(e.first.path)+len(e.filters) > 0) {
			return e, p.fault(at, "uses raw on something else than a variable alone: {{ name | raw }}")
		}
		e.last = name
		e.filters = append(e.filters, call)
	}
}

// arguments parses the arguments of a filter.
func (p *parser) arguments(name string, call *filterCall) error {
	more, err := p.is(":")
	for ; err == nil && more; more, err = p.is(",") {
		var o operand
		if o, err = p.operand(0); err != nil {
			return err
		}
		named, err := p.is(":")
		if err != nil {
			return err
		}
		if !named {
			call.args = append(call.args, o)
			continue
		}
		if name != "default" || o.name != "allow_false" {
			return p.fault(o.at, "gives the filter %s a value with a name, which it does not know", name)
		}
		if o, err = p.operand(0); err != nil {
			return err
		}
		call.allowFalse = &o
	}
	return err
}

// operand parses a literal or a path. depth is how many indexes are open around it.
func (p *parser) operand(depth int) (o operand, err error) {
	o.at = p.now.at
	switch l := p.now; l.kind {
	case 's':
		o.literal = String(l.text)
	case 'd':
		o.literal = number(l.text)
	case 'n':
		switch l.text {
		case "true", "false":
			o.literal = Bool(l.text == "true")
		case "nil", "null":
		case "blank":
			o.blank = true
		case "empty":
			o.empty = true
		default:
			return p.path(l.text, depth)
		}
	default:
		if l.text == "(" {
			return o, p.unexpected("a value is missing: parentheses are for ranges in for only")
		}
		return o, p.unexpected("a value is missing")
	}
	return o, p.next()
}

func (p *parser) path(name string, depth int) (o operand, err error) {
	o.name, o.at = name, p.now.at
	if depth > maxDepth {
		return o, p.fault(o.at, "nests more than %d indexes", maxDepth)
	}
	if err = p.next(); err != nil {
		return o, err
	}
	for {
		var step pathStep
		if dot, err := p.is("."); err != nil {
			return o, err
		} else if dot {
			if p.now.kind != 'n' {
				return o, p.unexpected("a name is missing after the dot")
			}
			step.key = p.now.text
			if err = p.next(); err != nil {
				return o, err
			}
		} else if open, err := p.is("["); err != nil {
			return o, err
		} else if open {
			inner, err := p.operand(depth + 1)
			if err == nil {
				err = p.expect("]")
			}
			if err != nil {
				return o, err
			}
			if step.index = &inner; inner.name == "" && inner.literal.kind == stringKind {
				step = pathStep{key: inner.literal.text}
			}
		} else {
			break
		}
		o.path = append(o.path, step)
	}
	return o, p.contactKey(&o)
}

// contactKey takes the key of a path that begins with contact.
func (p *parser) contactKey(o *operand) error {
	if o.name != "contact" {
		return nil
	}
	if len(o.path) == 0 || o.path[0].index != nil || app.CheckPropertyKey(o.path[0].key, app.MaxPropertyKey) != nil {
		return p.fault(o.at, "uses contact without the key of a property: contact.first_name")
	}
	o.contact = "contact." + o.path[0].key
	o.path = o.path[1:]
	return nil
}

// condition parses what follows if, elsif and unless.
func (p *parser) condition() (c condition, err error) {
	for {
		var part comparison
		if part.left, err = p.operand(0); err != nil {
			return c, err
		}
		if op := p.now.text; p.now.kind == 'o' && slices.Contains([]string{"==", "!=", "<>", "<", ">", "<=", ">="}, op) || p.now.kind == 'n' && op == "contains" {
			part.operator = op
			if op == "<>" {
				part.operator = "!="
			}
			if err = p.next(); err != nil {
				return c, err
			}
			if part.right, err = p.operand(0); err != nil {
				return c, err
			}
		}
		c.parts = append(c.parts, part)
		and, err := p.is("and")
		if err != nil {
			return c, err
		}
		if !and {
			if or, err := p.is("or"); err != nil || !or {
				return c, err
			}
		}
		c.ands = append(c.ands, and)
	}
}

// otherTags are tags of Liquid that mail does not have.
var otherTags = []string{"include", "render", "layout", "section", "tablerow", "increment", "decrement", "echo", "liquid", "ifchanged", "block", "extends"}

// tag parses what a tag contains.
func (p *parser) tag() (t *tag, err error) {
	if err = p.next(); err != nil {
		return nil, err
	}
	t = &tag{name: p.now.text}
	at := p.now.at
	if p.now.kind != 'n' {
		return nil, p.unexpected("the name of a tag is missing")
	}
	if err = p.next(); err != nil {
		return nil, err
	}
	switch t.name {
	case "if", "elsif", "unless":
		t.cond, err = p.condition()
	case "case", "when", "cycle":
		err = p.values(t)
	case "for":
		err = p.loop(t)
	case "assign", "capture":
		err = p.variable(t)
	case "else", "endif", "endunless", "endcase", "endfor", "endcapture", "break", "continue", "raw", "comment":
	default:
		if slices.Contains(otherTags, t.name) {
			return nil, p.fault(at, "uses the tag %s, which mail does not have", t.name)
		}
		return nil, p.fault(at, "uses the tag %s, which does not exist", app.Excerpt(t.name))
	}
	if err == nil {
		err = p.end()
	}
	return t, err
}

// values parses the values of case, when and cycle.
func (p *parser) values(t *tag) (err error) {
	t.group = strings.TrimSpace(p.source)
	for {
		o, err := p.operand(0)
		if err != nil {
			return err
		}
		if named, err := p.is(":"); err != nil {
			return err
		} else if named && t.name == "cycle" && len(t.operands) == 0 && o.name == "" {
			t.group = "\x00" + o.literal.plain()
			continue
		} else if named {
			return p.fault(o.at, "names a group that is no text: {%% cycle \"rows\": \"odd\", \"even\" %%}")
		}
		t.operands = append(t.operands, o)
		if t.name == "case" {
			return nil
		}
		more, err := p.is(",")
		if err == nil && !more && t.name == "when" {
			more, err = p.is("or")
		}
		if err != nil || !more {
			return err
		}
	}
}

// variable parses what follows assign and capture.
func (p *parser) variable(t *tag) (err error) {
	if err = p.newName(t); err != nil || t.name == "capture" {
		return err
	}
	if err = p.expect("="); err != nil {
		return err
	}
	at := p.now.at
	if t.expr, err = p.expression(); err == nil && t.expr.last == "raw" {
		return p.fault(at, "uses raw outside of an output: {{ name | raw }}")
	}
	return err
}

// newName parses the name of a variable that the document sets.
func (p *parser) newName(t *tag) error {
	l := p.now
	if l.kind != 'n' {
		return p.unexpected("the name of a variable is missing")
	}
	if slices.Contains([]string{"contact", "forloop", "true", "false", "nil", "null", "blank", "empty"}, l.text) {
		return p.fault(l.at, "sets %s, which has a meaning of its own", l.text)
	}
	t.variable = l.text
	return p.next()
}

// loop parses what follows for.
func (p *parser) loop(t *tag) (err error) {
	if err = p.newName(t); err == nil {
		err = p.expect("in")
	}
	if err != nil {
		return err
	}
	open, err := p.is("(")
	if err != nil {
		return err
	}
	if open {
		err = p.span(&t.loop)
	} else {
		t.loop.list, err = p.operand(0)
	}
	for err == nil && p.now.kind != 0 {
		var o operand
		switch name := p.now.text; name {
		case "reversed":
			t.loop.reversed = true
			err = p.next()
		case ",":
			err = p.next()
		case "limit", "offset":
			if err = p.next(); err == nil {
				err = p.expect(":")
			}
			if err == nil {
				o, err = p.operand(0)
			}
			if name == "limit" {
				t.loop.limit = &o
			} else {
				t.loop.offset = &o
			}
		default:
			return p.unexpected("only limit, offset and reversed can follow")
		}
	}
	return err
}

// span parses a range after its parenthesis.
func (p *parser) span(l *loop) error {
	from, err := p.operand(0)
	if err == nil {
		err = p.expect("..")
	}
	if err != nil {
		return err
	}
	to, err := p.operand(0)
	if err == nil {
		err = p.expect(")")
	}
	l.from, l.to = &from, &to
	return err
}

func number(s string) Value {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return integer(n)
	}
	f, _ := strconv.ParseFloat(s, 64)
	return float(f)
}
