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

// queryRule says which query keys a route refuses: those that look as if they changed the answer
// and don't. Other unknown keys are ignored, since clients send some.
type queryRule struct {
	known []string // keys that the route reads, sorted
	rows  []string // fields of the list's rows; none: no list
}

// pageKeys are accepted by every route.
var pageKeys = []string{"limit", "after", "before"}

// newQueryRule reads the rule from a route's input and output types.
func newQueryRule(method string, input, output reflect.Type) (q queryRule) {
	for _, f := range visibleFields(input) {
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

// memberNames returns the JSON names of a struct's fields.
func memberNames(t reflect.Type) (names []string) {
	for _, f := range visibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// check refuses a query. Errors: CodeValidation, naming the key that was probably meant.
func (q queryRule) check(raw string, redundant redundantIDs) error {
	if raw == "" {
		return nil
	}
	values, _ := url.ParseQuery(raw) // unreadable parts are no keys of the API
	for _, key := range slices.Sorted(maps.Keys(values)) {
		_, repeats := redundant[key] // the Ruby client repeats path parameters in the query
		if repeats || slices.Contains(q.known, key) || slices.Contains(pageKeys, key) {
			continue
		}
		if meant := q.suggestion(key); meant != "" {
			return app.Invalid(MemberName(key), "is not a query parameter of this route: use `%s`", meant)
		}
		if slices.Contains(q.rows, key) {
			return app.Invalid(key, "is a field of the rows and no filter of this list, which takes `%s`", strings.Join(q.known, "`, `"))
		}
	}
	return nil
}

// suggestion returns the parameter that was probably meant by key; empty if none.
func (q queryRule) suggestion(key string) string {
	const least = 3 // letters of a meaningful prefix
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

// normalizedKey removes differences in spelling.
func normalizedKey(key string) string {
	text := strings.ToLower(strings.NewReplacer("_", "", "-", "", "[", "", "]", "").Replace(key))
	return strings.Replace(text, "audience", "segment", 1) // Resend's former name
}
