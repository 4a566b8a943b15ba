package app

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Subscription is the choice of an address about a topic.
type Subscription string

// The choices.
const (
	OptIn  Subscription = "opt_in"
	OptOut Subscription = "opt_out"
)

func (s Subscription) valid() bool { return s == OptIn || s == OptOut }

// Visibility says whether the hosted preference page lists a topic.
type Visibility string

// The values of Visibility. The default is private.
const (
	PublicTopic  Visibility = "public"
	PrivateTopic Visibility = "private"
)

// TopicArchive says who finds the archive of a topic.
type TopicArchive string

// The values of TopicArchive. Without one a topic has no archive.
const (
	PublicArchive   TopicArchive = "public"
	UnlistedArchive TopicArchive = "unlisted" // for those who know its URL
)

// Topic is a kind of mail that recipients can opt in to or out of.
type Topic struct {
	ID          string
	TeamID      string
	Name        string
	Description string // empty: none
	Default     Subscription
	Visibility  Visibility
	Archive     TopicArchive // empty: none
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// TopicInput is a topic to create.
type TopicInput struct {
	Name        string
	Description string
	Default     Subscription
	Visibility  Visibility // empty: private
}

// Validate checks the input and returns the topic without id, team and times. Errors:
// CodeValidation.
func (in *TopicInput) Validate() (Topic, error) {
	t := Topic{Name: in.Name, Description: in.Description, Default: in.Default, Visibility: in.Visibility}
	if t.Visibility == "" {
		t.Visibility = PrivateTopic
	}
	if err := t.check(); err != nil {
		return t, err
	}
	if t.Default == "" {
		return t, Invalid("default_subscription", "is required")
	}
	if !t.Default.valid() {
		return t, Invalid("default_subscription", "must be opt_in or opt_out")
	}
	return t, nil
}

// check checks the fields that can be changed. A blank name would be an unlabelled choice on the
// preference page.
func (t *Topic) check() error {
	switch {
	case strings.TrimSpace(t.Name) == "":
		return Invalid("name", "is required")
	case utf8.RuneCountInString(t.Name) > MaxTopicName:
		return Invalid("name", "can have at most %d characters", MaxTopicName)
	case HasControl(t.Name):
		return Invalid("name", "must not contain line breaks or other control characters")
	case utf8.RuneCountInString(t.Description) > MaxTopicDescription:
		return Invalid("description", "can have at most %d characters", MaxTopicDescription)
	case HasControl(t.Description):
		return Invalid("description", "must not contain line breaks or other control characters")
	case t.Visibility != PublicTopic && t.Visibility != PrivateTopic:
		return Invalid("visibility", "must be public or private")
	case t.Archive != "" && t.Archive != PublicArchive && t.Archive != UnlistedArchive:
		return Invalid("archive", "must be public, unlisted or null")
	case t.Archive != "" && t.Visibility != PublicTopic:
		return Invalid("archive", "needs a topic with `visibility`: public")
	}
	return nil
}

// TopicPatch changes a topic. Its default can't be changed.
type TopicPatch struct {
	Name        string         // empty: unchanged
	Description Change[string] // null clears, empty means absent
	Visibility  Visibility     // empty: unchanged
	Default     Subscription   // empty, or the current value
	Archive     Change[TopicArchive]
}

// Apply returns the topic with the patch applied. Errors: CodeValidation.
func (p *TopicPatch) Apply(t Topic) (Topic, error) {
	if p.Default != "" && p.Default != t.Default {
		return t, Invalid("default_subscription", "is fixed when the topic is created and can't be changed")
	}
	if p.Name != "" {
		t.Name = p.Name
	}
	if p.Description.Set && (p.Description.Null || p.Description.Value != "") {
		t.Description = p.Description.Value
	}
	if p.Visibility != "" {
		t.Visibility = p.Visibility
	}
	if p.Archive.Set {
		t.Archive = p.Archive.Value
	}
	return t, t.check()
}

// ContactTopic is the subscription of one address to a topic.
type ContactTopic struct {
	Topic
	Subscription Subscription // the explicit choice, or the topic's default
	Explicit     bool         // chosen by the address
}

// TopicChoice is a choice about a topic in an input.
type TopicChoice struct {
	ID           string       `json:"id"`
	Subscription Subscription `json:"subscription"`
}

// ValidateChoices checks choices without the database and returns them with ids in lower case.
func ValidateChoices(field string, choices []TopicChoice) ([]TopicChoice, error) {
	if len(choices) > MaxContactLinks {
		return nil, Invalid(field, "can hold at most %d items", MaxContactLinks)
	}
	out := make([]TopicChoice, len(choices))
	for i, c := range choices {
		id, ok := ParseID(c.ID)
		if !ok {
			return nil, Invalid(fmt.Sprintf("%s[%d].id", field, i), "must be the id of a topic")
		}
		if !c.Subscription.valid() {
			return nil, Invalid(fmt.Sprintf("%s[%d].subscription", field, i), "must be opt_in or opt_out")
		}
		out[i] = TopicChoice{ID: id, Subscription: c.Subscription}
	}
	return out, nil
}

// LastChoices returns each topic once, at its first position, with its last choice.
func LastChoices(choices []TopicChoice) []TopicChoice {
	var out []TopicChoice
	for _, c := range choices {
		same := func(o TopicChoice) bool { return o.ID == c.ID }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i] = c
			continue
		}
		out = append(out, c)
	}
	return out
}
