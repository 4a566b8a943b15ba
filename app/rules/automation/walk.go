package automation

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// WalkInput is what decides how a contact goes through a flow.
type WalkInput struct {
	AutomationID string
	Contact      app.Contact                        // as it is at At; Walk does not change it
	Segments     []string                           // ids of the segments that hold the contact
	Topics       map[string]app.AddressSubscription // its subscriptions by topic; an absent topic is one without an explicit choice, to which it is opted in
	Suppression  *app.Suppression                   // of its address; nil: none
	Types        map[string]app.PropertyType        // of declared properties
	Event        jsontext.Value                     // payload of the event that starts the run: a JSON object; nil: none
	At           time.Time                          // when that event arrives
	Events       []WalkEvent                        // that arrive later, in any order; those before At are ignored
	Zone         string                             // time zone of contacts without one; empty: UTC
	// Missing returns why a step can't be executed, because an object that it names was deleted; empty:
	// nothing is missing. Nil: no object is missing.
	Missing func(s *Step) app.RunReason
	// Send makes the mail of a step and returns the output of the step. Nil: each mail can be made, and the
	// step has no output. An error fails the run with the reason ReasonRejected, or with a *StepFailure's.
	Send func(s *Step, at time.Time, v *Values) (jsontext.Value, error)
}

// WalkEvent is an event of the contact during a run.
type WalkEvent struct {
	Name    string
	At      time.Time
	Payload jsontext.Value // a JSON object; nil: none
}

// Path is the way of a contact through a flow.
type Path struct {
	Status   app.RunStatus // RunRunning: the last step waits for an event that was not given
	Reason   app.RunReason // why the run ended; empty: it is running or reached the end
	Steps    []app.RunStep // that the run reached, in order; RunID is empty
	Contact  app.Contact   // after the run
	Segments []string
	Topics   map[string]app.AddressSubscription
	Deleted  bool // the run deleted the contact
}

// StepFailure is why a step fails a run.
type StepFailure struct {
	Reason  app.RunReason
	Message string
}

// Error returns the message.
func (f *StepFailure) Error() string { return f.Message }

// Walk predicts the path of one contact through a flow. Steps take no time, except those that wait. An event
// at the instant at which a wait ends comes after the end of that wait. Flows have no circles, so a path has
// at most as many steps as its flow.
//
// Walk is a model: it executes nothing, and shares no code with the dispatcher but the comparisons of
// conditions and the arithmetic of local times.
func Walk(flow *Flow, in WalkInput) Path {
	w := &walk{flow: flow, in: in, now: in.At, received: map[string]jsontext.Value{}}
	w.path = Path{Status: app.RunRunning, Contact: in.Contact, Segments: slices.Clone(in.Segments), Topics: maps.Clone(in.Topics)}
	if w.path.Topics == nil {
		w.path.Topics = map[string]app.AddressSubscription{}
	}
	for _, e := range in.Events {
		if !e.At.Before(in.At) {
			w.events = append(w.events, e)
		}
	}
	slices.SortStableFunc(w.events, func(a, b WalkEvent) int { return a.At.Compare(b.At) })
	for s := flow.Step(flow.Start); s != nil && w.path.Status == app.RunRunning; {
		if len(w.path.Steps) == app.MaxAutomationSteps {
			break // not possible for a checked flow
		}
		w.path.Steps = append(w.path.Steps, app.RunStep{N: int64(len(w.path.Steps) + 1), Key: s.Key, Type: s.Type, Status: app.StepCompleted, StartedAt: w.now})
		by, waits := w.execute(s)
		if waits {
			return w.path
		}
		w.last().CompletedAt = w.now
		if s = flow.Next(s, by); s != nil && w.path.Status == app.RunRunning {
			w.checkSegments()
		}
	}
	if w.path.Status == app.RunRunning {
		w.path.Status = app.RunCompleted
	}
	return w.path
}

// walk is the state of a Walk.
type walk struct {
	flow     *Flow
	in       WalkInput
	now      time.Time
	events   []WalkEvent // that are still to come, the first one first
	received map[string]jsontext.Value
	path     Path
}

