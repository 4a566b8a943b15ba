package app_test

import (
	"math"
	"strings"
	"testing"

	"mailer/app"
)

func condition(field, op, value string) *app.Filter {
	return &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: field, Op: op, Value: value}}}
}

func TestFilterIsChecked(t *testing.T) {
	for _, tt := range []struct{ field, op, value, words string }{
		{"email", app.OpEquals, strings.Repeat("é", 1000), ""},
		{"email", app.OpEquals, strings.Repeat("é", 1001), "`filter.conditions[0].value` can have at most 1000"},
		{"email", app.OpEquals, "", "`filter.conditions[0].value` is required"},
		{"email", app.OpEquals, "a\x00", "NUL"},
		{"email", app.OpEquals, "\xff", "NUL"},
		{"email", app.OpIsTrue, "", "`filter.conditions[0].op`"},
		{"property:" + strings.Repeat("k", 200), app.OpIsSet, "", ""},
		{"property:" + strings.Repeat("k", 201), app.OpIsSet, "", "`filter.conditions[0].field`"},
		{"property:plan'--", app.OpIsSet, "", "`filter.conditions[0].field`"},
		{"id", app.OpEquals, "x", "`filter.conditions[0].field`"},
		{"created_at", app.OpBefore, "2026-02-30", "ISO 8601"},
		{"created_at", app.OpBefore, "21.11.2026", "ISO 8601"},
		{"created_at", app.OpBefore, "tomorrow", "ISO 8601"},
		{"created_at", app.OpAfter, "2026-11-21T10:00", ""},
		{"created_at", app.OpAfter, "2026-11-21 10:00:00.5+00", ""},
		{"created_at", app.OpAfter, "2026-11-21T10:00:00+0200", ""},
		{"property:n", app.OpGreaterThan, "", "is required"},
		{"property:n", app.OpGreaterThan, "1e400", "must be a number"},
		{"property:n", app.OpGreaterThan, "Inf", "must be a number"},
		{"property:n", app.OpGreaterThan, "nan", "must be a number"},
		{"property:n", app.OpGreaterThan, "0x10", "must be a number"},
		{"property:n", app.OpGreaterThan, "1_0", "must be a number"},
		{"property:n", app.OpLessThan, "-1.5e3", ""},
	} {
		err := condition(tt.field, tt.op, tt.value).Validate()
		if tt.words == "" && err != nil || tt.words != "" && (app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), tt.words)) {
			t.Errorf("%.60q: %v, want %q", tt, err, tt.words)
		}
	}
	for match, ok := range map[app.Match]bool{app.MatchAll: true, app.MatchAny: true, "": false, "none": false} {
		f := &app.Filter{Match: match}
		if err := f.Validate(); (err == nil) != ok {
			t.Errorf("match %q: %v", match, err)
		}
		if ok && f.Conditions == nil {
			t.Error("no conditions stay nil")
		}
	}
	for n, ok := range map[int]bool{app.MaxConditions: true, app.MaxConditions + 1: false} {
		f := &app.Filter{Match: app.MatchAll}
		for range n {
			f.Conditions = append(f.Conditions, app.Condition{Field: "email", Op: app.OpIsSet, Value: "dropped"})
		}
		if err := f.Validate(); (err == nil) != ok {
			t.Errorf("%d conditions: %v", n, err)
		}
		if ok && f.Conditions[n-1].Value != "" {
			t.Error("a value that means nothing is kept")
		}
	}
}

func TestGreaterAndLessNeedNumbers(t *testing.T) {
	declared := map[string]app.PropertyType{"text": app.StringProperty, "number": app.NumberProperty}
	for key, ok := range map[string]bool{"text": false, "number": true, "undeclared": true} {
		for _, op := range []string{app.OpGreaterThan, app.OpLessThan} {
			if err := condition("property:"+key, op, "5").Fits(declared); (err == nil) != ok {
				t.Errorf("%s %s: %v", key, op, err)
			}
		}
		if err := condition("property:"+key, app.OpContains, "5").Fits(declared); err != nil {
			t.Errorf("%s contains: %v", key, err)
		}
	}
	var none *app.Filter
	if err := none.Fits(declared); err != nil {
		t.Error(err)
	}
}

func TestSegmentPatch(t *testing.T) {
	old := app.Segment{ID: "i", Name: "Old", Filter: &app.Filter{Match: app.MatchAny}}
	other := &app.Filter{Match: app.MatchAll}
	for _, tt := range []struct {
		patch app.SegmentPatch
		want  app.Segment
	}{
		{app.SegmentPatch{}, old},
		{app.SegmentPatch{Name: "New"}, app.Segment{ID: "i", Name: "New", Filter: old.Filter}},
		{app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Value: other}}, app.Segment{ID: "i", Name: "Old", Filter: other}},
		{app.SegmentPatch{Filter: app.Change[*app.Filter]{Set: true, Null: true}}, app.Segment{ID: "i", Name: "Old"}},
	} {
		if err := tt.patch.Validate(); err != nil {
			t.Error(err)
		}
		if got := tt.patch.Apply(old); got != tt.want {
			t.Errorf("%+v gives %+v", tt.patch, got)
		}
	}
	for _, name := range []string{" ", "a\nb", strings.Repeat("x", 256)} {
		if (&app.SegmentPatch{Name: name}).Validate() == nil || (&app.SegmentInput{Name: name}).Validate() == nil {
			t.Errorf("the name %q passes", name)
		}
	}
	if (&app.SegmentInput{}).Validate() == nil {
		t.Error("no name passes")
	}
}

func TestNumberValueIsFiniteAndHasNoNegativeZero(t *testing.T) {
	for value, want := range map[string]float64{"5": 5, "+5": 5, "5.": 5, ".5": 0.5, "5e-1": 0.5, "-0": 0} {
		c := app.Condition{Value: value}
		if n, ok := c.NumberValue(); !ok || n != want || math.Signbit(n) {
			t.Errorf("%q is %v, %v", value, n, ok)
		}
	}
	for _, value := range []string{"", "e", "-", "inf", "NaN", "0x1p4", "1e999", "5 ", "１"} {
		c := app.Condition{Value: value}
		if n, ok := c.NumberValue(); ok {
			t.Errorf("%q is the number %v", value, n)
		}
	}
}
