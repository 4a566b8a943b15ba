package liquid

import (
	"html"
	"strings"
)

// Run evaluates the document with the values of env, and gives its output to sink. Errors:
// ErrLimit.
func (t *Template) Run(env *Env, sink Sink) error {
	r := &run{env: env, sink: sink}
	r.nodes(t.nodes)
	return r.err
}

// run is the state of one run.
type run struct {
	env        *Env
	sink       Sink
	err        error // ErrLimit once a bound is passed
	steps      int
	iterations int
	written    int // bytes
	jump       jump
	capture    *capture // nil: the output goes to sink
	loops      []loopState
	set        map[string]Value // variables
	cycles     map[string]int
	args       [maxArguments]Value // of the filter that is applied
}

// jump is what break and continue leave the loop for.
type jump uint8

const (
	noJump jump = iota
	breakJump
	continueJump
)

// loopState is one loop that is open.
type loopState struct {
	variable string
	value    Value
	index    int // from 0
	length   int
}

// capture collects the output of a capture.
type capture struct {
	text   strings.Builder
	isHTML bool // the fixed text is HTML
}

// spend counts steps, and reports whether the run may go on.
func (r *run) spend(steps int) bool {
	if r.err == nil {
		if r.steps += steps; r.steps > maxSteps {
			r.err = ErrLimit
		}
	}
	return r.err == nil
}

// unit is how many bytes count as one step.
const unit = 64

// fits reports whether a string may have a length. The bytes count as steps.
func (r *run) fits(bytes int) bool {
	if bytes > maxString {
		r.err = ErrLimit
	}
	return r.spend(bytes / unit)
}

func (r *run) nodes(list []node) {
	for i := range list {
		if !r.spend(1) || r.jump != noJump {
			return
		}
		r.node(&list[i])
	}
}

func (r *run) node(n *node) {
	switch n.tok.Kind {
	case Text:
		r.text(n.tok)
	case Output:
		r.write(n.tok, r.expression(n.tok.expr, n.tok))
	case Placeholder:
		r.sink.Placeholder(n.tok)
	case Leaf:
		r.sink.Leaf(n.tok)
	case Tag:
		r.tag(n)
	}
}

func (r *run) text(tok *Token) {
	switch c := r.capture; {
	case c == nil:
		if r.count(len(tok.Text)) {
			r.sink.Text(tok)
		}
	case c.isHTML:
		r.captured(html.UnescapeString(tok.Text))
	default:
		r.captured(tok.Text)
	}
}

// count counts bytes of the output, and reports whether they may be written.
func (r *run) count(bytes int) bool {
	if r.written += bytes; r.written > maxOutput {
		r.err = ErrLimit
	}
	return r.err == nil
}

// captured adds text to the capture.
func (r *run) captured(s string) {
	if b := &r.capture.text; r.fits(b.Len() + len(s)) {
		b.WriteString(s)
	}
}

// write writes the value of an output or of a cycle.
func (r *run) write(tok *Token, v Value) {
	text := r.string(v)
	if r.err != nil {
		return
	}
	if r.capture != nil {
		r.captured(text)
		return
	}
	last := ""
	if tok.expr != nil {
		last = tok.expr.last
	}
	escaped, ok := tok.Context.escape(clean(text), last)
	if !ok && r.env.Removed != nil {
		r.env.Removed(tok)
	}
	if r.count(len(escaped)) {
		r.sink.Value(tok, escaped)
	}
}

// string returns the text of a value. The values of a list follow one another.
func (r *run) string(v Value) string {
	s := ""
	if v.kind == listKind {
		s = r.join(v, "")
	} else {
		s = v.plain()
	}
	if !r.fits(len(s)) {
		return ""
	}
	return s
}

