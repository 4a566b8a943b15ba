package liquid

import (
	"math/bits"
	"slices"
	"strings"
)

func join(r *run, v Value, args []Value) Value {
	separator := " "
	if len(args) > 0 {
		separator = r.string(args[0])
	}
	if v.kind != listKind {
		return v
	}
	return r.made(r.join(v, separator))
}

// listed returns the values of a list; another value is a list of itself, nil an empty one.
func listed(v Value) []Value {
	switch v.kind {
	case nilKind:
		return nil
	case listKind:
		return v.list.values
	}
	return []Value{v}
}

func concat(_ *run, v Value, args []Value) Value {
	return listOf(slices.Concat(listed(v), listed(args[0])))
}

func reverse(_ *run, v Value, _ []Value) Value {
	if v.kind != listKind {
		return v
	}
	values := slices.Clone(v.list.values)
	slices.Reverse(values)
	return listOf(values)
}

// keyed returns the value of a key that an optional argument names, or the value itself.
func keyed(v Value, args []Value) Value {
	if len(args) == 0 {
		return v
	}
	return v.member(args[0].plain())
}

// sortFilter sorts numbers before strings before other values, and values without the key last.
func sortFilter(natural bool) func(r *run, v Value, args []Value) Value {
	return func(r *run, v Value, args []Value) Value {
		values := slices.Clone(listed(v))
		if !r.spend(len(values) * bits.Len(uint(len(values)))) {
			return Value{}
		}
		slices.SortStableFunc(values, func(a, b Value) int {
			a, b = keyed(a, args), keyed(b, args)
			if !r.spend((len(a.text) + len(b.text)) / unit) {
				return 0
			}
			if natural && a.kind == stringKind && b.kind == stringKind {
				return strings.Compare(strings.ToLower(a.text), strings.ToLower(b.text))
			}
			if c, ok := compare(a, b); ok {
				return c
			}
			return rank(a) - rank(b)
		})
		return listOf(values)
	}
}

// rank orders values of different kinds.
func rank(v Value) int {
	switch {
	case v.isNumber():
		return 0
	case v.kind == stringKind:
		return 1
	case v.kind != nilKind:
		return 2
	}
	return 3
}

func uniq(r *run, v Value, args []Value) Value {
	var out, seen []Value
	texts := map[string]bool{}
	for _, item := range listed(v) {
		key := keyed(item, args)
		if !r.spend(1 + key.weight()) {
			break
		}
		if key.kind == stringKind {
			if texts[key.text] {
				continue
			}
			texts[key.text] = true
		} else if slices.ContainsFunc(seen, func(s Value) bool { return r.same(s, key) }) {
			continue
		} else {
			seen = append(seen, key)
		}
		out = append(out, item)
	}
	return listOf(out)
}

func compactList(_ *run, v Value, args []Value) Value {
	return listOf(slices.DeleteFunc(slices.Clone(listed(v)), func(item Value) bool { return keyed(item, args).kind == nilKind }))
}

func mapList(_ *run, v Value, args []Value) Value {
	var out []Value
	for _, item := range listed(v) {
		out = append(out, keyed(item, args))
	}
	return listOf(out)
}

// where keeps the objects whose key has a value, or a true one.
func where(r *run, v Value, args []Value) Value {
	var out []Value
	for _, item := range listed(v) {
		if is := keyed(item, args[:1]); len(args) > 1 && r.same(is, args[1]) || len(args) == 1 && is.isTrue() {
			out = append(out, item)
		}
	}
	return listOf(out)
}

func sum(_ *run, v Value, args []Value) Value {
	total := integer(0)
	for _, item := range listed(v) {
		total = add(total, toNumber(keyed(item, args)))
	}
	return total
}
