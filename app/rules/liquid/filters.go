package liquid

import (
	"fmt"
	"html"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"

	"mailer/app/kit/htmltext"
)

// filter is a filter of the language.
type filter struct {
	min, max int // number of arguments
	// apply returns the filtered value; nil: the value stays. The steps of reading the values were
	// counted; apply counts those of a longer result before it is made.
	apply     func(r *run, v Value, args []Value) Value
	isDefault bool
}

// maxArguments is the largest number of arguments of a filter.
const maxArguments = 3

// takes returns the number of arguments in words.
func (f *filter) takes() string {
	if f.min == f.max {
		return fmt.Sprint(f.min)
	}
	return fmt.Sprintf("%d to %d", f.min, f.max)
}

// filters are the filters by name. Values are escaped where they are written, so that escape has
// nothing left to do; newline_to_br and raw are applied there too.
var filters = map[string]*filter{
	"default": {min: 1, max: 1, isDefault: true}, "escape": {}, "newline_to_br": {}, "raw": {},

	"upcase": textFilter(strings.ToUpper), "downcase": textFilter(strings.ToLower), "capitalize": textFilter(capitalize),
	"strip":          textFilter(strings.TrimSpace),
	"lstrip":         textFilter(func(s string) string { return strings.TrimLeftFunc(s, unicode.IsSpace) }),
	"rstrip":         textFilter(func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }),
	"strip_newlines": textFilter(func(s string) string { return strings.NewReplacer("\r", "", "\n", "").Replace(s) }),
	"strip_html":     textFilter(stripHTML), "escape_once": textFilter(html.UnescapeString),
	"url_encode": textFilter(url.QueryEscape), "url_decode": textFilter(decodeURL),

	"append":  {1, 1, func(r *run, v Value, args []Value) Value { return r.concatenated(r.string(v), r.string(args[0])) }, false},
	"prepend": {1, 1, func(r *run, v Value, args []Value) Value { return r.concatenated(r.string(args[0]), r.string(v)) }, false},
	"replace": {1, 2, replaceFilter(-1), false}, "replace_first": {1, 2, replaceFilter(1), false},
	"remove": {1, 1, replaceFilter(-1), false}, "remove_first": {1, 1, replaceFilter(1), false},
	"truncate": {0, 2, truncate, false}, "truncatewords": {0, 2, truncateWords, false},
	"slice": {1, 2, slice, false}, "split": {1, 1, split, false},

	"abs":   numberFilter(absolute),
	"ceil":  {0, 0, func(_ *run, v Value, _ []Value) Value { return rounded(toNumber(v), 0, up) }, false},
	"floor": {0, 0, func(_ *run, v Value, _ []Value) Value { return rounded(toNumber(v), 0, down) }, false},
	"round": {0, 1, func(_ *run, v Value, args []Value) Value { return rounded(toNumber(v), digits(args), nearest) }, false},
	"plus":  calculation(add), "minus": calculation(subtract), "times": calculation(multiply),
	"divided_by": calculation(divide), "modulo": calculation(modulo),
	"at_least": calculation(func(a, b Value) Value { return extreme(a, b, 1) }),
	"at_most":  calculation(func(a, b Value) Value { return extreme(a, b, -1) }),
	"number":   {0, 3, formatNumber, false}, "date": {1, 1, date, false},

	"size": {0, 0, func(_ *run, v Value, _ []Value) Value {
		n, _ := v.size()
		return integer(int64(n))
	}, false},
	"first": {0, 0, func(_ *run, v Value, _ []Value) Value { return v.member("first") }, false},
	"last":  {0, 0, func(_ *run, v Value, _ []Value) Value { return v.member("last") }, false},
	"join":  {0, 1, join, false}, "concat": {1, 1, concat, false}, "reverse": {0, 0, reverse, false},
	"sort": {0, 1, sortFilter(false), false}, "sort_natural": {0, 1, sortFilter(true), false},
	"uniq": {0, 1, uniq, false}, "compact": {0, 1, compactList, false}, "map": {1, 1, mapList, false},
	"where": {1, 2, where, false}, "sum": {0, 1, sum, false},
}

