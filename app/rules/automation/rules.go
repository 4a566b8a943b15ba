package automation

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// Values are what conditions and variables of a run can name.
type Values struct {
	Contact *app.Contact   // nil: its members are absent
	Event   jsontext.Value // payload of the event: a JSON object; nil: none
	// Received are the payloads of events that steps waited for, by step key: wait_events.KEY.MEMBER.
	Received map[string]jsontext.Value
}

// Lookup returns the value of a field like event.plan, event.order.total or contact.first_name: nil, a
// bool, float64, string, []any or map[string]any. ok is false if it is absent.
func (v *Values) Lookup(field string) (value any, ok bool) {
	space, member, _ := strings.Cut(field, ".")
	switch space {
	case "contact":
		return v.contact(member)
	case "event":
		return memberOf(v.Event, member)
	case "wait_events":
		key, rest, _ := strings.Cut(member, ".")
		return memberOf(v.Received[key], rest)
	}
	return nil, false
}

func (v *Values) contact(member string) (any, bool) {
	c := v.Contact
	if c == nil {
		return nil, false
	}
	switch member {
	case "id":
		return c.ID, true
	case "email":
		return c.Email, true
	case "first_name":
		return c.FirstName, c.FirstName != ""
	case "last_name":
		return c.LastName, c.LastName != ""
	case "unsubscribed":
		return c.Unsubscribed, true
	}
	p, ok := c.Properties[strings.TrimPrefix(member, "properties.")]
	if !ok {
		return nil, false
	}
	if p.Type == app.NumberProperty {
		return p.Number, true
	}
	return p.Text, true
}

// memberOf returns a member of a JSON object; a path with dots leads into objects, unless a member has
// that name itself.
func memberOf(raw jsontext.Value, path string) (any, bool) {
	if raw == nil {
		return nil, false
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, false
	}
	for {
		if value, ok := object[path]; ok {
			return value, true
		}
		first, rest, more := strings.Cut(path, ".")
		inner, ok := object[first].(map[string]any)
		if !more || !ok {
			return nil, false
		}
		object, path = inner, rest
	}
}

// operators are the comparisons of a rule.
var operators = []string{"eq", "neq", "gt", "gte", "lt", "lte", "contains", "starts_with", "ends_with", "exists", "is_empty"}

// check checks a rule; nil is valid.
func (r *Rule) check(field string) error {
	if r == nil {
		return nil
	}
	n := 0
	return r.checkTree(field, 1, &n)
}

func (r *Rule) checkTree(field string, depth int, n *int) error {
	if *n++; *n > app.MaxConditionRules {
		return app.Invalid(field, "is one of more than %d rules", app.MaxConditionRules)
	}
	if depth > app.MaxConditionDepth {
		return app.Invalid(field, "is nested deeper than %d", app.MaxConditionDepth)
	}
	switch r.Type {
	case "rule":
		if r.Rules != nil {
			return app.Invalid(field+".rules", "is for the types and, or")
		}
		return r.checkComparison(field)
	case "and", "or":
		if r.Field != "" || r.Operator != "" || r.Value != nil {
			return app.Invalid(field, "has members of the type rule beside rules")
		}
		if len(r.Rules) == 0 {
			return app.Invalid(field+".rules", "must hold at least one rule")
		}
		for i := range r.Rules {
			if err := r.Rules[i].checkTree(fmt.Sprintf("%s.rules[%d]", field, i), depth+1, n); err != nil {
				return err
			}
		}
		return nil
	case "":
		return app.Invalid(field+".type", "is required")
	}
	return app.Invalid(field+".type", "must be rule, and or or")
}

func (r *Rule) checkComparison(field string) error {
	if r.Field == "" {
		return app.Invalid(field+".field", "is required")
	}
	if err := checkField(field+".field", r.Field); err != nil {
		return err
	}
	if !slices.Contains(operators, r.Operator) {
		return app.Invalid(field+".operator", "must be one of %s", strings.Join(operators, ", "))
	}
	kind := byte(0)
	if r.Value != nil {
		kind = byte(r.Value.Kind())
	}
	switch r.Operator {
	case "exists", "is_empty":
		if kind != 0 {
			return app.Invalid(field+".value", "must be absent with the operator %s", r.Operator)
		}
	case "gt", "gte", "lt", "lte":
		if kind != '0' {
			return app.Invalid(field+".value", "must be a number with the operator %s", r.Operator)
		}
	case "contains", "starts_with", "ends_with":
		if kind != '"' {
			return app.Invalid(field+".value", "must be a string with the operator %s", r.Operator)
		}
	default:
		if kind == 0 || kind == '{' || kind == '[' {
			return app.Invalid(field+".value", "must be a string, a number, true, false or null")
		}
	}
	return nil
}

// Met reports whether the values meet the rule; nil is met. Missing values equal null and meet no other
// comparison.
func (r *Rule) Met(v *Values) bool {
	if r == nil {
		return true
	}
	switch r.Type {
	case "and":
		return !slices.ContainsFunc(r.Rules, func(r Rule) bool { return !r.Met(v) })
	case "or":
		return slices.ContainsFunc(r.Rules, func(r Rule) bool { return r.Met(v) })
	}
	have, found := v.Lookup(r.Field)
	var want any
	if r.Value != nil {
		if err := json.Unmarshal(r.Value, &want); err != nil {
			return false // not possible for a checked rule
		}
	}
	switch r.Operator {
	case "exists":
		return found && have != nil
	case "is_empty":
		return isEmpty(have)
	case "eq":
		return equal(have, want)
	case "neq":
		return !equal(have, want)
	case "contains":
		return contains(have, want)
	case "starts_with", "ends_with":
		text, isText := have.(string)
		part, _ := want.(string)
		if r.Operator == "starts_with" {
			return isText && strings.HasPrefix(text, part)
		}
		return isText && strings.HasSuffix(text, part)
	}
	a, ok := numberOf(have)
	b, _ := want.(float64)
	switch r.Operator {
	case "gt":
		return ok && a > b
	case "gte":
		return ok && a >= b
	case "lt":
		return ok && a < b
	}
	return ok && a <= b
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// equal compares a value with that of a rule. A text that is a number equals the number, since
// properties may hold either.
func equal(have, want any) bool {
	switch w := want.(type) {
	case nil:
		return have == nil
	case string:
		switch h := have.(type) {
		case string:
			return h == w
		case float64:
			n, ok := numberOf(w)
			return ok && n == h
		}
	case float64:
		n, ok := numberOf(have)
		return ok && n == w
	case bool:
		switch h := have.(type) {
		case bool:
			return h == w
		case string:
			return h == strconv.FormatBool(w)
		}
	}
	return false
}

func contains(have, want any) bool {
	part, _ := want.(string)
	switch h := have.(type) {
	case string:
		return strings.Contains(h, part)
	case []any:
		return slices.ContainsFunc(h, func(item any) bool { return equal(item, want) })
	}
	return false
}

// numberOf returns a number, or the number that a text is.
func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, err := strconv.ParseFloat(v, 64)
		return n, err == nil && !math.IsInf(n, 0) && !math.IsNaN(n)
	}
	return 0, false
}
