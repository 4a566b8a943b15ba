package app

import (
	"math"
	"strings"
	"testing"
)

func textFallback(s string) *PropertyValue    { return &PropertyValue{Type: StringProperty, Text: s} }
func numberFallback(f float64) *PropertyValue { return &PropertyValue{Type: NumberProperty, Number: f} }

func TestPropertyInputNamesInvalidField(t *testing.T) {
	for _, c := range []struct {
		in    PropertyInput
		words string // empty: valid
	}{
		{PropertyInput{Key: "aZ_09", Type: StringProperty}, ""},
		{PropertyInput{Key: strings.Repeat("k", 200), Type: NumberProperty, Fallback: numberFallback(0)}, ""},
		{PropertyInput{Key: "k", Type: StringProperty, Fallback: textFallback(strings.Repeat("é", 1000))}, ""},
		{PropertyInput{Key: "k", Type: NumberProperty, Fallback: textFallback("")}, ""},
		{PropertyInput{Type: StringProperty}, "`key` is required"},
		{PropertyInput{Key: strings.Repeat("k", 201), Type: StringProperty}, "`key` is not 1 to 200"},
		{PropertyInput{Key: "a.b", Type: StringProperty}, "`key` has other characters"},
		{PropertyInput{Key: "k"}, "`type` is required"},
		{PropertyInput{Key: "k", Type: "bool"}, "`type` must be"},
		{PropertyInput{Key: "k", Type: StringProperty, Fallback: numberFallback(1)}, "`fallback_value` must be a string"},
		{PropertyInput{Key: "k", Type: NumberProperty, Fallback: textFallback("1")}, "`fallback_value` must be a number"},
		{PropertyInput{Key: "k", Type: NumberProperty, Fallback: numberFallback(math.Inf(1))}, "`fallback_value` must be a finite"},
		{PropertyInput{Key: "k", Type: StringProperty, Fallback: textFallback(strings.Repeat("é", 1001))}, "`fallback_value` can have at most 1000"},
		{PropertyInput{Key: "k", Type: StringProperty, Fallback: textFallback("a\x00")}, "`fallback_value` must be valid UTF-8"},
	} {
		err := c.in.Validate()
		if c.words == "" && err != nil || c.words != "" && (CodeOf(err) != CodeValidation || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%.50s %s: %v, want %q", c.in.Key, c.in.Type, err, c.words)
		}
		if c.in.Fallback != nil && *c.in.Fallback == *textFallback("") {
			t.Error("an empty text stays a fallback")
		}
	}
}

func TestPropertyPatchChangesFallbackOnly(t *testing.T) {
	old := Property{ID: "p", Key: "plan", Type: StringProperty, Fallback: textFallback("free")}
	set := func(v PropertyValue) Change[PropertyValue] { return Change[PropertyValue]{Set: true, Value: v} }
	for _, c := range []struct {
		patch PropertyPatch
		want  *PropertyValue
	}{
		{PropertyPatch{}, textFallback("free")},
		{PropertyPatch{Key: "plan", Type: StringProperty}, textFallback("free")},
		{PropertyPatch{Fallback: set(*textFallback(""))}, textFallback("free")},
		{PropertyPatch{Fallback: set(*textFallback("pro"))}, textFallback("pro")},
		{PropertyPatch{Fallback: Change[PropertyValue]{Set: true, Null: true}}, nil},
	} {
		got, err := c.patch.Apply(old)
		if err != nil || (got.Fallback == nil) != (c.want == nil) || c.want != nil && *got.Fallback != *c.want || got.Key != "plan" || got.Type != StringProperty {
			t.Errorf("%+v gives %+v, %v", c.patch, got, err)
		}
	}
	for _, patch := range []PropertyPatch{
		{Key: "Plan"}, {Type: NumberProperty}, {Type: "x"}, {Fallback: set(*numberFallback(1))}, {Fallback: set(*textFallback(strings.Repeat("x", 1001)))},
	} {
		if _, err := patch.Apply(old); CodeOf(err) != CodeValidation {
			t.Errorf("%+v: %v", patch, err)
		}
	}
}
