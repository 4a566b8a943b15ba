package app_test

import (
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/render"
	"mailer/app/testing/apptest"
)

func TestAliases(t *testing.T) {
	for alias, want := range map[string]bool{
		"a": true, "A.b_c-9": true, "9": true, strings.Repeat("a", 100): true,
		strings.Repeat("a", 101): false, ".a": false, "_a": false, "-a": false, "a b": false, "a/b": false, "é": false, "a\n": false, "@": false, "a@": false, "`": false, "[": false,
		"01920000-0000-7000-8000-000000000001": false, "01920000-0000-7000-8000-00000000000A": false, "01920000-0000-7000-8000-00000000000g": true,
	} {
		in := app.TemplateInput{Name: "x", Alias: alias, TemplateContent: app.TemplateContent{HTML: "x"}}
		if _, err := in.Validate(time.Now()); (err == nil) != want {
			t.Errorf("%q: %v", alias, err)
		}
	}
}

func TestTemplateVariableKeepsID(t *testing.T) {
	in := app.TemplateInput{Name: "x", TemplateContent: app.TemplateContent{HTML: "x", Variables: []app.TemplateVariable{{Key: "A", Type: app.StringProperty}, {Key: "B", Type: app.StringProperty}}}}
	start := time.Now()
	made, err := in.Validate(start)
	if err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Hour)
	patch := app.TemplatePatch{Variables: app.Change[[]app.TemplateVariable]{Set: true, Value: []app.TemplateVariable{{Key: "C", Type: app.NumberProperty}, {Key: "B", Type: app.NumberProperty}, {Key: "A", Type: app.StringProperty}}}}
	got, err := patch.ApplyContent(made.TemplateContent, later)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := got.Variables[2], got.Variables[1], got.Variables[0]
	if a != made.Variables[0] || b.ID != made.Variables[1].ID || b.CreatedAt != start || b.UpdatedAt != later || c.ID == "" || c.CreatedAt != later {
		t.Errorf("%+v", got.Variables)
	}
	if made.Variables[1].Type != app.StringProperty {
		t.Error("the patch changed what it was applied to")
	}
}

func TestEmptyFallbackIsAString(t *testing.T) {
	empty := func() *app.PropertyValue { v := apptest.String(""); return &v }
	in := app.TemplateInput{Name: "x", TemplateContent: app.TemplateContent{HTML: "[{{{S}}}]", Variables: []app.TemplateVariable{
		{Key: "S", Type: app.StringProperty, Fallback: empty()}, {Key: "N", Type: app.NumberProperty, Fallback: empty()}}}}
	made, err := in.Validate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if made.Variables[0].Fallback == nil || made.Variables[1].Fallback != nil {
		t.Errorf("%+v", made.Variables)
	}
	if r, err := render.Template(&made.TemplateContent, nil, nil, true, time.Time{}, app.MaxRendered); err != nil || r.HTML != "[]" {
		t.Errorf("%v %+v", err, r)
	}
}
