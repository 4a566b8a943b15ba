// Package automation implements the pure rules of automations: it checks flows, evaluates conditions,
// and computes when a step is due and which step follows. It reads and writes nothing.
//
// The functions are deterministic: the same flow, run and time give the same path on every machine.
package automation

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/robfig/cron/v3"

	"mailer/app"
)

// Flow is a checked app.AutomationFlow.
type Flow struct {
	app.AutomationSettings
	Trigger TriggerConfig
	Start   string  // key of the trigger
	Steps   []*Step // in the order of the graph: each after all that lead to it
	Goals   []*Step // those of type goal

	byKey map[string]*Step
}

// Step is a checked step of a flow.
type Step struct {
	Key    string
	Type   app.StepType
	Config any // *TriggerConfig, *SendEmailConfig, …
	next   map[app.ConnectionType]string
}

// Step returns the step with a key; nil: there is none.
func (f *Flow) Step(key string) *Step { return f.byKey[key] }

// Next returns the step that follows one by a connection; nil: the run ends there.
func (f *Flow) Next(s *Step, by app.ConnectionType) *Step { return f.byKey[s.next[by]] }

// Listens returns the names of the events that start, continue or end runs of the flow, sorted.
func (f *Flow) Listens() []string {
	names := []string{f.Trigger.EventName}
	for _, s := range f.Steps {
		switch c := s.Config.(type) {
		case *WaitForEventConfig:
			names = append(names, c.EventName)
		case *GoalConfig:
			if c.EventName != "" {
				names = append(names, c.EventName)
			} else {
				names = append(names, app.TriggerSegmentJoined)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// outcomes are the types of connections by which steps of a type can be left.
func outcomes(t app.StepType) []app.ConnectionType {
	switch t {
	case app.StepCondition, app.StepSplit:
		return []app.ConnectionType{app.ConnectConditionMet, app.ConnectConditionNotMet}
	case app.StepWaitForEvent:
		return []app.ConnectionType{app.ConnectEventReceived, app.ConnectTimeout}
	case app.StepContactDelete:
		return nil
	}
	return []app.ConnectionType{app.ConnectDefault}
}

// Parse checks a flow. Errors: CodeValidation, naming the member, like "steps[2].config.duration".
func Parse(in *app.AutomationFlow) (*Flow, error) {
	f := &Flow{AutomationSettings: in.AutomationSettings, byKey: make(map[string]*Step, len(in.Steps))}
	switch {
	case len(in.Steps) == 0:
		return nil, app.Invalid("steps", "must hold at least a trigger")
	case len(in.Steps) > app.MaxAutomationSteps:
		return nil, app.Invalid("steps", "can hold at most %d items", app.MaxAutomationSteps)
	}
	size := 0
	steps := make([]*Step, 0, len(in.Steps))
	for i := range in.Steps {
		field := fmt.Sprintf("steps[%d]", i)
		s, err := parseStep(field, &in.Steps[i])
		if err != nil {
			return nil, err
		}
		if f.byKey[s.Key] != nil {
			return nil, app.Invalid(field+".key", "is there twice")
		}
		if s.Type == app.StepTrigger {
			if f.Start != "" {
				return nil, app.Invalid(field+".type", "must not be trigger: an automation has one, and steps[0] or an earlier step is it already")
			}
			f.Start, f.Trigger = s.Key, *s.Config.(*TriggerConfig)
		}
		if s.Type == app.StepGoal {
			f.Goals = append(f.Goals, s)
		}
		if size += len(in.Steps[i].Config); size > app.MaxAutomationSize {
			return nil, app.Invalid("steps", "can hold at most %d bytes", app.MaxAutomationSize)
		}
		f.byKey[s.Key] = s
		steps = append(steps, s)
	}
	if f.Start == "" {
		return nil, app.Invalid("steps", "must hold a step of type trigger")
	}
	if err := f.connect(in.Connections); err != nil {
		return nil, err
	}
	if err := f.sort(steps); err != nil {
		return nil, err
	}
	return f, f.checkSettings()
}

func parseStep(field string, in *app.AutomationStep) (*Step, error) {
	switch {
	case in.Key == "":
		return nil, app.Invalid(field+".key", "is required")
	case utf8.RuneCountInString(in.Key) > app.MaxStepKey:
		return nil, app.Invalid(field+".key", "can have at most %d characters", app.MaxStepKey)
	case app.HasHidden(in.Key) || !utf8.ValidString(in.Key):
		return nil, app.Invalid(field+".key", "must not contain control characters or invisible formatting")
	case in.Type == "":
		return nil, app.Invalid(field+".type", "is required")
	case len(in.Config) > app.MaxStepConfig:
		return nil, app.Invalid(field+".config", "can have at most %d bytes", app.MaxStepConfig)
	}
	config := newConfig(in.Type)
	if config == nil {
		names := make([]string, len(app.StepTypes))
		for i, t := range app.StepTypes {
			names[i] = string(t)
		}
		return nil, app.Invalid(field+".type", "must be one of %s", strings.Join(names, ", "))
	}
	raw := in.Config
	if len(raw) == 0 {
		raw = jsontext.Value("{}")
	}
	if err := decode(field+".config", raw, config); err != nil {
		return nil, err
	}
	if err := check(field+".config", config); err != nil {
		return nil, err
	}
	return &Step{Key: in.Key, Type: in.Type, Config: config, next: map[app.ConnectionType]string{}}, nil
}

// newConfig returns an empty configuration for a type of step; nil: there is no such type.
func newConfig(t app.StepType) any {
	switch t {
	case app.StepTrigger:
		return &TriggerConfig{}
	case app.StepSendEmail:
		return &SendEmailConfig{}
	case app.StepDelay:
		return &DelayConfig{}
	case app.StepWaitForEvent:
		return &WaitForEventConfig{}
	case app.StepCondition:
		return &Rule{}
	case app.StepContactUpdate:
		return &ContactUpdateConfig{}
	case app.StepContactDelete:
		return &ContactDeleteConfig{}
	case app.StepAddToSegment, app.StepRemoveFromSegment:
		return &SegmentConfig{}
	case app.StepSetTopic:
		return &SetTopicConfig{}
	case app.StepWebhook:
		return &WebhookConfig{}
	case app.StepSplit:
		return &SplitConfig{}
	case app.StepWaitUntil:
		return &WaitUntilConfig{}
	case app.StepGoal:
		return &GoalConfig{}
	}
	return nil
}

// decode reads a configuration, which must have no other members. Null counts as absent where a member
// is no JSON value itself.
func decode(field string, raw jsontext.Value, to any) error {
	if raw.Kind() != '{' {
		return app.Invalid(field, "must be an object")
	}
	if err := checkNesting(field, raw); err != nil {
		return err
	}
	err := json.Unmarshal(raw, to, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	if e := (*json.SemanticError)(nil); asSemantic(err, &e) {
		semantic = e
	}
	if semantic == nil {
		return app.Invalid(field, "must be valid JSON with each member once")
	}
	path := field + fieldPath(semantic.JSONPointer)
	if semantic.Err == json.ErrUnknownName {
		return app.Invalid(path, "is not known for this type of step")
	}
	return app.Invalid(path, "must be %s", wanted(semantic.GoType))
}

// maxNesting bounds the nesting of a configuration before it is decoded.
const maxNesting = 40

func checkNesting(field string, raw jsontext.Value) error {
	for d := jsontext.NewDecoder(bytes.NewReader(raw)); ; {
		if _, err := d.ReadToken(); err != nil {
			return nil // the end, or not valid: decode returns the error
		}
		if d.StackDepth() > maxNesting {
			return app.Invalid(field, "is nested too deep")
		}
	}
}

func fieldPath(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		if token != "" && strings.Trim(token, "0123456789") == "" {
			b.WriteString("[" + token + "]")
			continue
		}
		b.WriteString("." + token)
	}
	return b.String()
}

func wanted(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return "of another type"
}

// connect stores the connections in the steps.
func (f *Flow) connect(all []app.AutomationConnection) error {
	for i, c := range all {
		field := fmt.Sprintf("connections[%d]", i)
		from := f.byKey[c.From]
		switch {
		case from == nil:
			return app.Invalid(field+".from", "must be the key of a step")
		case f.byKey[c.To] == nil:
			return app.Invalid(field+".to", "must be the key of a step")
		case c.To == f.Start:
			return app.Invalid(field+".to", "must not be the trigger")
		}
		kind := c.Type
		if kind == "" {
			kind = app.ConnectDefault
		}
		can := outcomes(from.Type)
		// A wait without branches continues by the default connection, whether the event came or not.
		if from.Type == app.StepWaitForEvent {
			can = append(can, app.ConnectDefault)
		}
		if !slices.Contains(can, kind) {
			return app.Invalid(field+".type", "must be %s for a step of type %s", joined(can), from.Type)
		}
		if from.next[kind] != "" {
			return app.Invalid(field+".from", "has a connection of type %s already", kind)
		}
		from.next[kind] = c.To
	}
	for _, s := range f.byKey {
		if to, ok := s.next[app.ConnectDefault]; ok && s.Type == app.StepWaitForEvent {
			delete(s.next, app.ConnectDefault)
			for _, kind := range outcomes(s.Type) {
				if s.next[kind] == "" {
					s.next[kind] = to
				}
			}
		}
	}
	return nil
}

func joined(types []app.ConnectionType) string {
	if len(types) == 0 {
		return "absent"
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return strings.Join(names, " or ")
}

// sort puts the steps into the order of the graph, and refuses circles and steps that nothing leads to.
func (f *Flow) sort(steps []*Step) error {
	leading := map[string]int{}
	for _, s := range steps {
		for _, to := range s.next {
			leading[to]++
		}
	}
	ready := []*Step{f.byKey[f.Start]}
	for len(ready) > 0 {
		s := ready[0]
		ready = ready[1:]
		f.Steps = append(f.Steps, s)
		for _, kind := range outcomes(s.Type) {
			to := f.byKey[s.next[kind]]
			if to == nil {
				continue
			}
			if leading[to.Key]--; leading[to.Key] == 0 {
				ready = append(ready, to)
			}
		}
	}
	if len(f.Steps) == len(steps) {
		return nil
	}
	reached := map[string]bool{}
	f.reach(f.byKey[f.Start], reached)
	for i, s := range steps {
		if !reached[s.Key] && s.Type != app.StepGoal {
			return app.Invalid(fmt.Sprintf("steps[%d]", i), "is not reached from the trigger: no connection leads to %q", s.Key)
		}
	}
	for _, s := range steps {
		if !slices.Contains(f.Steps, s) && s.Type == app.StepGoal && !reached[s.Key] {
			if len(s.next) > 0 {
				return app.Invalid("connections", "must not lead from the goal %q, which no connection leads to", s.Key)
			}
			f.Steps = append(f.Steps, s) // a goal for the whole flow
		}
	}
	if len(f.Steps) < len(steps) {
		return app.Invalid("connections", "must not form a circle")
	}
	return nil
}

func (f *Flow) reach(s *Step, reached map[string]bool) {
	if s == nil || reached[s.Key] {
		return
	}
	reached[s.Key] = true
	for _, to := range s.next {
		f.reach(f.byKey[to], reached)
	}
}

func (f *Flow) checkSettings() error {
	if f.TopicID != "" {
		id, ok := app.ParseID(f.TopicID)
		if !ok {
			return app.Invalid("topic_id", "must be the id of a topic")
		}
		f.TopicID = id
	}
	r := &f.ReEntry
	switch r.Mode {
	case "":
		r.Mode = app.ReEnterOnce
	case app.ReEnterOnce, app.ReEnterAlways:
	case app.ReEnterPerKey:
		if r.Field == "" || len(r.Field) > app.MaxStepKey {
			return app.Invalid("re_entry.field", "must name a member of the event's payload")
		}
	case app.ReEnterAfterDays:
		if r.Days < 1 || r.Days > app.MaxDelayDays {
			return app.Invalid("re_entry.days", "must be 1 to %d", app.MaxDelayDays)
		}
	default:
		return app.Invalid("re_entry.mode", "must be once, once_per_event_key, after_days or always")
	}
	if r.Field != "" && r.Mode != app.ReEnterPerKey {
		return app.Invalid("re_entry.field", "is for the mode once_per_event_key")
	}
	if r.Days != 0 && r.Mode != app.ReEnterAfterDays {
		return app.Invalid("re_entry.days", "is for the mode after_days")
	}
	return nil
}

// ParseSchedule reads five cron fields of a time that comes at most once a day: minute and hour are
// single numbers. Errors describe the form.
func ParseSchedule(text string) (cron.Schedule, error) {
	fields := strings.Fields(text)
	if len(fields) != 5 || !isNumber(fields[0]) || !isNumber(fields[1]) {
		return nil, fmt.Errorf("must be five cron fields, minute and hour as single numbers, like 0 9 * * mon")
	}
	s, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("must be five cron fields like 0 9 * * mon")
	}
	return s, nil
}

func isNumber(s string) bool { return s != "" && len(s) <= 2 && strings.Trim(s, "0123456789") == "" }

// maxDelay bounds delays and timeouts.
const maxDelay = app.MaxDelayDays * 24 * time.Hour
