package app

import (
	"math"
	"strings"
	"testing"
	"time"
)

func condition(field, op, value string) *Filter {
	return &Filter{Match: MatchAll, Conditions: []Condition{{Field: field, Op: op, Value: value}}}
}

func TestFilterPicksWhatItsWordsSay(t *testing.T) {
	number := func(n float64) PropertyValue { return PropertyValue{Type: NumberProperty, Number: n} }
	text := func(s string) PropertyValue { return PropertyValue{Type: StringProperty, Text: s} }
	c := &Contact{
		Email: "Ann.O'Brien@Example.org", FirstName: "100%", Unsubscribed: true, CreatedAt: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
		Properties: Properties{"five": number(5), "text": text("5"), "half": number(0.5), "huge": number(1e21), "tiny": number(1e-7), "plan": text("Pro plan")},
	}
	for _, tt := range []struct {
		field, op, value string
		want             bool
	}{
		{"email", OpEquals, "Ann.O'Brien@Example.org", true},
		{"email", OpEquals, "ann.o'brien@example.org", false}, // as it is stored
		{"email", OpEndsWith, "@example.org", false},
		{"email", OpStartsWith, "Ann.O'", true},
		{"email", OpContains, "%", false},
		{"email", OpContains, "_", false},
		{"email", OpIsSet, "", true},
		{"first_name", OpContains, "%", true},
		{"first_name", OpEquals, "100", false},
		{"first_name", OpNotEquals, "100%", false},
		{"first_name", OpNotEquals, "x", true},
		{"last_name", OpNotEquals, "x", true}, // there is none
		{"last_name", OpEquals, "x", false},
		{"last_name", OpIsSet, "", false},
		{"last_name", OpIsNotSet, "", true},
		{"unsubscribed", OpIsTrue, "", true},
		{"unsubscribed", OpIsFalse, "", false},
		{"created_at", OpBefore, "2026-11-21T12:00:00Z", false},
		{"created_at", OpAfter, "2026-11-21T12:00:00Z", false},
		{"created_at", OpBefore, "2026-11-21T12:00:00.001Z", true},
		{"created_at", OpAfter, "2026-11-21", true},
		{"created_at", OpBefore, "2026-11-21", false},
		{"created_at", OpAfter, "2026-11-21T13:00:00+02:00", true},
		{"property:none", OpNotEquals, "x", true},
		{"property:none", OpLessThan, "5", false},
		{"property:none", OpIsSet, "", false},
		{"property:five", OpEquals, "5", true},
		{"property:five", OpEquals, "5.0", true},
		{"property:five", OpEquals, "five", false},
		{"property:five", OpNotEquals, "5.0", false},
		{"property:five", OpContains, ".0", false},
		{"property:five", OpGreaterThan, "5", false},
		{"property:five", OpGreaterThan, "4.9", true},
		{"property:five", OpLessThan, "10", true}, // not as text
		{"property:half", OpStartsWith, "0.", true},
		{"property:half", OpEquals, ".5", true},
		{"property:huge", OpEndsWith, "000", true},
		{"property:huge", OpContains, "e", false},
		{"property:tiny", OpStartsWith, "0.0000001", true},
		{"property:text", OpEquals, "5", true},
		{"property:text", OpEquals, "5.0", false}, // is a text
		{"property:text", OpGreaterThan, "1", false},
		{"property:text", OpLessThan, "9", false},
		{"property:plan", OpContains, "o p", true},
		{"property:plan", OpStartsWith, "pro", false},
		{"property:Plan", OpIsSet, "", false},
	} {
		f := condition(tt.field, tt.op, tt.value)
		if err := f.Validate(); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
		if got := f.Matches(c); got != tt.want {
			t.Errorf("%+v: picked %v", tt, got)
		}
	}
}

func TestFilterMatchesAnyOrAll(t *testing.T) {
	yes, no := Condition{Field: "email", Op: OpIsSet}, Condition{Field: "first_name", Op: OpIsSet}
	c := &Contact{Email: "a@example.org"}
	for _, tt := range []struct {
		f        *Filter
		any, all bool
	}{
		{&Filter{}, true, true},
		{&Filter{Conditions: []Condition{yes}}, true, true},
		{&Filter{Conditions: []Condition{no}}, false, false},
		{&Filter{Conditions: []Condition{no, yes}}, true, false},
		{&Filter{Conditions: []Condition{yes, yes}}, true, true},
	} {
		for match, want := range map[Match]bool{MatchAny: tt.any, MatchAll: tt.all} {
			tt.f.Match = match
			if tt.f.Matches(c) != want {
				t.Errorf("%+v does not pick %v", tt.f, want)
			}
		}
	}
	var none *Filter
	if none.Matches(c) {
		t.Error("no filter picks")
	}
}

