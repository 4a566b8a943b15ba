package app

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"mailer/app/kit/schedule"
)

// Match says how the conditions of a filter are combined.
type Match string

// The values of Match.
const (
	MatchAll Match = "all"
	MatchAny Match = "any"
)

// Condition compares one field of a contact: email, first_name, last_name, unsubscribed,
// created_at or property:KEY. Or it tests the contact's activity (FieldReceived and others).
type Condition struct {
	Field string `json:"field"`
	Op    string `json:"op"`
	Value string `json:"value"`
}

// Filter selects contacts. Without conditions it selects all.
type Filter struct {
	Match      Match       `json:"match"`
	Conditions []Condition `json:"conditions"`
}

// Segment is a part of the audience: the contacts that match its filter and those that were added
// by hand.
type Segment struct {
	ID        string
	TeamID    string
	Name      string
	Filter    *Filter // nil: only members added by hand
	Members   int     // added by hand
	CreatedAt time.Time
}

// SegmentInput is a segment to create.
type SegmentInput struct {
	Name   string
	Filter *Filter
}

// Validate checks name and filter without the database. The store checks the types of properties
// (Filter.Fits).
func (in *SegmentInput) Validate() error {
	if in.Name == "" {
		return Invalid("name", "is required")
	}
	if err := checkSegmentName(in.Name); err != nil {
		return err
	}
	return in.Filter.Validate()
}

func checkSegmentName(name string) error {
	if name != "" && strings.TrimSpace(name) == "" {
		return Invalid("name", "must not be blank")
	}
	if utf8.RuneCountInString(name) > MaxSegmentName {
		return Invalid("name", "can have at most %d characters", MaxSegmentName)
	}
	if HasControl(name) {
		return Invalid("name", "must not contain line breaks or other control characters")
	}
	return nil
}

// SegmentPatch changes a segment.
type SegmentPatch struct {
	Name   string          // empty: unchanged
	Filter Change[*Filter] // null: only members added by hand
}

// Validate checks the patch without the database.
func (p *SegmentPatch) Validate() error {
	if err := checkSegmentName(p.Name); err != nil {
		return err
	}
	return p.Filter.Value.Validate()
}

// Apply returns the segment with the patch applied.
func (p *SegmentPatch) Apply(s Segment) Segment {
	if p.Name != "" {
		s.Name = p.Name
	}
	if p.Filter.Set {
		s.Filter = p.Filter.Value // nil for null
	}
	return s
}

// PropertyPrefix begins the field of a condition on a property.
const PropertyPrefix = "property:"

// The operators of a condition.
const (
	OpEquals      = "equals"
	OpNotEquals   = "not_equals"
	OpContains    = "contains"
	OpStartsWith  = "starts_with"
	OpEndsWith    = "ends_with"
	OpIsSet       = "is_set"
	OpIsNotSet    = "is_not_set"
	OpGreaterThan = "greater_than"
	OpLessThan    = "less_than"
	OpIsTrue      = "is_true"
	OpIsFalse     = "is_false"
	OpBefore      = "before"
	OpAfter       = "after"
)

// textOps returns the operators of text fields.
func textOps() []string {
	return []string{OpEquals, OpNotEquals, OpContains, OpStartsWith, OpEndsWith, OpIsSet, OpIsNotSet}
}

func opsOf(field string) ([]string, bool) {
	switch field {
	case "email", "first_name", "last_name":
		return textOps(), true
	case "unsubscribed":
		return []string{OpIsTrue, OpIsFalse}, true
	case "created_at":
		return []string{OpBefore, OpAfter}, true
	}
	if ops := behaviourOps(field); ops != nil {
		return ops, true
	}
	if key, ok := strings.CutPrefix(field, PropertyPrefix); ok && CheckPropertyKey(key, MaxPropertyKey) == nil {
		return append(textOps(), OpGreaterThan, OpLessThan), true
	}
	return nil, false
}

