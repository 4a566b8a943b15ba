package automations

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/automation"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// turn moves a run forward inside a Write: from the step at which it is over all steps that need no waiting,
// to one that waits or sends an email, or to the end.
type turn struct {
	s       *Service
	tx      *db.Tx
	run     *app.Run
	flow    *automation.Flow
	contact *app.Contact
	before  int64     // run.StepN as it is stored
	waiting int64     // run.StepN at which the run is counted as waiting, if it waits
	since   time.Time // when the cause of the turn happened: a step that waits for an event counts from then on
	steps   []app.RunStep
	mail    *stepMail // made for the step after the present one; nil: none
	ended   bool      // stored as ended
}

func (s *Service) newTurn(tx *db.Tx, run *app.Run, flow *automation.Flow, contact *app.Contact) *turn {
	return &turn{s: s, tx: tx, run: run, flow: flow, contact: contact, before: run.StepN, waiting: run.StepN, since: tx.Now}
}

// flow returns a checked version of an automation.
func (s *Service) flow(r *db.Reader, id string, version int64) (*automation.Flow, error) {
	name := fmt.Sprintf("%s %d", id, version)
	if f, ok := s.flows.Get(name); ok {
		return f, nil
	}
	mark := s.flows.Mark()
	stored, err := r.AutomationFlow(id, version)
	if err != nil {
		return nil, fmt.Errorf("read automation %s: %w", name, err)
	}
	f, err := automation.Parse(&stored)
	if err != nil {
		return nil, fmt.Errorf("check automation %s: %w", name, err)
	}
	s.flows.Put(name, f, mark)
	return f, nil
}

// values are what conditions and variables of the run can name.
func (t *turn) values() *automation.Values {
	return &automation.Values{Contact: t.contact, Event: t.run.Context.Event, Received: t.run.Context.Received}
}

// record notes what became of the step at which the run is.
func (t *turn) record(step *automation.Step, status app.StepStatus, output, failure map[string]any) {
	r := app.RunStep{RunID: t.run.ID, N: t.run.StepN, Key: step.Key, Type: step.Type, Status: status, StartedAt: t.tx.Now, Output: object(output), Error: object(failure)}
	if status != app.StepWaiting && status != app.StepRunning {
		r.CompletedAt = t.tx.Now
	}
	if last := len(t.steps) - 1; last >= 0 && t.steps[last].N == r.N {
		r.StartedAt = t.steps[last].StartedAt
		t.steps[last] = r
		return
	}
	t.steps = append(t.steps, r)
}

// object encodes the members of an output or an error; nil for none.
func object(members map[string]any) jsontext.Value {
	if members == nil {
		return nil
	}
	b, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		return nil // not possible: the members are texts, numbers and JSON
	}
	return b
}

// follow leaves a step by a connection and enters the steps that follow, until one waits.
func (t *turn) follow(step *automation.Step, by app.ConnectionType) error {
	for step != nil {
		next := t.flow.Next(step, by)
		if next == nil {
			return t.end(app.RunCompleted, "")
		}
		t.run.StepKey, t.run.StepN = next.Key, t.run.StepN+1
		t.run.DueAt, t.run.Sends, t.run.WaitsFor, t.run.Since = time.Time{}, false, "", time.Time{}
		if met, goal, err := t.inGoalSegment(); err != nil || met {
			if err == nil {
				err = t.reachGoal(goal)
			}
			return err
		}
		var waits bool
		var err error
		if by, waits, err = t.enter(next); waits {
			t.waiting = t.run.StepN
		}
		if m := t.mail; err == nil && m != nil && m.step == next.Key {
			t.mail = nil
			return t.sendMail(next, m)
		}
		if err != nil || waits || t.run.Status != app.RunRunning {
			return errors.Join(err, t.store())
		}
		step = next
	}
	return nil
}

// inGoalSegment reports whether the contact is in the segment of a goal.
func (t *turn) inGoalSegment() (bool, *automation.Step, error) {
	for _, goal := range t.flow.Goals {
		c := goal.Config.(*automation.GoalConfig)
		if c.SegmentID == "" {
			continue
		}
		in, err := t.tx.ContactInSegment(t.run.TeamID, c.SegmentID, t.run.ContactID)
		if errors.Is(err, db.ErrNotFound) {
			continue // a deleted segment has no contacts
		}
		if err != nil || in {
			return in, goal, err
		}
	}
	return false, nil, nil
}

