package app_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mailer/app"
)

func propText(s string) *app.PropertyValue {
	return &app.PropertyValue{Type: app.StringProperty, Text: s}
}

func propNumber(n float64) *app.PropertyValue {
	return &app.PropertyValue{Type: app.NumberProperty, Number: n}
}

func wantInvalidField(t *testing.T, name string, err error, field string) {
	t.Helper()
	if app.CodeOf(err) != app.CodeValidation || !strings.Contains(err.Error(), "`"+field+"`") {
		t.Errorf("%s: error %v, want one of %s", name, err, field)
	}
}

func TestAContactInputNamesItsBadField(t *testing.T) {
	id := app.NewID()
	good := app.ContactInput{
		Email: " Ann@Example.ORG ", FirstName: strings.Repeat("é", 255), Segments: []app.SegmentRef{{ID: strings.ToUpper(id)}},
		Topics: []app.TopicChoice{{ID: id, Subscription: app.OptIn}},
	}
	n, err := good.Validate()
	if err != nil || n.Contact.Email != "Ann@Example.ORG" || n.Folded != "ann@example.org" || !slices.Equal(n.Segments, []string{id}) {
		t.Fatalf("%+v %v", n, err)
	}
	for field, change := range map[string]func(in *app.ContactInput){
		"email":      func(in *app.ContactInput) { in.Email = "" },
		"email ":     func(in *app.ContactInput) { in.Email = "Ann <ann@example.org>" },
		"email  ":    func(in *app.ContactInput) { in.Email = "ann" },
		"first_name": func(in *app.ContactInput) { in.FirstName = strings.Repeat("é", 256) },
		"last_name":  func(in *app.ContactInput) { in.LastName = "a\nb" },
		"last_name ": func(in *app.ContactInput) { in.LastName = "a\xff" },
		"properties": func(in *app.ContactInput) { in.Properties = app.PropertyChanges{"a-b": propText("x")} },
		"properties.a": func(in *app.ContactInput) {
			in.Properties = app.PropertyChanges{"a": propText(strings.Repeat("x", 1001))}
		},
		"segments":               func(in *app.ContactInput) { in.Segments = make([]app.SegmentRef, 1001) },
		"segments[1].id":         func(in *app.ContactInput) { in.Segments = []app.SegmentRef{{ID: id}, {ID: "x"}} },
		"topics":                 func(in *app.ContactInput) { in.Topics = make([]app.TopicChoice, 1001) },
		"topics[0].id":           func(in *app.ContactInput) { in.Topics = []app.TopicChoice{{Subscription: app.OptIn}} },
		"topics[0].subscription": func(in *app.ContactInput) { in.Topics = []app.TopicChoice{{ID: id, Subscription: "maybe"}} },
	} {
		in := good
		change(&in)
		_, err := in.Validate()
		wantInvalidField(t, field, err, strings.TrimSpace(field))
	}
}

func TestOfRepeatedChoicesTheLastCounts(t *testing.T) {
	a, b := app.NewID(), app.NewID()
	in := app.ContactInput{Email: "a@b.example", Topics: []app.TopicChoice{
		{ID: a, Subscription: app.OptIn}, {ID: b, Subscription: app.OptIn}, {ID: strings.ToUpper(a), Subscription: app.OptOut},
	}}
	n, err := in.Validate()
	want := []app.TopicChoice{{ID: a, Subscription: app.OptOut}, {ID: b, Subscription: app.OptIn}}
	if err != nil || !slices.Equal(n.Topics, want) {
		t.Errorf("%v %v", n.Topics, err)
	}
}

