package automations

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/automation"
	"mailer/db"
)

// change executes a step that changes the contact. If what the step names was deleted, the run fails.
func (t *turn) change(step *automation.Step) (err error) {
	output := map[string]any{}
	switch c := step.Config.(type) {
	case *automation.ContactUpdateConfig:
		output, err = t.updateContact(c)
	case *automation.ContactDeleteConfig:
		return t.deleteContact(step)
	case *automation.SegmentConfig:
		if err = t.changeSegment(step.Type, c.SegmentID); errors.Is(err, db.ErrNotFound) {
			t.fail(step, app.ReasonSegmentMissing, "The segment was deleted")
			return nil
		}
		output["segment_id"] = c.SegmentID
	case *automation.SetTopicConfig:
		var ignored bool
		if ignored, err = t.s.audience.SetTopicIn(t.tx, t.contact, c.TopicID, c.Subscription, t.run.Context.Chain); errors.Is(err, db.ErrNotFound) {
			t.fail(step, app.ReasonTopicMissing, "The topic was deleted")
			return nil
		}
		output["topic_id"], output["subscription"] = c.TopicID, c.Subscription
		if ignored {
			output["resubscribe_ignored"] = true
		}
	}
	refusal := (*app.Error)(nil)
	if errors.As(err, &refusal) {
		t.fail(step, app.ReasonRejected, refusal.Message)
		return nil
	}
	if err != nil {
		return err
	}
	t.done(step, output)
	return nil
}

func (t *turn) changeSegment(kind app.StepType, segmentID string) error {
	if kind == app.StepAddToSegment {
		return t.s.audience.AddToSegmentIn(t.tx, t.contact, segmentID, t.run.Context.Chain)
	}
	return t.s.audience.RemoveFromSegmentIn(t.tx, t.contact, segmentID)
}

// updateContact changes the contact as a step says, and reads it again.
func (t *turn) updateContact(c *automation.ContactUpdateConfig) (map[string]any, error) {
	patch, output := app.ContactPatch{}, map[string]any{}
	for _, m := range []struct {
		name  string
		value jsontext.Value
		to    *app.Change[string]
	}{{"first_name", c.FirstName, &patch.FirstName}, {"last_name", c.LastName, &patch.LastName}} {
		if m.value == nil {
			continue
		}
		text, _ := t.resolve(m.value).(string) // another value clears the name, as null does
		*m.to = app.Change[string]{Set: true, Null: text == "", Value: text}
		output[m.name] = text
	}
	if c.Unsubscribed != nil {
		on, isBool := t.resolve(c.Unsubscribed).(bool)
		switch {
		case isBool && on:
			patch.Unsubscribed = &on
			output["unsubscribed"] = true
		case isBool:
			output["resubscribe_ignored"] = true
		}
	}
	for key, v := range c.Properties {
		value := propertyOf(t.resolve(v))
		if patch.Properties == nil {
			patch.Properties = app.PropertyChanges{}
		}
		patch.Properties[key] = value
	}
	if err := t.s.audience.UpdateContactIn(t.tx, t.contact, &patch, t.run.Context.Chain); err != nil {
		return nil, err
	}
	now, err := t.tx.Contact(t.run.TeamID, t.run.ContactID)
	*t.contact = now
	return output, err
}

// resolve returns the value of a JSON value, or of the variable that it names; nil for a missing one.
func (t *turn) resolve(v jsontext.Value) any { return resolve(t.values(), v) }

func resolve(values *automation.Values, v jsontext.Value) any {
	if name, isVar := automation.VarOf(v); isVar {
		value, _ := values.Lookup(name)
		return value
	}
	var value any
	if err := json.Unmarshal(v, &value); err != nil {
		return nil // not possible for a checked flow
	}
	return value
}

// propertyOf returns the value of a property; nil removes it.
func propertyOf(value any) *app.PropertyValue {
	switch v := value.(type) {
	case string:
		return &app.PropertyValue{Type: app.StringProperty, Text: v}
	case float64:
		return &app.PropertyValue{Type: app.NumberProperty, Number: v}
	case bool:
		text := "false"
		if v {
			text = "true"
		}
		return &app.PropertyValue{Type: app.StringProperty, Text: text}
	}
	return nil
}

// deleteContact deletes the contact and ends the run.
func (t *turn) deleteContact(step *automation.Step) error {
	t.done(step, nil)
	t.finish(app.RunCompleted, app.ReasonContactDeletedByStep)
	if err := t.store(); err != nil { // before the deletion, which cancels the open runs of the contact
		return err
	}
	deleted := *t.contact
	*t.contact = app.Contact{} // the caller sees that there is none any more
	return t.s.audience.DeleteContactIn(t.tx, &deleted)
}
