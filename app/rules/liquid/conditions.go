package liquid

import "strings"

// condition evaluates a condition from the right.
func (r *run) condition(c *condition) bool {
	last := len(c.parts) - 1
	is := r.comparison(&c.parts[last])
	for i := last - 1; i >= 0 && r.err == nil; i-- {
		if part := r.comparison(&c.parts[i]); c.ands[i] {
			is = part && is
		} else {
			is = part || is
		}
	}
	return is
}

func (r *run) comparison(c *comparison) bool {
	if c.operator == "" {
		return c.left.blank || c.left.empty || r.operand(&c.left, false).isTrue()
	}
	left := r.operand(&c.left, false)
	switch c.operator {
	case "==", "!=", "<>":
		if c.left.blank || c.left.empty {
			return r.equals(r.operand(&c.right, false), &c.left) == (c.operator == "==")
		}
		return r.equals(left, &c.right) == (c.operator == "==")
	case "contains":
		return r.contains(left, r.operand(&c.right, false))
	}
	right := r.operand(&c.right, false)
	n, ok := compare(left, right)
	if !ok || !r.spend(min(left.weight(), right.weight())) {
		return false
	}
	switch c.operator {
	case "<":
		return n < 0
	case "<=":
		return n <= 0
	case ">":
		return n > 0
	}
	return n >= 0
}

// equals compares a value with an operand, which may be blank or empty.
func (r *run) equals(v Value, o *operand) bool {
	switch {
	case o.blank:
		return r.spend(v.weight()) && v.isBlank()
	case o.empty:
		return v.isEmpty()
	}
	return r.same(v, r.operand(o, false))
}

// same reports whether two values are equal.
func (r *run) same(a, b Value) bool {
	if !r.spend(1 + min(a.weight(), b.weight())) {
		return false
	}
	if c, ok := compare(a, b); ok {
		return c == 0
	}
	if a.kind != b.kind {
		return false
	}
	if a.list == nil || a.list == b.list {
		return a.bits == b.bits
	}
	if len(a.list.values) != len(b.list.values) {
		return false
	}
	for i, v := range a.list.values {
		other := b.list.values[i]
		if a.kind == objectKind {
			at, ok := b.list.index[a.list.keys[i]]
			if !ok {
				return false
			}
			other = b.list.values[at]
		}
		if !r.same(v, other) {
			return false
		}
	}
	return true
}

func (r *run) contains(v, part Value) bool {
	if !r.spend(v.weight()+part.weight()) || part.kind == nilKind {
		return false
	}
	switch v.kind {
	case stringKind:
		return strings.Contains(v.text, r.string(part))
	case objectKind:
		_, ok := v.list.index[part.text]
		return ok && part.kind == stringKind
	}
	for _, item := range v.items() {
		if r.same(item, part) {
			return true
		}
	}
	return false
}
