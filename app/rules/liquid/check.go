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
		for _, o := range tok.names {
			if key, ok := strings.CutPrefix(o.contact, "contact."); ok {
				keys = append(keys, key)
			}
		}
	})
	slices.Sort(keys)
	return slices.Compact(keys)
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
	for _, use := range tok.names {
		if fault := c.name(use); fault != "" {
			return tok.faultAt(use.at, "%s", fault)
		}
	}
	if tok.Kind == Output && tok.expr.last == "raw" {
		name := tok.expr.first.name
		if c.scope.Names[name] != app.HTMLVariable || c.set[name] || slices.Contains(c.loops, name) {
			return tok.fault("uses raw on %s, which is no variable of the type html", name)
		}
	}
	return nil
}

// name returns the fault of a name; empty: none.
func (c *checker) name(use nameUse) (fault string) {
	kind, known := c.scope.Names[use.name]
	switch {
	case use.contact != "" || c.set[use.name] || slices.Contains(c.loops, use.name):
	case use.name == "forloop":
		if len(c.loops) == 0 {
			return "uses forloop outside of for"
		}
	case !known:
		return "uses " + app.Excerpt(use.name) + ", which is not declared"
	case len(use.path) > 0 && use.path[0].key != "size" && kind != app.ListVariable && kind != app.ObjectVariable:
		return "uses a part of " + use.name + ", which is of the type " + string(kind)
	}
	return ""
}
