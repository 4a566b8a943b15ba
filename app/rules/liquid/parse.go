package liquid

import (
	"fmt"
	"html"
	"slices"
	"strings"

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
	at      int        // in the parser's source
}

// pathStep is a key of an object, or an index.
type pathStep struct {
	key   string
	index *operand // nil: key
}

// nameUse is a path that a token reads.
type nameUse struct {
	name    string
	contact string
	path    []pathStep
	at      int // in the token
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

// lexeme is a name or sign of an expression.
type lexeme struct {
	kind lexemeKind
	text string
	at   int
}

type lexemeKind uint8

const (
	endLexeme lexemeKind = iota
	nameLexeme
	textLexeme
	numberLexeme
	signLexeme
)

// parser parses what an output or a tag contains. After the first fault the source counts as read.
type parser struct {
	token  *Token
	source string
	base   int // offset of source in the token
	html   bool
	at     int
	now    lexeme
	err    error // the first fault
}

// fail keeps the first fault, at an offset of the source.
func (p *parser) fail(at int, format string, args ...any) {
	if p.err == nil {
		p.err = p.token.faultAt(p.base+at, format, args...)
	}
	p.at, p.now = len(p.source), lexeme{}
}

// missing fails because the source has something else than was expected.
func (p *parser) missing(what string) {
	if p.now.kind == endLexeme {
		p.fail(p.now.at, "ends where %s", what)
	}
	p.fail(p.now.at, "has `%s` where %s", app.Excerpt(p.now.text), what)
}

// blank returns the length of the blank at the beginning of s; 0: there is none. Visual editors
// write no-break spaces.
func blank(s string) int {
	for _, b := range []string{" ", "\t", "\n", "\r", "\f", "\v", "&nbsp;", "\u00a0"} {
		if strings.HasPrefix(s, b) {
			return len(b)
		}
	}
	return 0
}

// next reads the next lexeme.
func (p *parser) next() {
	for n := blank(p.source[p.at:]); n > 0; n = blank(p.source[p.at:]) {
		p.at += n
	}
	s := p.source[p.at:]
	p.now = lexeme{at: p.at}
	if s == "" {
		return
	}
	n := 1
	switch c := s[0]; {
	case strings.HasPrefix(s, "&quot;"):
		n = p.quoted(s, "&quot;")
	case c == '"' || c == '\'':
		n = p.quoted(s, s[:1])
	case isNameStart(c):
		for n < len(s) && (isNameStart(s[n]) || isDigit(s[n]) || s[n] == '-') {
			n++
		}
		p.now.kind, p.now.text = nameLexeme, s[:n]
	case isDigit(c) || c == '-' && len(s) > 1 && isDigit(s[1]):
		for dot := false; n < len(s) && (isDigit(s[n]) || s[n] == '.' && !dot && n+1 < len(s) && isDigit(s[n+1])); n++ {
			dot = dot || s[n] == '.'
		}
		p.now.kind, p.now.text = numberLexeme, s[:n]
	default:
		for _, sign := range signs {
			if strings.HasPrefix(s, sign) {
				p.now.kind, p.now.text = signLexeme, signEntities.Replace(sign)
				n = len(sign)
				break
			}
		}
		if p.now.kind == endLexeme {
			p.fail(p.at, "has an unexpected %s", app.Excerpt(string([]rune(s[:min(len(s), 4)])[:1])))
			return
		}
	}
	p.at += n
}

// signs are the signs of the language, longer ones first. Visual editors write entities.
var (
	signs        = []string{"&lt;&gt;", "&lt;=", "&gt;=", "&lt;", "&gt;", "==", "!=", "<=", ">=", "<>", "..", "=", "<", ">", "|", ":", ",", ".", "[", "]", "(", ")"}
	signEntities = strings.NewReplacer("&lt;", "<", "&gt;", ">")
)

func isNameStart(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// quoted reads a text in quotes and returns its length with them.
func (p *parser) quoted(s, quote string) int {
	text, _, found := strings.Cut(s[len(quote):], quote)
	if !found {
		p.fail(p.at, "has a text without its closing quote")
		return 0
	}
	if p.now.kind, p.now.text = textLexeme, text; p.html {
		p.now.text = html.UnescapeString(text)
	}
	return len(text) + 2*len(quote)
}

// is skips a sign or a name; it reports whether it was there.
func (p *parser) is(text string) bool {
	found := p.now.text == text && (p.now.kind == signLexeme || p.now.kind == nameLexeme)
	if found {
		p.next()
	}
	return found
}

// expect skips a sign or a name that must follow.
func (p *parser) expect(text string) {
	if !p.is(text) {
		p.missing(text + " is missing")
	}
}

// name skips a name, which must follow, and returns it.
func (p *parser) name(what string) string {
	name := p.now.text
	if p.now.kind != nameLexeme {
		p.missing("the name of a " + what + " is missing")
		return ""
	}
	p.next()
	return name
}

// end checks that nothing follows, and returns the fault.
func (p *parser) end() error {
	if p.now.kind != endLexeme {
		p.missing("nothing more can follow")
	}
	return p.err
}

// output parses what an output contains.
func (p *parser) output() (*expression, error) {
	p.next()
	e := p.expression()
	return &e, p.end()
}

func (p *parser) expression() expression {
	e := expression{first: p.operand(0), lastDefault: -1}
	for p.is("|") {
		at := p.now.at
		name := p.name("filter")
		call := filterCall{filter: filters[name]}
		if call.filter == nil {
			p.fail(at, "uses the filter %s, which does not exist", app.Excerpt(name))
			break
		}
		p.arguments(name, &call)
		if n := len(call.args); n < call.min || n > call.max {
			p.fail(at, "gives the filter %s %d values; it takes %s", name, n, call.takes())
		}
		if e.last == "raw" || name == "raw" && (e.first.name == "" || e.first.contact != "" || len(e.first.path)+len(e.filters) > 0) {
			p.fail(at, "uses raw on something else than a variable alone: {{ name | raw }}")
		}
		if name == "default" {
			e.lastDefault = len(e.filters)
		}
		e.last = name
		e.filters = append(e.filters, call)
	}
	return e
}

// arguments parses the arguments of a filter.
func (p *parser) arguments(name string, call *filterCall) {
	for more := p.is(":"); more; more = p.is(",") {
		o := p.operand(0)
		switch {
		case !p.is(":"):
			call.args = append(call.args, o)
		case name == "default" && o.name == "allow_false":
			allow := p.operand(0)
			call.allowFalse = &allow
			p.token.names = slices.DeleteFunc(p.token.names, func(n nameUse) bool { return n.at == p.base+o.at })
		default:
			p.fail(o.at, "gives the filter %s a value with a name, which it does not know", name)
		}
	}
}

// literals are the names that are values.
var literals = map[string]operand{
	"true": {literal: Bool(true)}, "false": {literal: Bool(false)}, "nil": {}, "null": {}, "blank": {blank: true}, "empty": {empty: true},
}

// operand parses a literal or a path. depth is how many indexes are open around it.
func (p *parser) operand(depth int) operand {
	o := operand{at: p.now.at}
	switch text := p.now.text; p.now.kind {
	case textLexeme:
		o.literal = String(text)
	case numberLexeme:
		o.literal = number(text)
	case nameLexeme:
		literal, ok := literals[text]
		if !ok {
			return p.path(depth)
		}
		o = literal
	default:
		p.missing("a value is missing")
	}
	p.next()
	return o
}

func (p *parser) path(depth int) operand {
	o := operand{at: p.now.at, name: p.now.text}
	if depth > maxDepth {
		p.fail(o.at, "has more than %d indexes within each other", maxDepth)
	}
	p.next()
	for p.err == nil {
		if p.is(".") {
			o.path = append(o.path, pathStep{key: p.name("part")})
			continue
		}
		if !p.is("[") {
			break
		}
		inner := p.operand(depth + 1)
		p.expect("]")
		if step := (pathStep{index: &inner}); inner.name == "" && inner.literal.kind == stringKind {
			o.path = append(o.path, pathStep{key: inner.literal.text})
		} else {
			o.path = append(o.path, step)
		}
	}
	if o.name == "contact" {
		if len(o.path) == 0 || o.path[0].index != nil || app.CheckPropertyKey(o.path[0].key, app.MaxPropertyKey) != nil {
			p.fail(o.at, "uses contact without the key of a property, as in contact.first_name")
			return o
		}
		o.contact = "contact." + o.path[0].key
		o.path = o.path[1:]
	}
	p.token.names = append(p.token.names, nameUse{o.name, o.contact, o.path, p.base + o.at})
	return o
}

// condition parses what follows if, elsif and unless.
func (p *parser) condition() (c condition) {
	for {
		part := comparison{left: p.operand(0)}
		if slices.Contains([]string{"==", "!=", "<>", "<", ">", "<=", ">=", "contains"}, p.now.text) && p.now.kind != textLexeme {
			part.operator = p.now.text
			p.next()
			part.right = p.operand(0)
		}
		c.parts = append(c.parts, part)
		and := p.is("and")
		if !and && !p.is("or") {
			return c
		}
		c.ands = append(c.ands, and)
	}
}

// otherTags are tags of Liquid that mail does not have.
var otherTags = []string{"include", "render", "layout", "section", "tablerow", "increment", "decrement", "echo", "liquid", "ifchanged", "extends"}

// tag parses what a tag contains.
func (p *parser) tag() (*tag, error) {
	p.next()
	at := p.now.at
	t := &tag{name: p.name("tag")}
	switch t.name {
	case "if", "elsif", "unless":
		t.cond = p.condition()
	case "case", "when", "cycle":
		p.values(t)
	case "for":
		p.loop(t)
	case "assign":
		p.variable(t)
		p.expect("=")
		at = p.now.at
		if t.expr = p.expression(); t.expr.last == "raw" {
			p.fail(at, "uses raw outside of an output, as in {{ name | raw }}")
		}
	case "capture":
		p.variable(t)
	case "block":
		p.block(t)
	case "else", "endif", "endunless", "endcase", "endfor", "endcapture", "break", "continue", "raw", "comment":
	default:
		if slices.Contains(otherTags, t.name) {
			p.fail(at, "uses the tag %s, which mail does not have", t.name)
		}
		p.fail(at, "uses the tag %s, which does not exist", app.Excerpt(t.name))
	}
	return t, p.end()
}

// values parses the values of case, when and cycle.
func (p *parser) values(t *tag) {
	t.group = strings.TrimSpace(p.source)
	for p.err == nil {
		o := p.operand(0)
		if t.name == "cycle" && len(t.operands) == 0 && p.is(":") {
			if o.name != "" {
				p.fail(o.at, "names a group that is no text, as in {%% cycle \"rows\": \"odd\", \"even\" %%}")
			}
			t.group = fmt.Sprintf("%q", o.literal.plain())
			continue
		}
		t.operands = append(t.operands, o)
		if t.name == "case" || !p.is(",") && (t.name != "when" || !p.is("or")) {
			break
		}
	}
}

// variable parses the name of a variable that the document sets.
func (p *parser) variable(t *tag) {
	at := p.now.at
	t.variable = p.name("variable")
	if _, ok := literals[t.variable]; ok || t.variable == "contact" || t.variable == "forloop" {
		p.fail(at, "sets %s, which has a meaning of its own", t.variable)
	}
}

// loop parses what follows for.
func (p *parser) loop(t *tag) {
	l := &t.loop
	p.variable(t)
	p.expect("in")
	if p.is("(") {
		from := p.operand(0)
		p.expect("..")
		to := p.operand(0)
		p.expect(")")
		l.from, l.to = &from, &to
	} else {
		l.list = p.operand(0)
	}
	for p.now.kind != endLexeme {
		switch {
		case p.is("reversed"):
			l.reversed = true
		case p.is("limit"):
			l.limit = p.option()
		case p.is("offset"):
			l.offset = p.option()
		case !p.is(","):
			p.missing("only limit, offset and reversed can follow")
		}
	}
}

// option parses the value of limit or offset.
func (p *parser) option() *operand {
	p.expect(":")
	o := p.operand(0)
	return &o
}
