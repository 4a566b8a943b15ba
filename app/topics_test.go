package app

import (
	"slices"
	"strings"
	"testing"
)

func TestTopicInputNamesInvalidField(t *testing.T) {
	good := TopicInput{Name: strings.Repeat("日", 50), Description: strings.Repeat("é", 200), Default: OptOut}
	topic, err := good.Validate()
	if err != nil || topic.Visibility != PrivateTopic || topic.Default != OptOut || topic.Name != good.Name || topic.Description != good.Description {
		t.Errorf("%+v, %v", topic, err)
	}
	for _, c := range []struct {
		change func(*TopicInput)
		words  string
	}{
		{func(in *TopicInput) { in.Name = "" }, "`name` is required"},
		{func(in *TopicInput) { in.Name = "\u2003" }, "`name` is required"},
		{func(in *TopicInput) { in.Name += "x" }, "`name` can have at most 50"},
		{func(in *TopicInput) { in.Name = "a\tb" }, "`name` must not"},
		{func(in *TopicInput) { in.Description += "x" }, "`description` can have at most 200"},
		{func(in *TopicInput) { in.Description = "a\r\nb" }, "`description` must not"},
		{func(in *TopicInput) { in.Default = "" }, "`default_subscription` is required"},
		{func(in *TopicInput) { in.Default = "in" }, "`default_subscription` must be"},
		{func(in *TopicInput) { in.Visibility = "hidden" }, "`visibility` must be"},
	} {
		in := good
		c.change(&in)
		if _, err := in.Validate(); CodeOf(err) != CodeValidation || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%+v: %v, want %s", in, err, c.words)
		}
	}
}

func TestTopicPatchChangesNamedFieldsOnly(t *testing.T) {
	old := Topic{ID: "t", Name: "News", Description: "d", Default: OptIn, Visibility: PublicTopic}
	for _, c := range []struct {
		patch TopicPatch
		want  Topic
	}{
		{TopicPatch{}, old},
		{TopicPatch{Default: OptIn, Description: Change[string]{Set: true}}, old},
		{TopicPatch{Name: "x"}, Topic{ID: "t", Name: "x", Description: "d", Default: OptIn, Visibility: PublicTopic}},
		{TopicPatch{Description: Change[string]{Set: true, Null: true}}, Topic{ID: "t", Name: "News", Default: OptIn, Visibility: PublicTopic}},
		{TopicPatch{Description: Change[string]{Set: true, Value: "e"}}, Topic{ID: "t", Name: "News", Description: "e", Default: OptIn, Visibility: PublicTopic}},
		{TopicPatch{Visibility: PrivateTopic}, Topic{ID: "t", Name: "News", Description: "d", Default: OptIn, Visibility: PrivateTopic}},
	} {
		if got, err := c.patch.Apply(old); err != nil || got != c.want {
			t.Errorf("%+v gives %+v, %v", c.patch, got, err)
		}
	}
	for _, patch := range []TopicPatch{
		{Default: OptOut}, {Default: "x"}, {Name: " "}, {Name: strings.Repeat("x", 51)}, {Visibility: "x"},
		{Description: Change[string]{Set: true, Value: strings.Repeat("x", 201)}},
	} {
		if _, err := patch.Apply(old); CodeOf(err) != CodeValidation {
			t.Errorf("%+v: %v", patch, err)
		}
	}
}

func TestLastChoices(t *testing.T) {
	got := LastChoices([]TopicChoice{{"a", OptIn}, {"b", OptIn}, {"a", OptOut}, {"c", OptIn}, {"b", OptOut}, {"b", OptIn}})
	if want := []TopicChoice{{"a", OptOut}, {"b", OptIn}, {"c", OptIn}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := LastChoices(nil); len(got) != 0 {
		t.Errorf("%v of none", got)
	}
}

func TestTopicChoiceErrorNamesIndex(t *testing.T) {
	id := NewID()
	got, err := ValidateChoices("topics", []TopicChoice{{strings.ToUpper(id), OptOut}})
	if err != nil || !slices.Equal(got, []TopicChoice{{id, OptOut}}) {
		t.Errorf("%v, %v", got, err)
	}
	many := make([]TopicChoice, MaxContactLinks+1)
	for i := range many {
		many[i] = TopicChoice{id, OptIn}
	}
	if _, err := ValidateChoices("topics", many[1:]); err != nil {
		t.Error(err)
	}
	for words, bad := range map[string][]TopicChoice{
		"`topics` can hold at most 1000":       many,
		"`topics[1].id` must be":               {{id, OptIn}, {"x", OptIn}},
		"`topics[0].subscription` must be opt": {{id, ""}},
	} {
		if _, err := ValidateChoices("topics", bad); CodeOf(err) != CodeValidation || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want %s", err, words)
		}
	}
}
