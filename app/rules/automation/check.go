package automation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

func asSemantic(err error, to **json.SemanticError) bool { return errors.As(err, to) }

// check checks a decoded configuration, and writes ids in their canonical spelling.
func check(field string, config any) error {
	switch c := config.(type) {
	case *TriggerConfig:
		return c.check(field)
	case *SendEmailConfig:
		return c.check(field)
	case *DelayConfig:
		return checkDuration(field+".duration", c.Duration, true)
	case *WaitForEventConfig:
		if err := checkEventName(field+".event_name", c.EventName, eventsToWaitFor); err != nil {
			return err
		}
		if err := checkDuration(field+".timeout", c.Timeout, false); err != nil {
			return err
		}
		return c.FilterRule.check(field + ".filter_rule")
	case *WaitUntilConfig:
		return c.check(field)
	case *Rule:
		return c.check(field)
	case *ContactUpdateConfig:
		return c.check(field)
	case *SegmentConfig:
		return checkID(field+".segment_id", "a segment", &c.SegmentID)
	case *SetTopicConfig:
		if err := checkID(field+".topic_id", "a topic", &c.TopicID); err != nil {
			return err
		}
		if c.Subscription != app.OptIn && c.Subscription != app.OptOut {
			return app.Invalid(field+".subscription", "must be opt_in or opt_out")
		}
	case *WebhookConfig:
		if err := checkID(field+".webhook_id", "a webhook", &c.WebhookID); err != nil {
			return err
		}
		return checkEventName(field+".type", c.Type, nil)
	case *SplitConfig:
		if c.Percent < 1 || c.Percent > 99 {
			return app.Invalid(field+".percent", "must be 1 to 99")
		}
	case *GoalConfig:
		return c.check(field)
	}
	return nil
}

// checkID checks a required id and writes it in lower case.
func checkID(field, kind string, id *string) error {
	if *id == "" {
		return app.Invalid(field, "is required")
	}
	canonical, ok := app.ParseID(*id)
	if !ok {
		return app.Invalid(field, "must be the id of %s", kind)
	}
	*id = canonical
	return nil
}

// checkOptionalID is checkID for an id that may be absent.
func checkOptionalID(field, kind string, id *string) error {
	if *id == "" {
		return nil
	}
	return checkID(field, kind, id)
}

// eventsToWaitFor are the events of Mailer itself that steps can wait for.
var eventsToWaitFor = []string{app.TriggerOptIn, app.TriggerSegmentJoined, app.TriggerEmailOpened, app.TriggerEmailClicked, app.TriggerEmailReplied}

// checkEventName checks the name of a custom event, or of one of the events of Mailer itself that are
// allowed.
func checkEventName(field, name string, allowed []string) error {
	switch {
	case name == "":
		return app.Invalid(field, "is required")
	case slices.Contains(allowed, name):
		return nil
	case strings.HasPrefix(name, "mailer:"):
		if len(allowed) == 0 {
			return app.Invalid(field, "must not begin with mailer:, which is reserved")
		}
		return app.Invalid(field, "must be a custom event, or one of %s", strings.Join(allowed, ", "))
	}
	return CheckCustomEventName(field, name)
}

// CheckCustomEventName checks the name of a custom event. Errors: CodeValidation.
func CheckCustomEventName(field, name string) error {
	switch {
	case name == "":
		return app.Invalid(field, "is required")
	case strings.HasPrefix(name, "resend:"), strings.HasPrefix(name, "mailer:"):
		return app.Invalid(field, "must not begin with resend: or mailer:, which are reserved")
	case utf8.RuneCountInString(name) > app.MaxEventName:
		return app.Invalid(field, "can have at most %d characters", app.MaxEventName)
	case !utf8.ValidString(name) || app.HasHidden(name) || strings.TrimSpace(name) != name:
		return app.Invalid(field, "must not contain control characters, invisible formatting, or space at its ends")
	}
	return nil
}