// enter begins a step. It returns the connection by which the step is left, or that it waits.
func (t *turn) enter(step *automation.Step) (by app.ConnectionType, waits bool, err error) {
	switch c := step.Config.(type) {
	case *automation.SendEmailConfig:
		t.run.DueAt, t.run.Sends = t.since, true
		t.record(step, app.StepRunning, nil, nil)
		t.count(step, db.CountWaiting, 1)
		return "", true, nil
	case *automation.DelayConfig:
		d, err := automation.ParseDuration(c.Duration)
		if err != nil {
			return "", false, err
		}
		t.waitUntil(step, t.tx.Now.Add(d))
		return "", true, nil
	case *automation.WaitUntilConfig:
		at, err := t.localTime(c)
		if err != nil {
			return "", false, err
		}
		t.waitUntil(step, at)
		return "", true, nil
	case *automation.WaitForEventConfig:
		return t.waitForEvent(step, c)
	case *automation.Rule:
		by = branch(c.Met(t.values()))
		t.done(step, map[string]any{"result": by == app.ConnectConditionMet})
		return by, false, nil
	case *automation.SplitConfig:
		by = branch(c.Takes(t.run.AutomationID, step.Key, t.run.ContactID))
		t.done(step, map[string]any{"result": by == app.ConnectConditionMet})
		return by, false, nil
	case *automation.GoalConfig:
		t.done(step, map[string]any{"met": false})
		return app.ConnectDefault, false, nil
	case *automation.WebhookConfig:
		return app.ConnectDefault, false, t.webhook(step, c)
	}
	return app.ConnectDefault, false, t.change(step)
}

func branch(met bool) app.ConnectionType {
	if met {
		return app.ConnectConditionMet
	}
	return app.ConnectConditionNotMet
}

// done records a step that is completed.
func (t *turn) done(step *automation.Step, output map[string]any) {
	t.record(step, app.StepCompleted, output, nil)
	t.count(step, db.CountDone, 1)
}

func (t *turn) count(step *automation.Step, kind db.AutomationCount, by int64) {
	t.tx.CountAutomation(t.run.AutomationID, step.Key, kind, by)
}

// waitUntil lets the run wait at a step until a time.
func (t *turn) waitUntil(step *automation.Step, at time.Time) {
	t.run.DueAt, t.run.Sends = at, mailAfter(t.flow, step) != nil
	t.record(step, app.StepWaiting, map[string]any{"until": at.UTC().Format(time.RFC3339)}, nil)
	t.count(step, db.CountWaiting, 1)
}

// mailAfter returns the step whose email is sent when a pause is over; nil: another step follows the pause, or
// step is no pause.
func mailAfter(flow *automation.Flow, step *automation.Step) *automation.Step {
	switch step.Config.(type) {
	case *automation.DelayConfig, *automation.WaitUntilConfig:
		next := flow.Next(step, app.ConnectDefault)
		if _, ok := stepConfig[automation.SendEmailConfig](next); ok {
			return next
		}
	}
	return nil
}

// localTime returns when a wait_until step is over, in the contact's time zone.
func (t *turn) localTime(c *automation.WaitUntilConfig) (time.Time, error) {
	fallback := c.TimeZone
	if fallback == "" {
		var err error
		if fallback, err = t.tx.TeamTimeZone(t.run.TeamID); err != nil {
			return time.Time{}, err
		}
	}
	zone, unreadable := automation.ZoneOf(t.contact, fallback)
	if unreadable {
		t.tx.CountAutomation(t.run.AutomationID, "", db.CountNoDate, 1)
	}
	return c.Due(t.tx.Now, zone), nil
}

// waitForEvent lets the run wait for an event, unless the event came after the cause of the turn, while an earlier
// step was late. Events that were not taken yet will find the run waiting.
func (t *turn) waitForEvent(step *automation.Step, c *automation.WaitForEventConfig) (by app.ConnectionType, waits bool, err error) {
	early, err := t.tx.SignalsSince(t.run.TeamID, t.run.ContactID, c.EventName, t.since, maxEarlySignals)
	if err != nil {
		return "", false, err
	}
	for i := range early {
		signal := &early[i]
		values := automation.Values{Contact: t.contact, Event: signal.Payload, Received: t.run.Context.Received}
		if signal.Taken && signal.CreatedAt.After(t.since) && c.FilterRule.Met(&values) {
			t.keep(step, signal)
			t.done(step, map[string]any{"event": signal.Name})
			return app.ConnectEventReceived, false, nil
		}
	}
	t.run.WaitsFor, t.run.Since = c.EventName, t.since
	output := map[string]any{"event": c.EventName}
	if c.Timeout != "" {
		d, err := automation.ParseDuration(c.Timeout)
		if err != nil {
			return "", false, err
		}
		t.run.DueAt = t.tx.Now.Add(d)
		output["until"] = t.run.DueAt.UTC().Format(time.RFC3339)
	}
	t.record(step, app.StepWaiting, output, nil)
	t.count(step, db.CountWaiting, 1)
	return "", true, nil
}

// maxEarlySignals bounds the events of a name that are looked at when a run begins to wait.
const maxEarlySignals = 100