// join returns the texts of the values of a list with a separator between them.
func (r *run) join(v Value, separator string) string {
	var b strings.Builder
	for i, item := range v.items() {
		if i > 0 {
			b.WriteString(separator)
		}
		if item.kind == listKind {
			b.WriteString(r.join(item, separator))
		} else {
			b.WriteString(item.plain())
		}
		if !r.spend(1) || b.Len() > maxString {
			r.err = ErrLimit
			return ""
		}
	}
	return b.String()
}

func (r *run) tag(n *node) {
	t := n.tok.tag
	switch t.name {
	case "if", "unless":
		r.branch(n, func(i int, b *tag) bool { return r.condition(&b.cond) != (i == 0 && t.name == "unless") })
	case "case":
		v := r.operand(&t.operands[0], false)
		r.branch(n, func(_ int, b *tag) bool {
			for i := range b.operands {
				if r.equals(v, &b.operands[i]) {
					return true
				}
			}
			return false
		})
	case "for":
		r.loop(n)
	case "assign":
		r.setVariable(t.variable, r.expression(&t.expr, nil))
	case "capture":
		outer := r.capture
		r.capture = &capture{isHTML: !n.tok.Context.IsPlain()}
		r.nodes(n.branches[0].body)
		r.setVariable(t.variable, String(r.capture.text.String()))
		r.capture = outer
	case "cycle":
		if r.cycles == nil {
			r.cycles = map[string]int{}
		}
		at := r.cycles[t.group]
		r.cycles[t.group] = at + 1
		r.write(n.tok, r.operand(&t.operands[at%len(t.operands)], true))
	case "break":
		r.jump = breakJump
	case "continue":
		r.jump = continueJump
	}
}

// branch runs the first branch that fits; else always does.
func (r *run) branch(n *node, fits func(i int, t *tag) bool) {
	for i := range n.branches {
		b := &n.branches[i]
		if !r.spend(1) {
			return
		}
		if b.tok.tag.name == "else" || fits(i, b.tok.tag) {
			r.nodes(b.body)
			return
		}
	}
}

func (r *run) setVariable(name string, v Value) {
	if r.set == nil {
		r.set = map[string]Value{}
	}
	r.set[name] = v
}

// loop runs a for.
func (r *run) loop(n *node) {
	l := &n.tok.tag.loop
	item, length := r.items(l)
	if offset := r.whole(l.offset); l.offset != nil {
		offset = min(max(offset, 0), length)
		all := item
		item, length = func(i int) Value { return all(i + offset) }, length-offset
	}
	if limit := r.whole(l.limit); l.limit != nil {
		length = min(max(limit, 0), length)
	}
	if length == 0 {
		if len(n.branches) > 1 {
			r.nodes(n.branches[1].body)
		}
		return
	}
	r.loops = append(r.loops, loopState{variable: n.tok.tag.variable, length: length})
	open := len(r.loops) - 1
	for i := 0; i < length && r.err == nil && r.jump != breakJump; i++ {
		if r.iterations++; r.iterations > maxIterations {
			r.err = ErrLimit
		}
		at := i
		if l.reversed {
			at = length - 1 - i
		}
		r.jump = noJump
		r.loops[open].value, r.loops[open].index = item(at), i
		r.nodes(n.branches[0].body)
	}
	r.jump = noJump
	r.loops = r.loops[:open]
}

// items returns what a loop runs through. Ranges are not expanded.
func (r *run) items(l *loop) (item func(i int) Value, length int) {
	if l.from != nil {
		from, to := r.whole(l.from), r.whole(l.to)
		return func(i int) Value { return integer(int64(from + i)) }, max(0, to-from+1)
	}
	v := r.operand(&l.list, false)
	switch v.kind {
	case listKind:
		return func(i int) Value { return v.list.values[i] }, len(v.list.values)
	case objectKind:
		return func(i int) Value { return listOf([]Value{String(v.list.keys[i]), v.list.values[i]}) }, len(v.list.keys)
	case stringKind:
		if v.text != "" {
			return func(int) Value { return v }, 1
		}
	}
	return nil, 0
}

