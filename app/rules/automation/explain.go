package automation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
)

// ExplainInput is what explains where a contact is in an automation, or why it is not there.
type ExplainInput struct {
	Automation app.Automation
	Flow       *Flow // its version now
	Contact    app.Contact
	Who        string // the contact, as the sentence names it
	Step       string // key of the step that the question is about; empty: the whole run
	Clock      Clock

	// Of the newest run of the contact: its version of the flow, and the steps that it reached. A nil Run
	// means that the contact has none.
	Run     *app.Run
	RunFlow *Flow
	Steps   []app.RunStep

	// For a contact without a run.
	LastStart time.Time               // of a run that was deleted since; zero: none
	Events    []WalkEvent             // of the trigger's name that arrived for it and are still stored, the oldest first
	InSegment bool                    // it is in the segment of the trigger
	Topic     app.AddressSubscription // to the topic of the trigger
	Full      bool                    // starts did not happen because there were too many open runs
	Names     map[string]string       // of the segment, topic, broadcast and template that the trigger names, by id
}

// Explain answers in one sentence where a contact is in an automation, and what became of a step.
func Explain(in *ExplainInput) string {
	switch {
	case in.Run == nil:
		return in.Clock.zoned(in.neverStarted())
	case in.Run.Reason == app.ReasonLoop:
		return in.Clock.zoned(fmt.Sprintf("%s was not started for %s %s, because %s", in.Automation.Name, in.Who, in.Clock.At(in.Run.CompletedAt), Cause(in.Run.Reason)))
	case in.Step == "":
		return in.Clock.zoned(in.run())
	}
	if i := slices.IndexFunc(in.Steps, func(s app.RunStep) bool { return s.Key == in.Step }); i >= 0 {
		return in.Clock.zoned(in.reached(&in.Steps[i]))
	}
	return in.Clock.zoned(in.notReached())
}

// run says where the run is, or how it ended.
func (in *ExplainInput) run() string {
	run := in.Run
	if run.Status == app.RunRunning {
		return fmt.Sprintf("%s is in %s since %s: %s", in.Who, in.Automation.Name, in.Clock.Day(run.StartedAt), position(run, in.RunFlow, in.Clock))
	}
	return fmt.Sprintf("%s left %s %s: %s", in.Who, in.Automation.Name, in.Clock.At(run.CompletedAt), ended(run))
}

// reached says what became of a step that the run reached.
func (in *ExplainInput) reached(s *app.RunStep) string {
	step := fmt.Sprintf("step %q of %s", s.Key, in.Automation.Name)
	text := func(name string) string {
		for _, raw := range [][]byte{s.Output, s.Error} {
			if v, ok := memberOf(raw, name); ok {
				if text, ok := v.(string); ok {
					return text
				}
			}
		}
		return ""
	}
	switch s.Status {
	case app.StepSkipped:
		why := strings.TrimPrefix(text("reason"), "Not sent to this recipient: ")
		if cause, known := causes[app.RunReason(why)]; known && why != "" {
			why = cause
		}
		if s.Type == app.StepSendEmail {
			return fmt.Sprintf("%s did not get the mail of %s %s, because %s", in.Who, step, in.Clock.At(s.CompletedAt), orUnknown(why))
		}
		return fmt.Sprintf("The %s was skipped for %s %s, because %s", step, in.Who, in.Clock.At(s.CompletedAt), orUnknown(why))
	case app.StepFailed:
		return fmt.Sprintf("The %s failed for %s %s: %s", step, in.Who, in.Clock.At(s.CompletedAt), orUnknown(text("message")))
	case app.StepCompleted:
		if s.Type == app.StepSendEmail {
			return fmt.Sprintf("The mail of %s was made for %s %s; its timeline shows what became of it", step, in.Who, in.Clock.At(s.CompletedAt))
		}
		return fmt.Sprintf("The %s was completed for %s %s", step, in.Who, in.Clock.At(s.CompletedAt))
	}
	if in.Run.Status != app.RunRunning {
		return fmt.Sprintf("%s was at %s when the run ended %s: %s", in.Who, step, in.Clock.At(in.Run.CompletedAt), ended(in.Run))
	}
	if s.Type == app.StepSendEmail && in.Run.Held == "" {
		if why := text("waits"); why != "" {
			return fmt.Sprintf("The mail of %s for %s waits: %s", step, in.Who, why)
		}
		if !in.Run.DueAt.After(in.Clock.Now) {
			return fmt.Sprintf("The mail of %s for %s is due since %s and waits for its turn: the team's mail is paced, or waits for a quota", step, in.Who, in.Clock.Time(in.Run.DueAt))
		}
	}
	return fmt.Sprintf("%s is at %s: %s", in.Who, step, position(in.Run, in.RunFlow, in.Clock))
}

func orUnknown(why string) string {
	if why == "" {
		return "of a reason that was not recorded"
	}
	return why
}

