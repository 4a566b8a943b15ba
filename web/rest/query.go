package rest

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"mailer/app"
	"mailer/app/kit/nearest"
)

// queryRule says which keys of a query a route refuses: those that look as if they
// changed its answer and change nothing. All others that it does not know are ignored,
// since clients send some.
type queryRule struct {
	known []string // what the route reads, sorted
	rows  []string // the fields of the rows that it answers; none: it is no list
}

// pageKeys are sent to every list and to what is none.
var pageKeys = []string{"limit", "after", "before"}

// newQueryRule reads the rule of a route off its input and its answer.
func newQueryRule(method string, input, output reflect.Type) (q queryRule) {
	for _, f := range reflect.VisibleFields(input) {
		if name := f.Tag.Get("query"); name != "" {
			q.known = append(q.known, name)
		}
	}
	slices.Sort(q.known)
	if _, row := listOf(method, output); row != nil {
		q.rows = memberNames(row)
	}
	return q
}

// memberNames returns the names that the fields of a struct have in JSON.
func memberNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// check refuses a query. Error: CodeValidation naming the key that was meant.
func (q queryRule) check(raw string, beside echoes) error {
	if raw == "" {
		return nil
	}
	values, _ := url.ParseQuery(raw) // what can't be read is no key of ours
	for _, key := range slices.Sorted(maps.Keys(values)) {
		_, repeats := beside[key] // the Ruby client sends what the path says as well
		if repeats || slices.Contains(q.known, key) || slices.Contains(pageKeys, key) {
			continue
		}
		if meant := q.meant(key); meant != "" {
			return app.Invalid(MemberName(key), "is not a query parameter of this route: use `%s`", meant)
		}
		if slices.Contains(q.rows, key) {
			return app.Invalid(key, "is a field of the rows and no filter of this list, which takes `%s`", strings.Join(q.known, "`, `"))
		}
	}
	return nil
}

// meant returns the parameter that somebody who wrote key probably meant; empty: none.
func (q queryRule) meant(key string) string {
	const least = 3 // letters of a beginning that says enough
	word := normalizedKey(key)
	for _, name := range q.known {
		other := normalizedKey(name)
		if len(word) >= least && (strings.HasPrefix(other, word) || strings.HasPrefix(word, other)) {
			return name
		}
	}
	name := nearest.Of(word, q.known)
	slack := 1 + len(word)/6
	if name != "" && len(word) >= least && nearest.Distance(word, normalizedKey(name)) <= slack {
		return name
	}
	return ""
}

// normalizedKey is a key without what spellings differ in.
func normalizedKey(key string) string {
	word := strings.ToLower(strings.NewReplacer("_", "", "-", "", "[", "", "]", "").Replace(key))
	return strings.Replace(word, "audience", "segment", 1) // its old name
}