// textFilter is a filter of a text whose result is at most 3 times as long.
func textFilter(f func(s string) string) *filter {
	return &filter{apply: func(r *run, v Value, _ []Value) Value { return r.made(f(r.string(v))) }}
}

// made returns a string that a filter made.
func (r *run) made(s string) Value {
	if !r.fits(len(s)) {
		return Value{}
	}
	return String(s)
}

func (r *run) concatenated(a, b string) Value {
	if !r.fits(len(a) + len(b)) {
		return Value{}
	}
	return String(a + b)
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
}

// stripHTML returns the text of HTML.
func stripHTML(s string) string {
	var b strings.Builder
	for z := htmltext.NewTokens(s); ; {
		switch z.Next() {
		case nethtml.ErrorToken:
			return b.String()
		case nethtml.TextToken:
			if !htmltext.IsSkipped(z.Element) {
				b.WriteString(z.Text())
			}
		}
	}
}

func decodeURL(s string) string {
	decoded, err := url.QueryUnescape(s)
	if err != nil {
		return s
	}
	return strings.ToValidUTF8(decoded, "\uFFFD")
}

// replaceFilter replaces the first n occurrences of a text; -1: all.
func replaceFilter(n int) func(r *run, v Value, args []Value) Value {
	return func(r *run, v Value, args []Value) Value {
		s, old, by := r.string(v), r.string(args[0]), ""
		if len(args) > 1 {
			by = r.string(args[1])
		}
		found := 1
		if n < 0 {
			found = strings.Count(s, old)
		}
		if !r.fits(len(s) + found*max(0, len(by)-len(old))) {
			return Value{}
		}
		return String(strings.Replace(s, old, by, n))
	}
}

// argument returns the whole number of an argument, or another one without the argument.
func argument(args []Value, i, other int) int {
	if i >= len(args) {
		return other
	}
	return wholeNumber(args[i])
}

// mark returns the text that a filter puts after what it cuts.
func (r *run) mark(args []Value) string {
	if len(args) < 2 {
		return "..."
	}
	return r.string(args[1])
}

func truncate(r *run, v Value, args []Value) Value {
	s, mark := []rune(r.string(v)), r.mark(args)
	limit := argument(args, 0, 50)
	if len(s) <= max(limit, 0) {
		return String(string(s))
	}
	kept := max(0, limit-utf8.RuneCountInString(mark))
	return r.concatenated(string(s[:kept]), mark)
}

func truncateWords(r *run, v Value, args []Value) Value {
	s, mark := r.string(v), r.mark(args)
	words := strings.Fields(s)
	limit := max(1, argument(args, 0, 15))
	if len(words) <= limit {
		return String(s)
	}
	return r.concatenated(strings.Join(words[:limit], " "), mark)
}

// slice returns the part of a string or list from an offset; a negative one counts from the end.
func slice(r *run, v Value, args []Value) Value {
	from, n := argument(args, 0, 0), max(0, argument(args, 1, 1))
	bounds := func(length int) (int, int) {
		if from < 0 {
			from += length
		}
		if from < 0 || from > length {
			return 0, 0
		}
		return from, from + min(n, length-from)
	}
	if v.kind == listKind {
		begin, end := bounds(len(v.list.values))
		return listOf(v.list.values[begin:end])
	}
	s := []rune(r.string(v))
	begin, end := bounds(len(s))
	return String(string(s[begin:end]))
}

func split(r *run, v Value, args []Value) Value {
	s, separator := r.string(v), r.string(args[0])
	var parts []string
	switch {
	case s == "":
	case separator == " ":
		if r.spend(len(s) / 2) {
			parts = strings.Fields(s)
		}
	case r.spend(strings.Count(s, separator)):
		parts = strings.Split(s, separator)
	}
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	values := make([]Value, len(parts))
	for i, part := range parts {
		values[i] = String(part)
	}
	return listOf(values)
}
