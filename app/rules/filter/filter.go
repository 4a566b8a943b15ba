// Package filter says which contacts a segment's filter picks, one at a time, as the
// store's statements do for many; a test of the store compares the two. Packages from
// the store on upward may import it; it does no I/O and keeps no state.
//
// Failure policy: it can't fail. With a condition that can't be read, which
// Filter.Validate refuses, no comparison holds.
package filter

import (
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// Facts are what a filter can ask for beyond the columns of a contact. The zero value
// knows no topics and no broadcasts.
type Facts struct {
	Now time.Time
	// Topic returns what the contact gets of a topic; empty for a topic that is not the
	// team's.
	Topic func(id string) app.Subscription
	// Broadcast returns what happened to the contact's email of a broadcast, if it is one of
	// its recipients; not ok for a broadcast that is not the team's. whole: none of its
	// recipients were deleted for their age.
	Broadcast func(id string) (seen app.Seen, ok, whole bool)
}

// Matches reports whether the filter picks a contact, as the store's scans do. A
// nil filter picks nobody.
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
	case app.FieldReceived, app.FieldOpened, app.FieldClicked:
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

// valueOf returns what a contact has in the field of the condition.
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

// equals compares text as it is written, and a number also as a number.
func equals(c *app.Condition, v app.PropertyValue) bool {
	if v.Type == app.NumberProperty {
		n, ok := c.NumberValue()
		return ok && n == v.Number
	}
	return v.Text == c.Value
}

// matchesValue compares a value that is there.
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