func (c *TriggerConfig) check(field string) error {
	if err := checkEventName(field+".event_name", c.EventName, app.Triggers); err != nil {
		return err
	}
	if err := c.checkMembers(field); err != nil {
		return err
	}
	for _, id := range []struct {
		name, kind string
		id         *string
	}{{"topic_id", "a topic", &c.TopicID}, {"segment_id", "a segment", &c.SegmentID}, {"broadcast_id", "a broadcast", &c.BroadcastID}, {"template_id", "a template", &c.TemplateID}} {
		if err := checkOptionalID(field+"."+id.name, id.kind, id.id); err != nil {
			return err
		}
	}
	switch c.EventName {
	case app.TriggerSegmentJoined, app.TriggerSchedule:
		if c.SegmentID == "" {
			return app.Invalid(field+".segment_id", "is required")
		}
	case app.TriggerDate:
		if c.Property == "" || len(c.Property) > app.MaxStepKey {
			return app.Invalid(field+".property", "must name a contact property that holds a date")
		}
		if c.Days < -app.MaxDelayDays || c.Days > app.MaxDelayDays {
			return app.Invalid(field+".days", "must be %d to %d", -app.MaxDelayDays, app.MaxDelayDays)
		}
		if c.Hour < 0 || c.Hour > 23 {
			return app.Invalid(field+".hour", "must be 0 to 23")
		}
	}
	if c.EventName == app.TriggerSchedule {
		if _, err := ParseSchedule(c.Schedule); err != nil {
			return app.Invalid(field+".schedule", "%v", err)
		}
	}
	if err := checkZone(field+".time_zone", c.TimeZone); err != nil {
		return err
	}
	return c.FilterRule.check(field + ".filter_rule")
}

// checkMembers refuses members that belong to another trigger.
func (c *TriggerConfig) checkMembers(field string) error {
	mail := []string{app.TriggerEmailOpened, app.TriggerEmailClicked, app.TriggerEmailReplied}
	for _, m := range []struct {
		name string
		set  bool
		of   []string
	}{
		{"topic_id", c.TopicID != "", []string{app.TriggerOptIn}},
		{"segment_id", c.SegmentID != "", []string{app.TriggerSegmentJoined, app.TriggerSchedule}},
		{"broadcast_id", c.BroadcastID != "", mail}, {"template_id", c.TemplateID != "", mail},
		{"property", c.Property != "", []string{app.TriggerDate}}, {"days", c.Days != 0, []string{app.TriggerDate}},
		{"hour", c.Hour != 0, []string{app.TriggerDate}}, {"yearly", c.Yearly, []string{app.TriggerDate}},
		{"schedule", c.Schedule != "", []string{app.TriggerSchedule}}, {"time_zone", c.TimeZone != "", []string{app.TriggerSchedule}},
	} {
		if m.set && !slices.Contains(m.of, c.EventName) {
			return app.Invalid(field+"."+m.name, "is for the trigger %s", strings.Join(m.of, " or "))
		}
	}
	return nil
}

func checkZone(field, name string) error {
	if name == "" {
		return nil
	}
	if _, ok := Zone(name); !ok {
		return app.Invalid(field, "must be a time zone like Europe/Berlin or UTC")
	}
	return nil
}

func (c *SendEmailConfig) check(field string) error {
	if c.Template.ID == "" {
		return app.Invalid(field+".template.id", "is required")
	}
	if len(c.Template.ID) > app.MaxStepKey {
		return app.Invalid(field+".template.id", "must be the id or alias of a template")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Template.Variables)) {
		if err := checkValue(field+".template.variables."+name, c.Template.Variables[name]); err != nil {
			return err
		}
	}
	for _, a := range []struct{ name, address string }{{"from", c.From}, {"reply_to", c.ReplyTo}} {
		if a.address == "" {
			continue
		}
		if _, err := app.ParseAddress(a.address); err != nil {
			return app.Invalid(field+"."+a.name, "%v", err)
		}
	}
	if utf8.RuneCountInString(c.Subject) > maxSubject || app.HasHidden(c.Subject) {
		return app.Invalid(field+".subject", "must be one line of at most %d characters", maxSubject)
	}
	if c.TopicID != "" && c.Transactional {
		return app.Invalid(field+".transactional", "must not be true with topic_id: mail of a topic needs consent")
	}
	return checkOptionalID(field+".topic_id", "a topic", &c.TopicID)
}