func TestFilterIsChecked(t *testing.T) {
	for _, tt := range []struct{ field, op, value, words string }{
		{"email", OpEquals, strings.Repeat("é", 1000), ""},
		{"email", OpEquals, strings.Repeat("é", 1001), "`filter.conditions[0].value` can have at most 1000"},
		{"email", OpEquals, "", "`filter.conditions[0].value` is required"},
		{"email", OpEquals, "a\x00", "NUL"},
		{"email", OpEquals, "\xff", "NUL"},
		{"email", OpIsTrue, "", "`filter.conditions[0].op`"},
		{"property:" + strings.Repeat("k", 200), OpIsSet, "", ""},
		{"property:" + strings.Repeat("k", 201), OpIsSet, "", "`filter.conditions[0].field`"},
		{"property:plan'--", OpIsSet, "", "`filter.conditions[0].field`"},
		{"id", OpEquals, "x", "`filter.conditions[0].field`"},
		{"created_at", OpBefore, "2026-02-30", "ISO 8601"},
		{"created_at", OpBefore, "21.11.2026", "ISO 8601"},
		{"created_at", OpBefore, "tomorrow", "ISO 8601"},
		{"created_at", OpAfter, "2026-11-21T10:00", ""},
		{"created_at", OpAfter, "2026-11-21 10:00:00.5+00", ""},
		{"created_at", OpAfter, "2026-11-21T10:00:00+0200", ""},
		{"property:n", OpGreaterThan, "", "is required"},
		{"property:n", OpGreaterThan, "1e400", "must be a number"},
		{"property:n", OpGreaterThan, "Inf", "must be a number"},
		{"property:n", OpGreaterThan, "nan", "must be a number"},
		{"property:n", OpGreaterThan, "0x10", "must be a number"},
		{"property:n", OpGreaterThan, "1_0", "must be a number"},
		{"property:n", OpLessThan, "-1.5e3", ""},
	} {
		err := condition(tt.field, tt.op, tt.value).Validate()
		if tt.words == "" && err != nil || tt.words != "" && (CodeOf(err) != CodeValidation || !strings.Contains(err.Error(), tt.words)) {
			t.Errorf("%.60q: %v, want %q", tt, err, tt.words)
		}
	}
	for match, ok := range map[Match]bool{MatchAll: true, MatchAny: true, "": false, "none": false} {
		f := &Filter{Match: match}
		if err := f.Validate(); (err == nil) != ok {
			t.Errorf("match %q: %v", match, err)
		}
		if ok && f.Conditions == nil {
			t.Error("no conditions stay nil")
		}
	}
	for n, ok := range map[int]bool{MaxConditions: true, MaxConditions + 1: false} {
		f := &Filter{Match: MatchAll}
		for range n {
			f.Conditions = append(f.Conditions, Condition{Field: "email", Op: OpIsSet, Value: "dropped"})
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
	declared := map[string]PropertyType{"text": StringProperty, "number": NumberProperty}
	for key, ok := range map[string]bool{"text": false, "number": true, "undeclared": true} {
		for _, op := range []string{OpGreaterThan, OpLessThan} {
			if err := condition("property:"+key, op, "5").Fits(declared); (err == nil) != ok {
				t.Errorf("%s %s: %v", key, op, err)
			}
		}
		if err := condition("property:"+key, OpContains, "5").Fits(declared); err != nil {
			t.Errorf("%s contains: %v", key, err)
		}
	}
	var none *Filter
	if err := none.Fits(declared); err != nil {
		t.Error(err)
	}
}

func TestSegmentPatch(t *testing.T) {
	old := Segment{ID: "i", Name: "Old", Filter: &Filter{Match: MatchAny}}
	other := &Filter{Match: MatchAll}
	for _, tt := range []struct {
		patch SegmentPatch
		want  Segment
	}{
		{SegmentPatch{}, old},
		{SegmentPatch{Name: "New"}, Segment{ID: "i", Name: "New", Filter: old.Filter}},
		{SegmentPatch{Filter: Change[*Filter]{Set: true, Value: other}}, Segment{ID: "i", Name: "Old", Filter: other}},
		{SegmentPatch{Filter: Change[*Filter]{Set: true, Null: true}}, Segment{ID: "i", Name: "Old"}},
	} {
		if err := tt.patch.Validate(); err != nil {
			t.Error(err)
		}
		if got := tt.patch.Apply(old); got != tt.want {
			t.Errorf("%+v gives %+v", tt.patch, got)
		}
	}
	for _, name := range []string{" ", "a\nb", strings.Repeat("x", 256)} {
		if (&SegmentPatch{Name: name}).Validate() == nil || (&SegmentInput{Name: name}).Validate() == nil {
			t.Errorf("the name %q passes", name)
		}
	}
	if (&SegmentInput{}).Validate() == nil {
		t.Error("no name passes")
	}
}

func TestNumberValueIsFiniteAndHasNoNegativeZero(t *testing.T) {
	for value, want := range map[string]float64{"5": 5, "+5": 5, "5.": 5, ".5": 0.5, "5e-1": 0.5, "-0": 0} {
		c := Condition{Value: value}
		if n, ok := c.NumberValue(); !ok || n != want || math.Signbit(n) {
			t.Errorf("%q is %v, %v", value, n, ok)
		}
	}
	for _, value := range []string{"", "e", "-", "inf", "NaN", "0x1p4", "1e999", "5 ", "１"} {
		c := Condition{Value: value}
		if n, ok := c.NumberValue(); ok {
			t.Errorf("%q is the number %v", value, n)
		}
	}
}
