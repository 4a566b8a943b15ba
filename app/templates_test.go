package app

import (
	"strings"
	"testing"
	"time"
)

func TestAliases(t *testing.T) {
	for alias, want := range map[string]bool{
		"a": true, "A.b_c-9": true, "9": true, strings.Repeat("a", 100): true,
		strings.Repeat("a", 101): false, ".a": false, "_a": false, "-a": false, "a b": false, "a/b": false, "é": false, "a\n": false, "@": false, "a@": false, "`": false, "[": false,
		"01920000-0000-7000-8000-000000000001": false, "01920000-0000-7000-8000-00000000000A": false, "01920000-0000-7000-8000-00000000000g": true,
	} {
		in := TemplateInput{Name: "x", Alias: alias, TemplateContent: TemplateContent{HTML: "x"}}
		if _, err := in.Validate(time.Now()); (err == nil) != want {
			t.Errorf("%q: %v", alias, err)
		}
	}
}

func TestAVariableKeepsItsIDWhileItsKeyStays(t *testing.T) {
	in := TemplateInput{Name: "x", TemplateContent: TemplateContent{HTML: "x", Variables: []TemplateVariable{{Key: "A", Type: StringProperty}, {Key: "B", Type: StringProperty}}}}
	start := time.Now()
	made, err := in.Validate(start)
	if err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Hour)
	patch := TemplatePatch{Variables: Change[[]TemplateVariable]{Set: true, Value: []TemplateVariable{{Key: "C", Type: NumberProperty}, {Key: "B", Type: NumberProperty}, {Key: "A", Type: StringProperty}}}}
	got, err := patch.ApplyContent(made.TemplateContent, later)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := got.Variables[2], got.Variables[1], got.Variables[0]
	if a != made.Variables[0] || b.ID != made.Variables[1].ID || b.CreatedAt != start || b.UpdatedAt != later || c.ID == "" || c.CreatedAt != later {
		t.Errorf("%+v", got.Variables)
	}
	if made.Variables[1].Type != StringProperty {
		t.Error("the patch changed what it was applied to")
	}
}

func TestAnEmptyFallbackIsATextAndNoNumber(t *testing.T) {
	empty := func() *PropertyValue { v := stringValue(""); return &v }
	in := TemplateInput{Name: "x", TemplateContent: TemplateContent{HTML: "[{{{S}}}]", Variables: []TemplateVariable{
		{Key: "S", Type: StringProperty, Fallback: empty()}, {Key: "N", Type: NumberProperty, Fallback: empty()}}}}
	made, err := in.Validate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if made.Variables[0].Fallback == nil || made.Variables[1].Fallback != nil {
		t.Errorf("%+v", made.Variables)
	}
	if r, err := made.Render(nil, true, MaxRendered); err != nil || r.HTML != "[]" {
		t.Errorf("%v %+v", err, r)
	}
}
