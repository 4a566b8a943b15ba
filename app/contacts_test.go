package app

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func propText(s string) *PropertyValue {
	return &PropertyValue{Type: StringProperty, Text: s}
}

func propNumber(n float64) *PropertyValue {
	return &PropertyValue{Type: NumberProperty, Number: n}
}

func wantInvalidField(t *testing.T, name string, err error, field string) {
	t.Helper()
	if CodeOf(err) != CodeValidation || !strings.Contains(err.Error(), "`"+field+"`") {
		t.Errorf("%s: error %v, want one of %s", name, err, field)
	}
}

func TestContactInputNamesInvalidField(t *testing.T) {
	id := NewID()
	good := ContactInput{
		Email: " Ann@Example.ORG ", FirstName: strings.Repeat("é", 255), Segments: []SegmentRef{{ID: strings.ToUpper(id)}},
		Topics: []TopicChoice{{ID: id, Subscription: OptIn}},
	}
	n, err := good.Validate()
	if err != nil || n.Contact.Email != "Ann@Example.ORG" || n.Key != KeyOf("ann@example.org") || !slices.Equal(n.Segments, []string{id}) {
		t.Fatalf("%+v %v", n, err)
	}
	for field, change := range map[string]func(in *ContactInput){
		"email":      func(in *ContactInput) { in.Email = "" },
		"email ":     func(in *ContactInput) { in.Email = "Ann <ann@example.org>" },
		"email  ":    func(in *ContactInput) { in.Email = "ann" },
		"first_name": func(in *ContactInput) { in.FirstName = strings.Repeat("é", 256) },
		"last_name":  func(in *ContactInput) { in.LastName = "a\nb" },
		"last_name ": func(in *ContactInput) { in.LastName = "a\xff" },
		"properties": func(in *ContactInput) { in.Properties = PropertyChanges{"a-b": propText("x")} },
		"properties.a": func(in *ContactInput) {
			in.Properties = PropertyChanges{"a": propText(strings.Repeat("x", 1001))}
		},
		"segments":               func(in *ContactInput) { in.Segments = make([]SegmentRef, 1001) },
		"segments[1].id":         func(in *ContactInput) { in.Segments = []SegmentRef{{ID: id}, {ID: "x"}} },
		"topics":                 func(in *ContactInput) { in.Topics = make([]TopicChoice, 1001) },
		"topics[0].id":           func(in *ContactInput) { in.Topics = []TopicChoice{{Subscription: OptIn}} },
		"topics[0].subscription": func(in *ContactInput) { in.Topics = []TopicChoice{{ID: id, Subscription: "maybe"}} },
	} {
		in := good
		change(&in)
		_, err := in.Validate()
		wantInvalidField(t, field, err, strings.TrimSpace(field))
	}
}

func TestLastOfRepeatedTopicChoicesCounts(t *testing.T) {
	a, b := NewID(), NewID()
	in := ContactInput{Email: "a@b.example", Topics: []TopicChoice{
		{ID: a, Subscription: OptIn}, {ID: b, Subscription: OptIn}, {ID: strings.ToUpper(a), Subscription: OptOut},
	}}
	n, err := in.Validate()
	want := []TopicChoice{{ID: a, Subscription: OptOut}, {ID: b, Subscription: OptIn}}
	if err != nil || !slices.Equal(n.Topics, want) {
		t.Errorf("%v %v", n.Topics, err)
	}
}

