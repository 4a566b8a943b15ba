package liquid

import (
	"slices"
	"strings"

	"mailer/app"
)

// Scope holds the names that a document may use besides "contact.KEY" and the variables that it
// sets itself.
type Scope struct {
	Names map[string]app.PropertyType
}

// htmlType is the type of a variable that raw may output.
const htmlType app.PropertyType = "html"

// Check checks the names of a document against a scope, and that raw is used for variables of the
// type html only. Errors: *Error.
func (t *Template) Check(s Scope) error {
	c := &checker{scope: s, set: map[string]bool{}}
	t.visit(func(tok *Token) {
		if tok.Kind == Tag && (tok.tag.name == "assign" || tok.tag.name == "capture") {
			c.set[tok.tag.variable] = true
		}
	})
	return c.nodes(t.nodes)
}

// visit calls f for each token.
func (t *Template) visit(f func(tok *Token)) {
	for i := range t.tokens {
		f(&t.tokens[i])
	}
}

// ContactKeys returns the keys of the contact that the document reads, sorted.
func (t *Template) ContactKeys() []string {
	var keys []string
	t.visit(func(tok *Token) {
		for o := range tok.operands {
			if key, ok := strings.CutPrefix(o.contact, "contact."); ok {
				keys = append(keys, key)
			}
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys)
}

// operands yields all operands of a token.
func (t *Token) operands(yield func(o *operand) bool) {
	var all func(list []operand) bool
	one := func(o *operand) bool {
		if o == nil {
			return true
		}
		if !yield(o) {
			return false
		}
		for _, step := range o.path {
			if step.index != nil && !all([]operand{*step.index}) {
				return false
			}
		}
		return true
	}
	all = func(list []operand) bool {
		for i := range list {
			if !one(&list[i]) {
				return false
			}
		}
		return true
	}
	expression := func(e *expression) bool {
		if !one(&e.first) {
			return false
		}
		for _, f := range e.filters {
			if !all(f.args) || !one(f.allowFalse) {
				return false
			}
		}
		return true
	}
	switch {
	case t.Kind == Output:
		expression(t.expr)
	case t.Kind == Tag:
		g := t.tag
		for i := range g.cond.parts {
			if !one(&g.cond.parts[i].left) || !one(&g.cond.parts[i].right) {
				return
			}
		}
		_ = expression(&g.expr) && all(g.operands) && one(&g.loop.list) && one(g.loop.from) && one(g.loop.to) && one(g.loop.limit) && one(g.loop.offset)
	}
}

type checker struct {
	scope Scope
	set   map[string]bool // variables that assign and capture set
	loops []string        // variables of the loops that are open
}

func (c *checker) nodes(list []node) error {
	for _, n := range list {
		if err := c.token(n.tok); err != nil {
			return err
		}
		for i, b := range n.branches {
			if b.tok != n.tok {
				if err := c.token(b.tok); err != nil {
					return err
				}
			}
			loop := n.tok.tag.name == "for" && i == 0
			if loop {
				c.loops = append(c.loops, n.tok.tag.variable)
			}
			if err := c.nodes(b.body); err != nil {
				return err
			}
			if loop {
				c.loops = c.loops[:len(c.loops)-1]
			}
		}
	}
	return nil
}

// token checks the names of a token.
func (c *checker) token(tok *Token) error {
	for o := range tok.operands {
		if err := c.operand(tok, o); err != nil {
			return err
		}
	}
	if tok.Kind == Output && tok.expr.last == "raw" {
		name := tok.expr.first.name
		if c.scope.Names[name] != htmlType || c.set[name] || slices.Contains(c.loops, name) {
			return tok.fault("uses raw on %s, which is no variable of the type html", name)
		}
	}
	return nil
}

func (c *checker) operand(tok *Token, o *operand) error {
	switch {
	case o.name == "" || o.contact != "" || c.set[o.name] || slices.Contains(c.loops, o.name):
		return nil
	case o.name == "forloop":
		if len(c.loops) == 0 {
			return tok.fault("uses forloop outside of for")
		}
		return nil
	}
	kind, known := c.scope.Names[o.name]
	switch {
	case !known:
		return tok.fault("uses %s, which is not declared", app.Excerpt(o.name))
	case len(o.path) > 0 && o.path[0].key != "size" && kind != "list" && kind != "object":
		return tok.fault("uses a part of %s, which is a %s", o.name, kind)
	}
	return nil
}
