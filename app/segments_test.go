package app_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/filter"
)

func condition(field, op, value string) *app.Filter {
	return &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: field, Op: op, Value: value}}}
}

func TestFilterPicksWhatItsWordsSay(t *testing.T) {
	number := func(n float64) app.PropertyValue { return app.PropertyValue{Type: app.NumberProperty, Number: n} }
	text := func(s string) app.PropertyValue { return app.PropertyValue{Type: app.StringProperty, Text: s} }
	c := &app.Contact{
		Email: "Ann.O'Brien@Example.org", FirstName: "100%", Unsubscribed: true, CreatedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Properties: app.Properties{"five": number(5), "text": text("5"), "half": number(0.5), "huge": number(1e21), "tiny": number(1e-7), "plan": text("Pro plan")},
	}
	for _, tt := range []struct {
		field, op, value string
		want             bool
	}{
		{"email", app.OpEquals, "Ann.O'Brien@Example.org", true},
		{"email", app.OpEquals, "ann.o'brien@example.org", false}, // as it is stored
		{"email", app.OpEndsWith, "@example.org", false},
		{"email", app.OpStartsWith, "Ann.O'", true},
		{"email", app.OpContains, "%", false},
		{"email", app.OpContains, "_", false},
		{"email", app.OpIsSet, "", true},
		{"first_name", app.OpContains, "%", true},
		{"first_name", app.OpEquals, "100", false},
		{"first_name", app.OpNotEquals, "100%", false},
		{"first_name", app.OpNotEquals, "x", true},
		{"last_name", app.OpNotEquals, "x", true}, // there is none
		{"last_name", app.OpEquals, "x", false},
		{"last_name", app.OpIsSet, "", false},
		{"last_name", app.OpIsNotSet, "", true},
		{"unsubscribed", app.OpIsTrue, "", true},
		{"unsubscribed", app.OpIsFalse, "", false},
		{"created_at", app.OpBefore, "2026-11-21T12:00:00Z", false},
		{"created_at", app.OpAfter, "2026-11-21T12:00:00Z", false},
		{"created_at", app.OpBefore, "2026-11-21T12:00:00.001Z", true},
		{"created_at", app.OpAfter, "2026-11-21", true},
		{"created_at", app.OpBefore, "2026-11-21", false},
		{"created_at", app.OpAfter, "2026-11-21T13:00:00+02:00", true},
		{"property:none", app.OpNotEquals, "x", true},
		{"property:none", app.OpLessThan, "5", false},
		{"property:none", app.OpIsSet, "", false},
		{"property:five", app.OpEquals, "5", true},
		{"property:five", app.OpEquals, "5.0", true},
		{"property:five", app.OpEquals, "five", false},
		{"property:five", app.OpNotEquals, "5.0", false},
		{"property:five", app.OpContains, ".0", false},
		{"property:five", app.OpGreaterThan, "5", false},
		{"property:five", app.OpGreaterThan, "4.9", true},
		{"property:five", app.OpLessThan, "10", true}, // not as text
		{"property:half", app.OpStartsWith, "0.", true},
		{"property:half", app.OpEquals, ".5", true},
		{"property:huge", app.OpEndsWith, "000", true},
		{"property:huge", app.OpContains, "e", false},
		{"property:tiny", app.OpStartsWith, "0.0000001", true},
		{"property:text", app.OpEquals, "5", true},
		{"property:text", app.OpEquals, "5.0", false}, // is a text
		{"property:text", app.OpGreaterThan, "1", false},
		{"property:text", app.OpLessThan, "9", false},
		{"property:plan", app.OpContains, "o p", true},
		{"property:plan", app.OpStartsWith, "pro", false},
		{"property:Plan", app.OpIsSet, "", false},
	} {
		f := condition(tt.field, tt.op, tt.value)
		if err := f.Validate(); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
		if got := filter.Matches(f, c); got != tt.want {
			t.Errorf("%+v: picked %v", tt, got)
		}
	}
}

func TestFilterMatchesAnyOrAll(t *testing.T) {
	yes, no := app.Condition{Field: "email", Op: app.OpIsSet}, app.Condition{Field: "first_name", Op: app.OpIsSet}
	c := &app.Contact{Email: "a@example.org"}
	for _, tt := range []struct {
		f        *app.Filter
		any, all bool
	}{
		{&app.Filter{}, true, true},
		{&app.Filter{Conditions: []app.Condition{yes}}, true, true},
		{&app.Filter{Conditions: []app.Condition{no}}, false, false},
		{&app.Filter{Conditions: []app.Condition{no, yes}}, true, false},
		{&app.Filter{Conditions: []app.Condition{yes, yes}}, true, true},
	} {
		for match, want := range map[app.Match]bool{app.MatchAny: tt.any, app.MatchAll: tt.all} {
			tt.f.Match = match
			if filter.Matches(tt.f, c) != want {
				t.Errorf("%+v does not pick %v", tt.f, want)
			}
		}
	}
	var none *app.Filter
	if filter.Matches(none, c) {
		t.Error("no filter picks")
	}
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

func TestOnlyNumbersAreGreaterOrLess(t *testing.T) {
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