func TestContactPatchChangesNamedFieldsOnly(t *testing.T) {
	yes, no := true, false
	before := Contact{ID: "c", FirstName: "Ann", LastName: "Lee", Unsubscribed: true, Properties: Properties{"a": *propText("1")}}
	for name, c := range map[string]struct {
		patch ContactPatch
		want  func(c *Contact)
	}{
		"nothing":     {ContactPatch{}, func(*Contact) {}},
		"null clears": {ContactPatch{FirstName: Change[string]{Set: true, Null: true}}, func(c *Contact) { c.FirstName = "" }},
		"empty is absent": {ContactPatch{FirstName: Change[string]{Set: true}, LastName: Change[string]{Set: true, Value: "Low"}},
			func(c *Contact) { c.LastName = "Low" }},
		"subscribed again": {ContactPatch{Unsubscribed: &no}, func(c *Contact) { c.Unsubscribed = false }},
		"unsubscribed":     {ContactPatch{Unsubscribed: &yes}, func(*Contact) {}},
		"last property":    {ContactPatch{Properties: PropertyChanges{"a": nil}}, func(c *Contact) { c.Properties = nil }},
	} {
		want := before
		c.want(&want)
		got, err := c.patch.Apply(before)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestUpsertNeitherClearsNorResubscribes(t *testing.T) {
	old := Contact{FirstName: "Ann", LastName: "Lee", Unsubscribed: true, Properties: Properties{"a": *propText("1"), "b": *propText("2")}}
	n := NewContact{Contact: Contact{LastName: "Low"}, Changes: PropertyChanges{"b": propNumber(3), "c": nil}}
	got, err := n.Merge(old)
	want := Contact{FirstName: "Ann", LastName: "Low", Unsubscribed: true, Properties: Properties{"a": *propText("1"), "b": *propNumber(3)}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if old.Properties["b"] != *propText("2") {
		t.Error("the old contact changed with it")
	}
}

func TestFoldEqualsSuccessiveMerges(t *testing.T) {
	s, u := NewID(), NewID()
	first := NewContact{Contact: Contact{FirstName: "A", LastName: "L"}, Changes: PropertyChanges{"x": propText("1"), "y": propText("1")},
		Segments: []string{s}, Topics: []TopicChoice{{ID: u, Subscription: OptIn}}}
	later := NewContact{Contact: Contact{FirstName: "B", Unsubscribed: true}, Changes: PropertyChanges{"x": nil, "z": propNumber(2)},
		Segments: []string{u}, Topics: []TopicChoice{{ID: u, Subscription: OptOut}}}
	old := Contact{FirstName: "O", Properties: Properties{"x": *propText("0")}}
	step, err := first.Merge(old)
	if err != nil {
		t.Fatal(err)
	}
	want, err := later.Merge(step)
	if err != nil {
		t.Fatal(err)
	}
	folded := first
	folded.Fold(&later)
	if got, err := folded.Merge(old); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v, want %+v", got, err, want)
	}
	if !slices.Equal(folded.Segments, []string{s, u}) || !slices.Equal(folded.Topics, later.Topics) {
		t.Errorf("joins %v, chooses %v", folded.Segments, folded.Topics)
	}
	if len(first.Changes) != 2 || first.Changes["x"] == nil || len(first.Segments) != 1 || first.Topics[0].Subscription != OptIn {
		t.Errorf("the first item changed with it: %+v", first)
	}
}

func TestContactReadNamesInvalidEntry(t *testing.T) {
	id := NewID()
	keys, include, err := (&ContactRead{
		Contacts: []ContactRef{{ID: strings.ToUpper(id)}, {Email: "A@b.example"}, {ID: id, Email: "a@b.example"}, {ID: id}},
		Include:  []string{"topics"},
	}).Validate()
	want := []ContactKey{{ID: id}, {Address: KeyOf("a@b.example")}, {ID: id, Address: KeyOf("a@b.example")}, {ID: id}}
	if err != nil || !slices.Equal(keys, want) || include != (Include{Topics: true}) {
		t.Errorf("%v %v %v", keys, include, err)
	}
	for field, in := range map[string]ContactRead{
		"contacts":          {},
		"contacts ":         {Contacts: make([]ContactRef, 1001)},
		"contacts[1]":       {Contacts: []ContactRef{{ID: id}, {}}},
		"contacts[0].id":    {Contacts: []ContactRef{{ID: "x"}}},
		"contacts[0].email": {Contacts: []ContactRef{{ID: id, Email: "x"}}},
		"include[1]":        {Contacts: []ContactRef{{ID: id}}, Include: []string{"topics", "all"}},
	} {
		_, _, err := in.Validate()
		wantInvalidField(t, field, err, strings.TrimSpace(field))
	}
}

func TestContactRemovalDeduplicates(t *testing.T) {
	id := NewID()
	keys, err := (&ContactRemoval{IDs: []string{id, strings.ToUpper(id)}, Emails: []string{"A@b.example", "a@B.example"}}).Validate()
	if err != nil || !slices.Equal(keys, []ContactKey{{ID: id}, {Address: KeyOf("a@b.example")}}) {
		t.Errorf("%v %v", keys, err)
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("u%d@b.example", i)
	}
	if keys, err := (&ContactRemoval{Emails: many[:1000]}).Validate(); err != nil || len(keys) != 1000 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	for field, in := range map[string]ContactRemoval{
		"ids":       {},
		"ids[1]":    {IDs: []string{id, "x"}},
		"ids[0]":    {IDs: []string{""}},
		"emails[0]": {Emails: []string{"x"}},
		"emails[1]": {Emails: []string{"a@b.example", ""}},
		"emails":    {Emails: many},
	} {
		_, err := in.Validate()
		wantInvalidField(t, field, err, field)
	}
}

func TestIncludeAndOnConflict(t *testing.T) {
	for s, want := range map[string]Include{
		"": {}, " ": {}, "properties": {Properties: true}, " topics , properties": {Properties: true, Topics: true}, "topics,topics": {Topics: true},
	} {
		if got, err := ParseInclude(s); err != nil || got != want {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"x", "topics,", "properties;topics", "Topics"} {
		_, err := ParseInclude(s)
		wantInvalidField(t, s, err, "include")
	}
	for s, want := range map[string]OnConflict{"": ConflictError, "error": ConflictError, "skip": ConflictSkip, "upsert": ConflictUpsert} {
		if got, err := ParseOnConflict(s); err != nil || got != want {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	_, err := ParseOnConflict("update")
	wantInvalidField(t, "update", err, "on_conflict")
}
