// Package filter evaluates a segment's filter for one contact, with the same result as the store's
// statements for many; a test of the store compares the two. It does no I/O and keeps no state.
//
// It can't fail. A condition that Filter.Validate refuses never matches.
package filter

import (
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// Facts are data for conditions other than on a contact's columns. The zero value has no topics
// and broadcasts.
type Facts struct {
	Now time.Time
	// Topic returns the contact's subscription to a topic; empty for another team's topic.
	Topic func(id string) app.Subscription
	// Broadcast returns the events of the contact's email in a broadcast, if it is a recipient; ok
	// is false for another team's broadcast. whole: no recipients were deleted by retention.
	Broadcast func(id string) (seen app.Seen, ok, whole bool)
}

// Matches reports whether the filter selects a contact. A nil filter selects nobody.
func Matches(f *app.Filter, c *app.Contact, facts Facts) bool {
	if f == nil {
		return false
	}
	if len(f.Conditions) == 0 {
		return true
	}
	picks := func(cond app.Condition) bool { return matches(&cond, c, &facts) }
	if f.Match == app.MatchAny {
		return slices.ContainsFunc(f.Conditions, picks)
	}
	return !slices.ContainsFunc(f.Conditions, func(cond app.Condition) bool { return !picks(cond) })
}

func matches(c *app.Condition, contact *app.Contact, facts *Facts) bool {
	switch c.Field {
	case "unsubscribed":
		return contact.Unsubscribed == (c.Op == app.OpIsTrue)
	case "created_at":
		return matchesTime(c, contact.CreatedAt)
	case app.FieldReceived, app.FieldOpened, app.FieldClicked, app.FieldReplied:
		return matchesActivity(c, contact, facts)
	case app.FieldTopic:
		return matchesTopic(c, facts)
	}
	value, set := valueOf(c, contact)
	switch c.Op {
	case app.OpIsSet:
		return set
	case app.OpIsNotSet:
		return !set
	case app.OpNotEquals:
		return !set || !equals(c, value)
	}
	return set && matchesValue(c, value)
}

func matchesTime(c *app.Condition, created time.Time) bool {
	t, err := c.TimeValue()
	if err != nil {
		return false
	}
	if c.Op == app.OpBefore {
		return created.Before(t)
	}
	return created.After(t)
}

// valueOf returns the contact's value of the condition's field.
func valueOf(c *app.Condition, contact *app.Contact) (v app.PropertyValue, set bool) {
	if key, ok := strings.CutPrefix(c.Field, app.PropertyPrefix); ok {
		v, set = contact.Properties[key]
		return v, set
	}
	v.Type = app.StringProperty
	switch c.Field {
	case "email":
		v.Text = contact.Email
	case "first_name":
		v.Text = contact.FirstName
	case "last_name":
		v.Text = contact.LastName
	}
	return v, v.Text != ""
}

// equals compares as text, and numbers also as numbers.
func equals(c *app.Condition, v app.PropertyValue) bool {
	if v.Type == app.NumberProperty {
		n, ok := c.NumberValue()
		return ok && n == v.Number
	}
	return v.Text == c.Value
}

// matchesValue compares a value that exists.
func matchesValue(c *app.Condition, v app.PropertyValue) bool {
	switch c.Op {
	case app.OpEquals:
		return equals(c, v)
	case app.OpContains:
		return strings.Contains(v.String(), c.Value)
	case app.OpStartsWith:
		return strings.HasPrefix(v.String(), c.Value)
	case app.OpEndsWith:
		return strings.HasSuffix(v.String(), c.Value)
	}
	n, ok := c.NumberValue()
	if v.Type != app.NumberProperty || !ok {
		return false
	}
	if c.Op == app.OpGreaterThan {
		return v.Number > n
	}
	return v.Number < n
}