// whole returns the whole number of an operand; nil or another value: 0.
func (r *run) whole(o *operand) int {
	if o == nil {
		return 0
	}
	return wholeNumber(r.operand(o, false))
}

// operand returns the value of an operand. report is whether a missing value of the contact is
// reported.
func (r *run) operand(o *operand, report bool) Value {
	if !r.spend(1) || o.name == "" {
		return o.literal
	}
	if o.name == "forloop" {
		return r.forloop(o.path)
	}
	v := r.named(o)
	for i := range o.path {
		step := &o.path[i]
		if !r.spend(1) {
			return Value{}
		}
		if step.index != nil {
			v = v.at(r.operand(step.index, report))
		} else if r.spend(len(v.text) / unit) {
			v = v.member(step.key)
		}
	}
	if report && o.contact != "" && r.env.Missing != nil && (v.kind == nilKind || v.isEmpty()) {
		v = r.env.Missing(o.contact)
	}
	return v
}

// named returns the value of the first name of a path.
func (r *run) named(o *operand) Value {
	if o.contact != "" {
		v, _ := r.env.Lookup(o.contact)
		return v
	}
	for i := len(r.loops) - 1; i >= 0; i-- {
		if r.loops[i].variable == o.name {
			return r.loops[i].value
		}
	}
	if v, ok := r.set[o.name]; ok {
		return v
	}
	v, _ := r.env.Lookup(o.name)
	return v
}

// forloop returns the part of forloop that a path names: of the innermost loop, or of those around
// it with parentloop.
func (r *run) forloop(path []pathStep) Value {
	at := len(r.loops) - 1
	for len(path) > 1 && path[0].key == "parentloop" {
		at, path = at-1, path[1:]
	}
	if at < 0 || len(path) != 1 {
		return Value{}
	}
	l := &r.loops[at]
	switch path[0].key {
	case "index":
		return integer(int64(l.index + 1))
	case "index0":
		return integer(int64(l.index))
	case "rindex":
		return integer(int64(l.length - l.index))
	case "rindex0":
		return integer(int64(l.length - l.index - 1))
	case "first":
		return Bool(l.index == 0)
	case "last":
		return Bool(l.index == l.length-1)
	case "length":
		return integer(int64(l.length))
	}
	return Value{}
}

// expression returns the value of an expression. output is its token if it is written: then missing
// values of the contact are reported, except for one that a default replaces.
func (r *run) expression(e *expression, output *Token) Value {
	if e.last == "raw" { // never a variable of the document with the same name
		v, _ := r.env.Lookup(e.first.name)
		return v
	}
	report, list := output != nil, e.filters
	if report && e.last == "url_encode" && output.Context.isAddress() {
		list = list[:len(list)-1] // the context encodes it
	}
	v := r.operand(&e.first, report && e.lastDefault < 0)
	for i := range list {
		if r.err != nil {
			return Value{}
		}
		f := &list[i]
		report := report && e.lastDefault <= i
		if f.apply == nil {
			if f.isDefault && r.replaces(v, f) {
				v = r.operand(&f.args[0], report)
			}
			continue
		}
		for n := range f.args {
			r.args[n] = r.operand(&f.args[n], report)
			r.spend(r.args[n].weight())
		}
		if r.spend(1 + v.weight()) {
			v = f.apply(r, v, r.args[:len(f.args)])
		}
	}
	return v
}

// weight returns the steps of reading a value.
func (v Value) weight() int {
	switch v.kind {
	case stringKind:
		return len(v.text) / unit
	case listKind, objectKind:
		return len(v.list.values)
	}
	return 0
}

// replaces reports whether a default replaces a value.
func (r *run) replaces(v Value, f *filterCall) bool {
	if v.kind == boolKind && f.allowFalse != nil && r.operand(f.allowFalse, false).isTrue() {
		return false
	}
	return !v.isTrue() || v.isEmpty()
}