// Validate checks match, fields, operators and values, and clears values that their operator
// ignores. A nil filter is valid.
func (f *Filter) Validate() error {
	if f == nil {
		return nil
	}
	if f.Match != MatchAll && f.Match != MatchAny {
		return Invalid("filter.match", "must be all or any")
	}
	if len(f.Conditions) > MaxConditions {
		return Invalid("filter.conditions", "can hold at most %d items", MaxConditions)
	}
	if f.Conditions == nil {
		f.Conditions = []Condition{} // JSON answers contain a list
	}
	for i := range f.Conditions {
		if err := f.Conditions[i].validate(fmt.Sprintf("filter.conditions[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Condition) validate(at string) error {
	ops, ok := opsOf(c.Field)
	if !ok {
		return Invalid(at+".field", "must be email, first_name, last_name, unsubscribed, created_at, received, opened, clicked, replied, topic or property: and a key")
	}
	if !slices.Contains(ops, c.Op) {
		return Invalid(at+".op", "must be one of %s for this field", strings.Join(ops, ", "))
	}
	switch c.Op {
	case OpIsSet, OpIsNotSet, OpIsTrue, OpIsFalse:
		c.Value = ""
		return nil
	}
	if err := c.validateValue(); err != nil {
		return Invalid(at+".value", "%s", err)
	}
	return nil
}

// validateValue checks the value of an operator that needs one. The error does not name a field.
func (c *Condition) validateValue() error {
	switch {
	case c.Value == "":
		return fmt.Errorf("is required")
	case utf8.RuneCountInString(c.Value) > maxConditionValue:
		return fmt.Errorf("can have at most %d characters", maxConditionValue)
	case !utf8.ValidString(c.Value) || strings.Contains(c.Value, "\x00"):
		return fmt.Errorf("must not contain the character NUL")
	}
	switch c.Op {
	case OpGreaterThan, OpLessThan:
		if _, ok := c.NumberValue(); !ok {
			return fmt.Errorf("must be a number")
		}
	case OpBefore, OpAfter:
		if _, err := c.TimeValue(); err != nil {
			return fmt.Errorf("must be a date or a time in ISO 8601")
		}
	}
	return c.validateBehaviour()
}

// Fits checks the filter against the types of declared properties: greater and less need a number.
func (f *Filter) Fits(declared map[string]PropertyType) error {
	if f == nil {
		return nil
	}
	for i, c := range f.Conditions {
		key, ok := strings.CutPrefix(c.Field, PropertyPrefix)
		if ok && declared[key] == StringProperty && (c.Op == OpGreaterThan || c.Op == OpLessThan) {
			return Invalid(fmt.Sprintf("filter.conditions[%d].op", i), "needs a property of type number")
		}
	}
	return nil
}

// NumberValue returns the value as a finite number in decimal notation, without negative zero.
func (c *Condition) NumberValue() (n float64, ok bool) {
	if strings.Trim(c.Value, "0123456789.+-eE") != "" {
		return 0, false // ParseFloat also accepts infinities, hexadecimal and _
	}
	n, err := strconv.ParseFloat(c.Value, 64)
	return n + 0, err == nil
}

// TimeValue parses the value of a condition on created_at: ISO 8601 with offset, Z or without a
// zone (UTC), or a date (its first moment in UTC).
func (c *Condition) TimeValue() (time.Time, error) {
	return schedule.ParseMoment(c.Value)
}

// Fields of conditions on activity and topics.
const (
	FieldReceived = "received"
	FieldOpened   = "opened"
	FieldClicked  = "clicked"
	FieldReplied  = "replied"
	FieldTopic    = "topic"
)

// Operators of these fields. OpIsTrue and OpIsFalse are about any email.
const (
	OpWithinDays     = "within_days"      // value: days
	OpNotWithinDays  = "not_within_days"  // value: days
	OpInBroadcast    = "in_broadcast"     // value: id of a broadcast
	OpNotInBroadcast = "not_in_broadcast" // value: id of a broadcast
	OpSubscribed     = "subscribed"       // value: id of a topic
	OpNotSubscribed  = "not_subscribed"   // value: id of a topic
)

// behaviourOps returns the operators of the fields above; nil for other fields.
func behaviourOps(field string) []string {
	switch field {
	case FieldReceived, FieldOpened, FieldClicked, FieldReplied:
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

// validateBehaviour checks the value of such an operator and converts ids to canonical form. The
// error does not name a field.
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

// Names returns which kind of id the value is: "broadcast", "topic", or "" for neither.
func (c *Condition) Names() string {
	switch c.Op {
	case OpInBroadcast, OpNotInBroadcast:
		return "broadcast"
	case OpSubscribed, OpNotSubscribed:
		return "topic"
	}
	return ""
}

// RenameTopics replaces the ids of topics in conditions.
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

// IsLive reports whether the selected contacts can change without a change of contacts: by the
// emails they get, by time, or by their topic choices.
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

// BroadcastBits returns the event bits that a condition on a broadcast requires: one of with, none
// of without. A click counts as an open, since images may be blocked. OpNotInBroadcast of
// FieldReceived inverts the bits; for the other fields it selects recipients who got the broadcast
// and did not open, click or answer.
func (c *Condition) BroadcastBits() (with, without Seen) {
	const got = SeenSent | SeenDelivered | SeenOpened | SeenClicked | SeenComplained
	hit := SeenClicked
	switch c.Field {
	case FieldOpened:
		hit |= SeenOpened
	case FieldReplied:
		hit = SeenReplied
	}
	switch {
	case c.Field == FieldReceived:
		return got, SeenBounced
	case c.Op == OpInBroadcast:
		return hit, 0
	}
	return got, hit | SeenBounced
}