// maxSubject bounds the subject of a step, in characters.
const maxSubject = 998

func (c *WaitUntilConfig) check(field string) error {
	if c.Hour < 0 || c.Hour > 23 {
		return app.Invalid(field+".hour", "must be 0 to 23")
	}
	if c.Minute < 0 || c.Minute > 59 {
		return app.Invalid(field+".minute", "must be 0 to 59")
	}
	for i, day := range c.Weekdays {
		if _, ok := weekdays[strings.ToLower(day)]; !ok {
			return app.Invalid(fmt.Sprintf("%s.weekdays[%d]", field, i), "must be a day of the week in English, like friday")
		}
	}
	return checkZone(field+".time_zone", c.TimeZone)
}

var weekdays = map[string]time.Weekday{"sunday": time.Sunday, "monday": time.Monday, "tuesday": time.Tuesday, "wednesday": time.Wednesday,
	"thursday": time.Thursday, "friday": time.Friday, "saturday": time.Saturday}

func (c *ContactUpdateConfig) check(field string) error {
	if c.FirstName == nil && c.LastName == nil && c.Unsubscribed == nil && len(c.Properties) == 0 {
		return app.Invalid(field, "must change something: first_name, last_name, unsubscribed or properties")
	}
	for _, m := range []struct {
		name  string
		value jsontext.Value
		kinds string
	}{{"first_name", c.FirstName, "\"n"}, {"last_name", c.LastName, "\"n"}, {"unsubscribed", c.Unsubscribed, "tf"}} {
		if m.value == nil {
			continue
		}
		if _, isVar := VarOf(m.value); !isVar && !strings.ContainsRune(m.kinds, rune(m.value.Kind())) {
			return app.Invalid(field+"."+m.name, "has a value of a wrong type")
		}
		if err := checkValue(field+"."+m.name, m.value); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Properties)) {
		v := c.Properties[key]
		if err := checkValue(field+".properties."+key, v); err != nil {
			return err
		}
		if _, isVar := VarOf(v); !isVar && (v.Kind() == '{' || v.Kind() == '[') {
			return app.Invalid(field+".properties."+key, "must be a string, a number, true, false, null, or {\"var\": …}")
		}
	}
	return nil
}

func (c *GoalConfig) check(field string) error {
	if (c.EventName == "") == (c.SegmentID == "") {
		return app.Invalid(field, "must have one of event_name and segment_id")
	}
	if c.SegmentID != "" {
		if c.FilterRule != nil {
			return app.Invalid(field+".filter_rule", "is for a goal with event_name")
		}
		return checkID(field+".segment_id", "a segment", &c.SegmentID)
	}
	if err := checkEventName(field+".event_name", c.EventName, eventsToWaitFor); err != nil {
		return err
	}
	return c.FilterRule.check(field + ".filter_rule")
}

// checkValue checks a value that may be {"var": …}.
func checkValue(field string, v jsontext.Value) error {
	name, isVar := VarOf(v)
	if !isVar {
		return nil
	}
	return checkField(field+".var", name)
}

// VarOf returns the name of {"var": "event.plan"}; ok is false for another value.
func VarOf(v jsontext.Value) (name string, ok bool) {
	if v.Kind() != '{' {
		return "", false
	}
	var ref struct {
		Var *string `json:"var"`
	}
	if err := json.Unmarshal(v, &ref, json.RejectUnknownMembers(true)); err != nil || ref.Var == nil {
		return "", false
	}
	return *ref.Var, true
}

// checkField checks the name of a value of the event or the contact.
func checkField(field, name string) error {
	space, member, ok := strings.Cut(name, ".")
	if !ok || space != "event" && space != "contact" && space != "wait_events" || member == "" || len(name) > 2*app.MaxStepKey {
		return app.Invalid(field, "must begin with event. or contact., like event.plan or contact.first_name")
	}
	return nil
}
