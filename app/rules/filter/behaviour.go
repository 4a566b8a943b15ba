package filter

import (
	"time"

	"mailer/app"
)

// matchesActivity evaluates a condition on received, opened, clicked or answered emails.
func matchesActivity(c *app.Condition, contact *app.Contact, facts *Facts) bool {
	last := contact.LastSentAt
	switch c.Field {
	case app.FieldOpened:
		last = contact.LastOpenedAt
	case app.FieldClicked:
		last = contact.LastClickedAt
	case app.FieldReplied:
		last = contact.LastRepliedAt
	}
	switch c.Op {
	case app.OpIsTrue:
		return !last.IsZero()
	case app.OpIsFalse:
		return last.IsZero()
	case app.OpInBroadcast, app.OpNotInBroadcast:
		return matchesBroadcast(c, facts)
	}
	from, ok := Since(c, facts.Now)
	switch {
	case !ok:
		return false
	case c.Op == app.OpWithinDays:
		return !last.IsZero() && !last.Before(from)
	case c.Field == app.FieldReceived:
		return last.Before(from)
	}
	return !contact.LastSentAt.IsZero() && !contact.CreatedAt.After(from) && last.Before(from)
}

// Since returns the time that a condition's number of days is before now.
func Since(c *app.Condition, now time.Time) (time.Time, bool) {
	days, ok := c.DaysValue()
	return now.Add(-time.Duration(days) * 24 * time.Hour).Truncate(time.Millisecond), ok
}

func matchesBroadcast(c *app.Condition, facts *Facts) bool {
	if facts.Broadcast == nil {
		return false
	}
	seen, ok, whole := facts.Broadcast(c.Value)
	with, without := c.BroadcastBits()
	has := seen&with != 0 && seen&without == 0
	if c.Field == app.FieldReceived && c.Op == app.OpNotInBroadcast {
		return ok && whole && !has // otherwise contacts whose recipient row was deleted would match
	}
	return ok && has
}

func matchesTopic(c *app.Condition, facts *Facts) bool {
	if facts.Topic == nil {
		return false
	}
	want := app.OptIn
	if c.Op == app.OpNotSubscribed {
		want = app.OptOut
	}
	return facts.Topic(c.Value) == want
}