func TestAPatchChangesWhatItNamesAndNothingElse(t *testing.T) {
	yes, no := true, false
	before := app.Contact{ID: "c", FirstName: "Ann", LastName: "Lee", Unsubscribed: true, Properties: app.Properties{"a": *propText("1")}}
	for name, c := range map[string]struct {
		patch app.ContactPatch
		want  func(c *app.Contact)
	}{
		"nothing":     {app.ContactPatch{}, func(*app.Contact) {}},
		"null clears": {app.ContactPatch{FirstName: app.Change[string]{Set: true, Null: true}}, func(c *app.Contact) { c.FirstName = "" }},
		"empty is absent": {app.ContactPatch{FirstName: app.Change[string]{Set: true}, LastName: app.Change[string]{Set: true, Value: "Low"}},
			func(c *app.Contact) { c.LastName = "Low" }},
		"subscribed again": {app.ContactPatch{Unsubscribed: &no}, func(c *app.Contact) { c.Unsubscribed = false }},
		"unsubscribed":     {app.ContactPatch{Unsubscribed: &yes}, func(*app.Contact) {}},
		"last property":    {app.ContactPatch{Properties: app.PropertyChanges{"a": nil}}, func(c *app.Contact) { c.Properties = nil }},
	} {
		want := before
		c.want(&want)
		got, err := c.patch.Apply(before)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestAPatchMustMeanTheContactOfItsPath(t *testing.T) {
	c := app.Contact{ID: app.NewID(), Email: "Ann@Bücher.example"}
	for _, p := range []app.ContactPatch{{}, {ID: c.ID}, {ID: strings.ToUpper(c.ID), Email: "ann@xn--bcher-kva.example"}, {Email: " ANN@bücher.example"}} {
		if err := p.Means(&c); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	wantInvalidField(t, "another id", (&app.ContactPatch{ID: app.NewID()}).Means(&c), "id")
	wantInvalidField(t, "no id", (&app.ContactPatch{ID: "x"}).Means(&c), "id")
	wantInvalidField(t, "another address", (&app.ContactPatch{Email: "bob@bücher.example"}).Means(&c), "email")
	wantInvalidField(t, "no address", (&app.ContactPatch{Email: "x"}).Means(&c), "email")
}

func TestAnUpsertNeitherClearsNorSubscribesAgain(t *testing.T) {
	old := app.Contact{FirstName: "Ann", LastName: "Lee", Unsubscribed: true, Properties: app.Properties{"a": *propText("1"), "b": *propText("2")}}
	n := app.NewContact{Contact: app.Contact{LastName: "Low"}, Changes: app.PropertyChanges{"b": propNumber(3), "c": nil}}
	got, err := n.Merge(old)
	want := app.Contact{FirstName: "Ann", LastName: "Low", Unsubscribed: true, Properties: app.Properties{"a": *propText("1"), "b": *propNumber(3)}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	if old.Properties["b"] != *propText("2") {
		t.Error("the old contact changed with it")
	}
}

func TestFoldedItemsMergeAsOneAfterTheOther(t *testing.T) {
	s, u := app.NewID(), app.NewID()
	first := app.NewContact{Contact: app.Contact{FirstName: "A", LastName: "L"}, Changes: app.PropertyChanges{"x": propText("1"), "y": propText("1")},
		Segments: []string{s}, Topics: []app.TopicChoice{{ID: u, Subscription: app.OptIn}}}
	later := app.NewContact{Contact: app.Contact{FirstName: "B", Unsubscribed: true}, Changes: app.PropertyChanges{"x": nil, "z": propNumber(2)},
		Segments: []string{u}, Topics: []app.TopicChoice{{ID: u, Subscription: app.OptOut}}}
	old := app.Contact{FirstName: "O", Properties: app.Properties{"x": *propText("0")}}
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
	if len(first.Changes) != 2 || first.Changes["x"] == nil || len(first.Segments) != 1 || first.Topics[0].Subscription != app.OptIn {
		t.Errorf("the first item changed with it: %+v", first)
	}
}

func TestABatchReadNamesItsBadEntry(t *testing.T) {
	id := app.NewID()
	keys, include, err := (&app.ContactRead{
		Contacts: []app.ContactRef{{ID: strings.ToUpper(id)}, {Email: "A@b.example"}, {ID: id, Email: "a@b.example"}, {ID: id}},
		Include:  []string{"topics"},
	}).Validate()
	want := []app.ContactKey{{ID: id}, {Folded: "a@b.example"}, {ID: id, Folded: "a@b.example"}, {ID: id}}
	if err != nil || !slices.Equal(keys, want) || include != (app.Include{Topics: true}) {
		t.Errorf("%v %v %v", keys, include, err)
	}
	for field, in := range map[string]app.ContactRead{
		"contacts":          {},
		"contacts ":         {Contacts: make([]app.ContactRef, 1001)},
		"contacts[1]":       {Contacts: []app.ContactRef{{ID: id}, {}}},
		"contacts[0].id":    {Contacts: []app.ContactRef{{ID: "x"}}},
		"contacts[0].email": {Contacts: []app.ContactRef{{ID: id, Email: "x"}}},
		"include[1]":        {Contacts: []app.ContactRef{{ID: id}}, Include: []string{"topics", "all"}},
	} {
		_, _, err := in.Validate()
		wantInvalidField(t, field, err, strings.TrimSpace(field))
	}
}

func TestARemovalNamesEachContactOnce(t *testing.T) {
	id := app.NewID()
	keys, err := (&app.ContactRemoval{IDs: []string{id, strings.ToUpper(id)}, Emails: []string{"A@b.example", "a@B.example"}}).Validate()
	if err != nil || !slices.Equal(keys, []app.ContactKey{{ID: id}, {Folded: "a@b.example"}}) {
		t.Errorf("%v %v", keys, err)
	}
	many := make([]string, 1001)
	for i := range many {
		many[i] = fmt.Sprintf("u%d@b.example", i)
	}
	if keys, err := (&app.ContactRemoval{Emails: many[:1000]}).Validate(); err != nil || len(keys) != 1000 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	for field, in := range map[string]app.ContactRemoval{
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
	for s, want := range map[string]app.Include{
		"": {}, " ": {}, "properties": {Properties: true}, " topics , properties": {Properties: true, Topics: true}, "topics,topics": {Topics: true},
	} {
		if got, err := app.ParseInclude(s); err != nil || got != want {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"x", "topics,", "properties;topics", "Topics"} {
		_, err := app.ParseInclude(s)
		wantInvalidField(t, s, err, "include")
	}
	for s, want := range map[string]app.OnConflict{"": app.ConflictError, "error": app.ConflictError, "skip": app.ConflictSkip, "upsert": app.ConflictUpsert} {
		if got, err := app.ParseOnConflict(s); err != nil || got != want {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	_, err := app.ParseOnConflict("update")
	wantInvalidField(t, "update", err, "on_conflict")
}
