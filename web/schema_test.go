package web

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"mailer/web/rest/openapi"
)

// misfits describes what of a value that was decoded from JSON does not fit a schema. at is the
// place of the value.
func misfits(r *openapi.Registry, s *openapi.Schema, v any, at string) (out []string) {
	if s.Ref != "" {
		return misfits(r, r.Lookup(s.Ref), v, at)
	}
	fitting := func(choices []*openapi.Schema) (n int) {
		for _, choice := range choices {
			if len(misfits(r, choice, v, at)) == 0 {
				n++
			}
		}
		return n
	}
	if n := fitting(s.AnyOf); n == 0 && s.AnyOf != nil {
		out = append(out, at+" fits none of the schemas")
	}
	if n := fitting(s.OneOf); n != 1 && s.OneOf != nil {
		out = append(out, fmt.Sprintf("%s fits %d of the schemas, not one", at, n))
	}
	if v == nil && s.Nullable {
		return out
	}
	if s.Enum != nil && !slices.Contains(s.Enum, v) {
		out = append(out, fmt.Sprintf("%s is %v, none of %v", at, v, s.Enum))
	}
	wrong := false
	switch v := v.(type) {
	case nil:
		wrong = s.Type != "" && s.Type != openapi.TypeNull
	case bool:
		wrong = s.Type != "" && s.Type != openapi.TypeBoolean
	case float64:
		wrong = !slices.Contains([]string{"", openapi.TypeNumber, openapi.TypeInteger}, s.Type) || s.Type == openapi.TypeInteger && v != math.Trunc(v) ||
			s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum
	case string:
		wrong = s.Type != "" && s.Type != openapi.TypeString || !textFits(s, v)
	case []any:
		wrong = s.Type != "" && s.Type != openapi.TypeArray || !lengthFits(len(v), s.MinItems, s.MaxItems)
		for i := 0; s.Items != nil && i < len(v); i++ {
			out = append(out, misfits(r, s.Items, v[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		wrong = s.Type != "" && s.Type != openapi.TypeObject || !lengthFits(len(v), nil, s.MaxProperties)
		out = append(out, memberMisfits(r, s, v, at)...)
	}
	if wrong {
		out = append(out, fmt.Sprintf("%s is %v", at, v))
	}
	return out
}

func memberMisfits(r *openapi.Registry, s *openapi.Schema, object map[string]any, at string) (out []string) {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			out = append(out, at+"."+name+" is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		member := s.Properties[name]
		if other, ok := s.AdditionalProperties.(*openapi.Schema); ok && member == nil {
			member = other
		}
		switch {
		case member != nil:
			out = append(out, misfits(r, member, object[name], at+"."+name)...)
		case s.AdditionalProperties == false:
			out = append(out, at+"."+name+" is too much")
		}
	}
	return out
}

func lengthFits(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

func textFits(s *openapi.Schema, text string) bool {
	if !lengthFits(utf8.RuneCountInString(text), s.MinLength, s.MaxLength) {
		return false
	}
	if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text) {
		return false
	}
	var err error
	switch s.Format {
	case "":
	case "date-time":
		_, err = time.Parse(time.RFC3339Nano, text)
	case "uuid":
		err = uuid.Validate(text)
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && !u.IsAbs() {
			return false
		}
	default:
		return false // a format that this check does not know
	}
	if s.ContentEncoding == "base64" && err == nil {
		_, err = base64.StdEncoding.DecodeString(text)
	}
	return err == nil
}

func TestMisfits(t *testing.T) {
	t.Parallel()
	r := openapi.NewRegistry()
	named := r.Add("Named", &openapi.Schema{
		Type: "object", AdditionalProperties: false, Required: []string{"a"},
		Properties: map[string]*openapi.Schema{"a": {Type: "integer", Minimum: new(1.0), Maximum: new(9.0)}, "b": {Type: "string", Nullable: true}},
	})
	text, list := func(s openapi.Schema) *openapi.Schema { s.Type = "string"; return &s }, []any{"x", "y"}
	for name, tt := range map[string]struct {
		schema *openapi.Schema
		good   []any
		bad    []any
	}{
		"anything":   {&openapi.Schema{}, []any{nil, true, 1.5, "x", list, map[string]any{"x": nil}}, nil},
		"boolean":    {&openapi.Schema{Type: "boolean"}, []any{true, false}, []any{nil, "true", 1.0}},
		"integer":    {&openapi.Schema{Type: "integer"}, []any{0.0, -2.0}, []any{nil, 1.5, "1", true}},
		"number":     {&openapi.Schema{Type: "number"}, []any{0.0, 1.5}, []any{nil, "1", list}},
		"nullable":   {text(openapi.Schema{Nullable: true, Enum: []any{"x"}}), []any{nil, "x"}, []any{"y", 1.0}},
		"length":     {text(openapi.Schema{MinLength: new(2), MaxLength: new(3)}), []any{"éé", "éée"}, []any{"x", "éé12"}},
		"pattern":    {text(openapi.Schema{Pattern: "^a+$"}), []any{"aa"}, []any{"", "ab"}},
		"time":       {text(openapi.Schema{Format: "date-time"}), []any{"2026-01-31T12:00:00.000Z"}, []any{"", "2026-01-31"}},
		"uuid":       {text(openapi.Schema{Format: "uuid"}), []any{"01912345-1234-7123-8123-123456789012"}, []any{"", "1"}},
		"uri":        {text(openapi.Schema{Format: "uri"}), []any{"https://example.com/a"}, []any{"", "/a", "http://%"}},
		"base64":     {text(openapi.Schema{ContentEncoding: "base64"}), []any{"", "YQ=="}, []any{"Y", "-_-_"}},
		"new format": {text(openapi.Schema{Format: "shape"}), nil, []any{"x"}},
		"array":      {&openapi.Schema{Type: "array", Items: text(openapi.Schema{}), MinItems: new(1), MaxItems: new(2)}, []any{list, list[:1]}, []any{nil, "x", []any{}, []any{1.0}, append(list, "z")}},
		"object":     {named, []any{map[string]any{"a": 1.0}, map[string]any{"a": 9.0, "b": nil}}, []any{nil, list, map[string]any{}, map[string]any{"a": 0.0}, map[string]any{"a": 10.0}, map[string]any{"a": 1.0, "A": 1.0}, map[string]any{"a": nil}}},
		"map": {&openapi.Schema{Type: "object", AdditionalProperties: named, MaxProperties: new(1)},
			[]any{map[string]any{}, map[string]any{"x": map[string]any{"a": 1.0}}}, []any{map[string]any{"x": 1.0}, map[string]any{"x": map[string]any{"a": 1.0}, "y": map[string]any{"a": 1.0}}}},
		"any of": {&openapi.Schema{AnyOf: []*openapi.Schema{named, {Type: "null"}}}, []any{nil, map[string]any{"a": 1.0}}, []any{"x"}},
		"one of": {&openapi.Schema{OneOf: []*openapi.Schema{{Type: "number"}, {Type: "integer"}}}, []any{1.5}, []any{1.0, "x"}},
	} {
		for _, v := range tt.good {
			if found := misfits(r, tt.schema, v, "it"); len(found) > 0 {
				t.Errorf("%s: %v is refused: %s", name, v, strings.Join(found, "; "))
			}
		}
		for _, v := range tt.bad {
			if len(misfits(r, tt.schema, v, "it")) == 0 {
				t.Errorf("%s: %v fits", name, v)
			}
		}
	}
}