// notReached says why the run did not reach a step.
func (in *ExplainInput) notReached() string {
	run, flow := in.Run, in.RunFlow
	var target *Step
	if flow != nil {
		target = flow.Step(in.Step)
	}
	begin := fmt.Sprintf("%s did not reach step %q of %s", in.Who, in.Step, in.Automation.Name)
	if target == nil {
		return fmt.Sprintf("%s, because the run is of version %d, which has no such step", begin, run.Version)
	}
	if why := in.tookOther(target); why != "" {
		return begin + ", because " + why
	}
	if run.Status == app.RunRunning {
		return fmt.Sprintf("%s has not reached step %q of %s yet: the run is at step %q since %s, %s", in.Who, in.Step, in.Automation.Name, run.StepKey, in.Clock.Day(in.sinceStep()), position(run, flow, in.Clock))
	}
	if run.Status == app.RunCompleted && run.Reason == "" {
		return begin + ", because the run reached an end before it " + in.Clock.At(run.CompletedAt)
	}
	return fmt.Sprintf("%s, because the run ended before it %s: %s", begin, in.Clock.At(run.CompletedAt), ended(run))
}

// sinceStep returns when the run reached the step at which it is.
func (in *ExplainInput) sinceStep() time.Time {
	if n := len(in.Steps); n > 0 {
		return in.Steps[n-1].StartedAt
	}
	return in.Run.StartedAt
}

// tookOther says at which step the run took a branch that does not lead to a step, and why; empty: at none.
func (in *ExplainInput) tookOther(target *Step) string {
	for i := range in.Steps {
		s := in.RunFlow.Step(in.Steps[i].Key)
		if s == nil || len(outcomes(s.Type)) < 2 || !in.RunFlow.reaches(s, target) {
			continue
		}
		by, ok := in.left(&in.Steps[i], s)
		if !ok || in.RunFlow.reaches(in.RunFlow.Next(s, by), target) {
			continue
		}
		return in.branched(&in.Steps[i], s, by)
	}
	return ""
}

// left returns by which connection the run left a step that branches.
func (in *ExplainInput) left(r *app.RunStep, s *Step) (by app.ConnectionType, ok bool) {
	if r.Status != app.StepCompleted {
		return "", false
	}
	if s.Type == app.StepWaitForEvent {
		if _, came := in.Run.Context.Received[s.Key]; came {
			return app.ConnectEventReceived, true
		}
		return app.ConnectTimeout, true
	}
	result, ok := memberOf(r.Output, "result")
	if result == true {
		return app.ConnectConditionMet, ok
	}
	return app.ConnectConditionNotMet, ok
}

// branched says which branch the run took, and why.
func (in *ExplainInput) branched(r *app.RunStep, s *Step, by app.ConnectionType) string {
	when := in.Clock.At(r.CompletedAt)
	switch c := s.Config.(type) {
	case *WaitForEventConfig:
		if by == app.ConnectEventReceived {
			return fmt.Sprintf("the event %q that step %q waited for came %s", c.EventName, s.Key, when)
		}
		return fmt.Sprintf("the event %q did not come while step %q waited for it until %s", c.EventName, s.Key, in.Clock.Time(r.CompletedAt))
	case *SplitConfig:
		if by == app.ConnectConditionMet {
			return fmt.Sprintf("it is among the %d %% of step %q", c.Percent, s.Key)
		}
		return fmt.Sprintf("it is not among the %d %% of step %q", c.Percent, s.Key)
	case *Rule:
		met := by == app.ConnectConditionMet
		text := fmt.Sprintf("the condition of step %q was not met %s", s.Key, when)
		if met {
			text = fmt.Sprintf("the condition of step %q was met %s", s.Key, when)
		}
		contact := in.Contact
		if why := c.describe(&Values{Contact: &contact, Event: in.Run.Context.Event, Received: in.Run.Context.Received}, met); why != "" {
			return text + ": " + why
		}
		return text
	}
	return ""
}

// neverStarted says why the automation did not start for the contact.
func (in *ExplainInput) neverStarted() string {
	name, who, c := in.Automation.Name, in.Who, &in.Flow.Trigger
	begin := who + " is not in " + name
	switch {
	case !in.LastStart.IsZero():
		return fmt.Sprintf("%s any more: it was started %s, and the run was deleted since", begin, in.Clock.At(in.LastStart))
	case in.Automation.Status == app.AutomationDisabled:
		return begin + ", because the automation is disabled"
	case in.Automation.Held != "" && (c.EventName == app.TriggerDate || c.EventName == app.TriggerSchedule):
		return fmt.Sprintf("%s, because its starts are held (%s)", begin, in.Automation.Held)
	}
	if why := in.condition(c, nil); why != "" && c.EventName != app.TriggerDate && isOwnTrigger(c.EventName) {
		return begin + ", because its trigger has a condition that was not met: " + why
	}
	return begin + ", because " + in.noStart(c)
}

func isOwnTrigger(name string) bool { return slices.Contains(app.Triggers, name) }