// keep stores the payload of an awaited event for the following steps.
func (t *turn) keep(step *automation.Step, signal *app.Signal) {
	received := map[string]jsontext.Value{}
	for key, payload := range t.run.Context.Received {
		received[key] = payload
	}
	received[step.Key] = signal.Payload
	if signal.Payload == nil {
		received[step.Key] = jsontext.Value("{}")
	}
	t.run.Context.Received = received
}

// received continues a run whose step waited for an event.
func (t *turn) received(step *automation.Step, signal *app.Signal) error {
	t.since = signal.CreatedAt
	t.keep(step, signal)
	t.leave(step, app.StepCompleted, map[string]any{"event": signal.Name}, nil)
	return t.follow(step, app.ConnectEventReceived)
}

// leave records the end of a step that waited.
func (t *turn) leave(step *automation.Step, status app.StepStatus, output, failure map[string]any) {
	t.record(step, status, output, failure)
	kind := map[app.StepStatus]db.AutomationCount{app.StepCompleted: db.CountDone, app.StepFailed: db.CountFailed, app.StepSkipped: db.CountSkipped}[status]
	t.count(step, db.CountWaiting, -1)
	t.count(step, kind, 1)
}

// reachGoal ends the run because of a goal. The step at which it was is skipped.
func (t *turn) reachGoal(goal *automation.Step) error {
	if step := t.flow.Step(t.run.StepKey); step != nil && t.waits() {
		t.leave(step, app.StepSkipped, map[string]any{"reason": string(app.ReasonGoal), "goal": goal.Key}, nil)
	}
	t.count(goal, db.CountGoal, 1)
	t.tx.CountAutomation(t.run.AutomationID, "", db.CountGoal, 1)
	return t.end(app.RunCompleted, app.ReasonGoal)
}

// waits reports whether the run is counted as waiting at the step at which it is.
func (t *turn) waits() bool {
	return t.waiting == t.run.StepN && (!t.run.DueAt.IsZero() || t.run.WaitsFor != "")
}

// end ends the run and stores it.
func (t *turn) end(status app.RunStatus, reason app.RunReason) error {
	t.finish(status, reason)
	return t.store()
}

// finish sets that the run has ended.
func (t *turn) finish(status app.RunStatus, reason app.RunReason) {
	t.run.Status, t.run.Reason, t.run.CompletedAt = status, reason, t.tx.Now
	t.run.DueAt, t.run.Sends, t.run.WaitsFor, t.run.Since = time.Time{}, false, "", time.Time{}
}

// fail ends the run because its step can never be executed.
func (t *turn) fail(step *automation.Step, reason app.RunReason, message string) {
	failure := map[string]any{"code": string(reason), "message": message}
	if t.waits() {
		t.leave(step, app.StepFailed, nil, failure)
	} else {
		t.record(step, app.StepFailed, nil, failure)
		t.count(step, db.CountFailed, 1)
	}
	t.finish(app.RunFailed, reason)
}

// store writes the run and the records of its steps. Error: db.ErrNotFound if another process moved the run.
func (t *turn) store() error {
	if t.ended {
		return nil
	}
	if err := t.tx.UpdateRun(t.run, t.before); err != nil {
		return err
	}
	t.ended = t.run.Status != app.RunRunning
	t.before = t.run.StepN
	for i := range t.steps {
		if err := t.tx.PutRunStep(&t.steps[i]); err != nil {
			return err
		}
	}
	t.steps = nil
	kinds := map[app.RunStatus]db.AutomationCount{app.RunCompleted: db.CountDone, app.RunFailed: db.CountFailed, app.RunCancelled: db.CountCancelled}
	if kind, ended := kinds[t.run.Status]; ended {
		t.tx.CountAutomation(t.run.AutomationID, "", kind, 1)
	}
	return nil
}

// webhook queues an event for an endpoint of the team. The run does not wait for it.
func (t *turn) webhook(step *automation.Step, c *automation.WebhookConfig) error {
	w, err := t.tx.Webhook(t.run.TeamID, c.WebhookID)
	if errors.Is(err, db.ErrNotFound) {
		t.fail(step, app.ReasonWebhookMissing, "The webhook was deleted")
		return nil
	}
	if err != nil {
		return err
	}
	segments, err := t.tx.SegmentsOf(t.run.TeamID, t.contact.ID)
	if err != nil {
		return err
	}
	event := t.run.Context.Event
	if event == nil {
		event = jsontext.Value("{}")
	}
	id, err := t.s.events.AnnounceTo(t.tx, &w, webhook.EventName(c.Type), webhook.AutomationStepData{
		AutomationID: t.run.AutomationID, RunID: t.run.ID, Step: step.Key, Contact: webhook.ContactDataOf(t.contact, segments), Event: event})
	if err != nil {
		return err
	}
	t.done(step, map[string]any{"webhook_id": c.WebhookID, "type": c.Type, "event_id": id})
	return nil
}