// last returns the step that is being executed.
func (w *walk) last() *app.RunStep { return &w.path.Steps[len(w.path.Steps)-1] }

// end ends the run.
func (w *walk) end(status app.RunStatus, reason app.RunReason) {
	w.path.Status, w.path.Reason = status, reason
}

// fail ends the run because a step failed.
func (w *walk) fail(reason app.RunReason, message string) {
	w.last().Status, w.last().Error = app.StepFailed, object("code", string(reason), "message", message)
	w.end(app.RunFailed, reason)
}

// values returns what conditions and variables can name now.
func (w *walk) values() *Values {
	c := w.path.Contact
	return &Values{Contact: &c, Event: w.in.Event, Received: w.received}
}

// execute executes a step, and returns by which connection the run leaves it. waits: the run stays at the
// step, since no event that was given ends its wait.
func (w *walk) execute(s *Step) (by app.ConnectionType, waits bool) {
	if w.in.Missing != nil {
		if reason := w.in.Missing(s); reason != "" {
			w.fail(reason, "The step names an object that was deleted")
			return "", false
		}
	}
	switch c := s.Config.(type) {
	case *TriggerConfig:
		w.last().Output = object("event", c.EventName)
	case *SendEmailConfig:
		w.send(s, c)
	case *GoalConfig:
		w.last().Output = object("met", false)
	case *WebhookConfig:
		w.last().Output = object("webhook_id", c.WebhookID, "type", c.Type)
	case *DelayConfig:
		d, err := ParseDuration(c.Duration)
		if err != nil {
			panic("a checked flow has a delay that can't be read: " + c.Duration)
		}
		w.sleep(w.now.Add(d))
	case *WaitUntilConfig:
		zone, _ := ZoneOf(&w.path.Contact, firstOf(c.TimeZone, w.in.Zone))
		w.sleep(c.Due(w.now, zone))
	case *WaitForEventConfig:
		return w.await(s, c)
	case *Rule:
		return w.branch(c.Met(w.values()))
	case *SplitConfig:
		return w.branch(c.Takes(w.in.AutomationID, s.Key, w.path.Contact.ID))
	case *ContactUpdateConfig:
		w.update(c)
	case *ContactDeleteConfig:
		w.path.Deleted = true
		w.end(app.RunCompleted, app.ReasonContactDeletedByStep)
	case *SegmentConfig:
		w.segment(s.Type, c.SegmentID)
	case *SetTopicConfig:
		w.choose(c)
	}
	return app.ConnectDefault, false
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// branch leaves a condition or a split.
func (w *walk) branch(met bool) (app.ConnectionType, bool) {
	w.last().Output = object("result", met)
	if met {
		return app.ConnectConditionMet, false
	}
	return app.ConnectConditionNotMet, false
}

// sleep lets the time pass until a step is over. A goal that is met meanwhile ends the run.
func (w *walk) sleep(until time.Time) {
	for len(w.events) > 0 && w.events[0].At.Before(until) {
		e := w.events[0]
		w.events = w.events[1:]
		if w.meets(e) {
			return
		}
	}
	w.now = until
}

// await waits for an event, until the timeout if there is one.
func (w *walk) await(s *Step, c *WaitForEventConfig) (by app.ConnectionType, waits bool) {
	var deadline time.Time
	if c.Timeout != "" {
		d, err := ParseDuration(c.Timeout)
		if err != nil {
			panic("a checked flow has a timeout that can't be read: " + c.Timeout)
		}
		deadline = w.now.Add(d)
	}
	for len(w.events) > 0 && (deadline.IsZero() || w.events[0].At.Before(deadline)) {
		e := w.events[0]
		w.events = w.events[1:]
		if w.meets(e) {
			return "", false
		}
		v := w.values()
		v.Event = e.Payload
		if e.Name == c.EventName && c.FilterRule.Met(v) {
			w.now = e.At
			if w.received[s.Key] = e.Payload; e.Payload == nil {
				w.received[s.Key] = jsontext.Value("{}")
			}
			w.last().Output = object("event", e.Name)
			return app.ConnectEventReceived, false
		}
	}
	if deadline.IsZero() {
		w.last().Status = app.StepWaiting
		return "", true
	}
	w.now = deadline
	w.last().Output = object("timed_out", true)
	return app.ConnectTimeout, false
}

// meets ends the run if an event meets one of the flow's goals. The step at which the run waits is skipped.
func (w *walk) meets(e WalkEvent) bool {
	v := w.values()
	v.Event = e.Payload
	id, _ := v.Lookup("event.segment_id")
	for _, g := range w.flow.Goals {
		c := g.Config.(*GoalConfig)
		byEvent := c.EventName != "" && e.Name == c.EventName && c.FilterRule.Met(v)
		bySegment := c.SegmentID != "" && e.Name == app.TriggerSegmentJoined && id == c.SegmentID
		if byEvent || bySegment {
			if e.At.After(w.now) {
				w.now = e.At
			}
			w.last().Status, w.last().Output = app.StepSkipped, object("reason", string(app.ReasonGoal), "goal", g.Key)
			w.end(app.RunCompleted, app.ReasonGoal)
			return true
		}
	}
	return false
}

// checkSegments ends the run before its next step if the contact is in the segment of a goal.
func (w *walk) checkSegments() {
	for _, g := range w.flow.Goals {
		if id := g.Config.(*GoalConfig).SegmentID; id != "" && slices.Contains(w.path.Segments, id) {
			w.end(app.RunCompleted, app.ReasonGoal)
			return
		}
	}
}

// Refusal is why a contact gets no mail of a step.
type Refusal struct {
	Text   string // a sentence
	OptOut bool   // the contact unsubscribed or opted out, or never opted in
}

// MayGet returns why a contact gets no mail of a step now; nil: it gets it. topic is its subscription to the
// topic of the step or of the automation; without one the mail needs consent too, unless it is transactional.
func MayGet(c *app.Contact, topic app.AddressSubscription, suppression *app.Suppression, transactional bool) *Refusal {
	if s := suppression; s != nil {
		if text := app.NewBlocked([]app.Suppression{*s}, !transactional)[s.Key]; text != "" {
			return &Refusal{Text: text, OptOut: s.Origin == app.OriginUnsubscribe}
		}
	}
	if transactional {
		return nil
	}
	if topic.Subscription == "" {
		topic.Subscription = app.OptIn
	}
	topic.Unsubscribed = c.Unsubscribed
	if text := topic.Reason(); text != "" {
		return &Refusal{Text: text, OptOut: true}
	}
	return nil
}

// Topic returns the topic of a step's mail; empty: none.
func (c *SendEmailConfig) Topic(f *Flow) string {
	if c.TopicID == "" && !c.Transactional {
		return f.TopicID
	}
	return c.TopicID
}

// send sends the mail of a step, unless the contact must not get it.
func (w *walk) send(s *Step, c *SendEmailConfig) {
	for _, e := range w.events { // that happened by now, like those of earlier steps of the run
		if !e.At.After(w.now) && w.meets(e) {
			return
		}
	}
	topic := c.Topic(w.flow)
	if r := MayGet(&w.path.Contact, w.path.Topics[topic], w.in.Suppression, c.Transactional); r != nil {
		w.last().Status, w.last().Output = app.StepSkipped, object("reason", r.Text)
		if r.OptOut && w.flow.ExitOnOptOut {
			w.end(app.RunCancelled, app.ReasonOptedOut)
		}
		return
	}
	if w.in.Send == nil {
		return
	}
	output, err := w.in.Send(s, w.now, w.values())
	if f := (*StepFailure)(nil); errors.As(err, &f) {
		w.fail(f.Reason, f.Message)
	} else if err != nil {
		w.fail(app.ReasonRejected, messageOf(err))
	}
	w.last().Output = output
}

// segment adds the contact to a segment or removes it from one.
func (w *walk) segment(step app.StepType, id string) {
	w.last().Output = object("segment_id", id)
	has := slices.Contains(w.path.Segments, id)
	switch {
	case step == app.StepRemoveFromSegment:
		w.path.Segments = slices.DeleteFunc(w.path.Segments, func(s string) bool { return s == id })
	case !has:
		w.path.Segments = append(w.path.Segments, id)
		w.happen(app.TriggerSegmentJoined, object("segment_id", id))
	}
}

// happen adds an event of the contact that the run itself causes.
func (w *walk) happen(name string, payload jsontext.Value) {
	w.events = append([]WalkEvent{{Name: name, At: w.now, Payload: payload}}, w.events...)
}

// choose stores a choice of the contact about a topic. It does not undo an explicit opt-out.
func (w *walk) choose(c *SetTopicConfig) {
	topic := w.path.Topics[c.TopicID]
	if c.Subscription == app.OptIn && topic.Explicit && topic.Subscription == app.OptOut {
		w.last().Output = object("topic_id", c.TopicID, "subscription", string(c.Subscription), "resubscribe_ignored", true)
		return
	}
	w.last().Output = object("topic_id", c.TopicID, "subscription", string(c.Subscription))
	joins := c.Subscription == app.OptIn && !(topic.Explicit && topic.Subscription == app.OptIn)
	topic.Subscription, topic.Explicit = c.Subscription, true
	w.path.Topics[c.TopicID] = topic
	if joins {
		w.happen(app.TriggerOptIn, object("topic_id", c.TopicID))
	}
}

// update changes the contact. It does not subscribe again.
func (w *walk) update(c *ContactUpdateConfig) {
	v, patch, output := w.values(), app.ContactPatch{Properties: app.PropertyChanges{}}, []any{}
	for _, m := range []struct {
		name string
		raw  jsontext.Value
		to   *app.Change[string]
	}{{"first_name", c.FirstName, &patch.FirstName}, {"last_name", c.LastName, &patch.LastName}} {
		if m.raw != nil {
			text, _ := resolve(m.raw, v).(string) // another value clears the name, as null does
			*m.to = app.Change[string]{Set: true, Null: text == "", Value: text}
			output = append(output, m.name, text)
		}
	}
	if c.Unsubscribed != nil {
		switch resolve(c.Unsubscribed, v) {
		case true:
			yes := true
			patch.Unsubscribed = &yes
			output = append(output, "unsubscribed", true)
		case false:
			output = append(output, "resubscribe_ignored", true)
		}
	}
	for key, raw := range c.Properties {
		patch.Properties[key] = property(resolve(raw, v))
	}
	err := patch.Properties.Fits(w.in.Types)
	if err == nil {
		w.path.Contact, err = patch.Apply(w.path.Contact)
	}
	if err != nil {
		w.fail(app.ReasonRejected, messageOf(err))
		return
	}
	w.last().Output = object(output...)
}

// property returns a value as that of a property; nil removes the property.
func property(v any) *app.PropertyValue {
	switch v := v.(type) {
	case float64:
		return &app.PropertyValue{Type: app.NumberProperty, Number: v}
	case string, bool:
		return &app.PropertyValue{Type: app.StringProperty, Text: textOf(v)}
	}
	return nil
}

// messageOf returns the text of an error for people.
func messageOf(err error) string {
	if e := (*app.Error)(nil); errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}

// textOf returns a value as a text; empty for null, and for a list or an object.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return app.PropertyValue{Type: app.NumberProperty, Number: v}.String()
	}
	return ""
}

// object returns a JSON object of names and values.
func object(members ...any) jsontext.Value {
	m := map[string]any{}
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	out, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return out
}

// resolve returns a value of a configuration, with a variable replaced by its value; nil: null, or absent.
func resolve(raw jsontext.Value, v *Values) any {
	if name, ok := VarOf(raw); ok {
		value, _ := v.Lookup(name)
		return value
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil // not possible for a checked flow
	}
	return value
}
