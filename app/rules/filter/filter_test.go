package filter

import (
	"testing"
	"time"

	"mailer/app"
)

func TestMatches(t *testing.T) {
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
		{"email", app.OpEquals, "ann.o'brien@example.org", false}, // as stored
		{"email", app.OpEndsWith, "@example.org", false},
		{"email", app.OpStartsWith, "Ann.O'", true},
		{"email", app.OpContains, "%", false},
		{"email", app.OpContains, "_", false},
		{"email", app.OpIsSet, "", true},
		{"first_name", app.OpContains, "%", true},
		{"first_name", app.OpEquals, "100", false},
		{"first_name", app.OpNotEquals, "100%", false},
		{"first_name", app.OpNotEquals, "x", true},
		{"last_name", app.OpNotEquals, "x", true}, // missing
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
		{"property:five", app.OpLessThan, "10", true}, // not compared as text
		{"property:half", app.OpStartsWith, "0.", true},
		{"property:half", app.OpEquals, ".5", true},
		{"property:huge", app.OpEndsWith, "000", true},
		{"property:huge", app.OpContains, "e", false},
		{"property:tiny", app.OpStartsWith, "0.0000001", true},
		{"property:text", app.OpEquals, "5", true},
		{"property:text", app.OpEquals, "5.0", false}, // a string property
		{"property:text", app.OpGreaterThan, "1", false},
		{"property:text", app.OpLessThan, "9", false},
		{"property:plan", app.OpContains, "o p", true},
		{"property:plan", app.OpStartsWith, "pro", false},
		{"property:Plan", app.OpIsSet, "", false},
	} {
		f := &app.Filter{Match: app.MatchAll, Conditions: []app.Condition{{Field: tt.field, Op: tt.op, Value: tt.value}}}
		if err := f.Validate(); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
		if got := Matches(f, c, Facts{}); got != tt.want {
			t.Errorf("%+v: picked %v", tt, got)
		}
	}
}

func TestMatchAnyOrAll(t *testing.T) {
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
			if Matches(tt.f, c, Facts{}) != want {
				t.Errorf("%+v does not pick %v", tt.f, want)
			}
		}
	}
	var none *app.Filter
	if Matches(none, c, Facts{}) {
		t.Error("no filter picks")
	}
}