// condition names what of a trigger's condition is not met with an event's payload; empty: it is met.
func (in *ExplainInput) condition(c *TriggerConfig, payload []byte) string {
	return Unmet(c, &in.Contact, payload)
}

// noStart says why no event started a run, as a clause.
func (in *ExplainInput) noStart(c *TriggerConfig) string {
	created := in.Clock.At(in.Contact.CreatedAt)
	switch c.EventName {
	case app.TriggerContactCreated:
		if in.Contact.CreatedAt.Before(in.Automation.CreatedAt) {
			return fmt.Sprintf("the contact was added %s, before the automation was made %s", created, in.Clock.At(in.Automation.CreatedAt))
		}
		return fmt.Sprintf("the contact was added %s, while the automation was disabled, or by an import or a batch that triggers no automations", created) + in.full()
	case app.TriggerOptIn:
		if c.TopicID != "" && in.Topic.Subscription == app.OptOut {
			return fmt.Sprintf("the contact has not opted in to the topic %q", in.named(c.TopicID))
		}
		return "the contact has not opted in while the automation was enabled" + in.full()
	case app.TriggerSegmentJoined:
		if !in.InSegment {
			return fmt.Sprintf("the contact is not in the segment %q", in.named(c.SegmentID))
		}
		return fmt.Sprintf("the contact was in the segment %q before the automation was enabled, or joined by a change of the segment's filter or by an import or a batch, which trigger no automations", in.named(c.SegmentID)) + in.full()
	case app.TriggerEmailOpened, app.TriggerEmailClicked, app.TriggerEmailReplied:
		done := map[string]string{app.TriggerEmailOpened: "an open", app.TriggerEmailClicked: "a click", app.TriggerEmailReplied: "a reply"}[c.EventName]
		return fmt.Sprintf("no mail that the trigger is about has %s by the contact that was recorded while the automation was enabled", done) + in.full()
	case app.TriggerDate:
		return in.noDate(c)
	case app.TriggerSchedule:
		if !in.InSegment {
			return fmt.Sprintf("the contact is not in the segment %q", in.named(c.SegmentID))
		}
		if in.Automation.NextAt.IsZero() {
			return "its schedule has no next time"
		}
		return "its next start is " + in.Clock.At(in.Automation.NextAt) + in.full()
	}
	return in.noEvent(c)
}

// full adds that starts were refused.
func (in *ExplainInput) full() string {
	if in.Full {
		return "; some starts did not happen, because there were too many open runs"
	}
	return ""
}

func (in *ExplainInput) named(id string) string {
	if name := in.Names[id]; name != "" {
		return name
	}
	return id
}

// noEvent says why no custom event started a run.
func (in *ExplainInput) noEvent(c *TriggerConfig) string {
	if len(in.Events) == 0 {
		return fmt.Sprintf("no event %q that starts it has arrived for the contact while the automation was enabled", c.EventName) + in.full()
	}
	last := in.Events[len(in.Events)-1]
	text := fmt.Sprintf("the event %q that arrived for the contact %s", c.EventName, in.Clock.At(last.At))
	if why := in.condition(c, last.Payload); why != "" {
		return text + " does not meet the condition of the trigger: " + why
	}
	if field := in.Flow.ReEntry.Field; field != "" {
		if v, ok := memberOf(last.Payload, field); !ok || v == nil {
			return fmt.Sprintf("%s has no member %q, by which starts are told apart", text, field)
		}
	}
	if in.Clock.Now.Sub(last.At) < time.Minute {
		return text + " is about to be taken"
	}
	return text + " came while the automation was disabled, or had another trigger" + in.full()
}

// noDate says why a trigger by a date did not start a run.
func (in *ExplainInput) noDate(c *TriggerConfig) string {
	p, ok := in.Contact.Properties[c.Property]
	if !ok || p.Text == "" {
		return fmt.Sprintf("the property %q of the contact is empty", c.Property)
	}
	if _, _, _, ok := ParseDate(p.Text); !ok {
		return fmt.Sprintf("the property %q of the contact is no date: %q", c.Property, app.CutText(p.Text, maxShownValue))
	}
	zone, now := in.Clock.Zone, in.Clock.Now
	for year := now.In(zone).Year() - 1; year <= now.In(zone).Year()+2; year++ {
		if at, ok := c.OnDay(year, p.Text, zone); ok && at.After(now) {
			if why := in.condition(c, nil); why != "" {
				return fmt.Sprintf("its day is %s, and now the condition of the trigger is not met: %s", in.Clock.At(at), why)
			}
			return "its day is " + in.Clock.At(at)
		}
	}
	return fmt.Sprintf("its day is past: the property %q of the contact is %q", c.Property, p.Text)
}

// Unmet names what of a trigger's condition a contact and the payload of an event do not meet; empty: they
// meet it.
func Unmet(c *TriggerConfig, contact *app.Contact, payload []byte) string {
	v := &Values{Contact: contact, Event: payload}
	if c.FilterRule.Met(v) {
		return ""
	}
	return c.FilterRule.describe(v, false)
}
