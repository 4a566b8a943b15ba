package app

import (
	"fmt"
	"strconv"
	"strings"
)

// Fields of conditions on the emails that a contact got, and on topics.
const (
	FieldReceived = "received"
	FieldOpened   = "opened"
	FieldClicked  = "clicked"
	FieldTopic    = "topic"
)

// Operators of these fields; OpIsTrue and OpIsFalse ask for any email.
const (
	OpWithinDays     = "within_days"      // value: days
	OpNotWithinDays  = "not_within_days"  // value: days
	OpInBroadcast    = "in_broadcast"     // value: id of a broadcast
	OpNotInBroadcast = "not_in_broadcast" // value: id of a broadcast
	OpSubscribed     = "subscribed"       // value: id of a topic
	OpNotSubscribed  = "not_subscribed"   // value: id of a topic
)

// MaxConditionDays bounds the days of a condition.
const MaxConditionDays = 3650

// behaviourOps are the operators of the fields above; nil: of another field.
func behaviourOps(field string) []string {
	switch field {
	case FieldReceived, FieldOpened, FieldClicked:
		return []string{OpIsTrue, OpIsFalse, OpWithinDays, OpNotWithinDays, OpInBroadcast, OpNotInBroadcast}
	case FieldTopic:
		return []string{OpSubscribed, OpNotSubscribed}
	}
	return nil
}

// DaysValue returns the value as a number of days.
func (c *Condition) DaysValue() (days int, ok bool) {
	if strings.Trim(c.Value, "0123456789") != "" {
		return 0, false
	}
	days, err := strconv.Atoi(c.Value)
	return days, err == nil && days >= 1 && days <= MaxConditionDays
}

// validateBehaviour checks the value of an operator above, and writes an id in its usual
// form. The error does not name a field.
func (c *Condition) validateBehaviour() error {
	switch c.Op {
	case OpWithinDays, OpNotWithinDays:
		if _, ok := c.DaysValue(); !ok {
			return fmt.Errorf("must be a whole number of days from 1 to %d", MaxConditionDays)
		}
	case OpInBroadcast, OpNotInBroadcast, OpSubscribed, OpNotSubscribed:
		id, ok := ParseID(c.Value)
		if !ok {
			return fmt.Errorf("must be the id of a %s", c.Names())
		}
		c.Value = id
	}
	return nil
}

// Names says what the value is the id of: "broadcast", "topic", or empty for nothing.
func (c *Condition) Names() string {
	switch c.Op {
	case OpInBroadcast, OpNotInBroadcast:
		return "broadcast"
	case OpSubscribed, OpNotSubscribed:
		return "topic"
	}
	return ""
}

// RenameTopics gives the topics of conditions other ids.
func (f *Filter) RenameTopics(ids map[string]string) {
	if f == nil {
		return
	}
	for i := range f.Conditions {
		c := &f.Conditions[i]
		if id := ids[c.Value]; c.Field == FieldTopic && id != "" {
			c.Value = id
		}
	}
}

// IsLive reports whether the contacts that the filter picks can change while contacts stay
// as they are: with the emails that they get, with time, or with what they choose.
func (f *Filter) IsLive() bool {
	if f == nil {
		return false
	}
	for i := range f.Conditions {
		if behaviourOps(f.Conditions[i].Field) != nil {
			return true
		}
	}
	return false
}

// BroadcastBits are the bits of a recipient of a broadcast that a condition on it asks for:
// one of with, none of without. A click counts as an open, since images may be blocked.
// NOT IN of FieldReceived is the opposite of these bits; that of the others asks for
// recipients who got the broadcast and did not open or click.
func (c *Condition) BroadcastBits() (with, without Seen) {
	const got = SeenSent | SeenDelivered | SeenOpened | SeenClicked | SeenComplained
	hit := SeenClicked
	if c.Field == FieldOpened {
		hit |= SeenOpened
	}
	switch {
	case c.Field == FieldReceived:
		return got, SeenBounced
	case c.Op == OpInBroadcast:
		return hit, 0
	}
	return got, hit | SeenBounced
}
