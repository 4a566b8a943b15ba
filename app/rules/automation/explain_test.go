package automation

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// berlin is a clock at Wednesday, 3 June 2026, 12:00 in Berlin.
func berlin(t *testing.T) Clock {
	t.Helper()
	zone, ok := Zone("Europe/Berlin")
	if !ok {
		t.Fatal("no zone Europe/Berlin")
	}
	return Clock{Now: at(t, "2026-06-03T10:00:00Z"), Zone: zone}
}

func TestClockNamesDays(t *testing.T) {
	t.Parallel()
	c := berlin(t)
	for when, want := range map[string]string{
		"2026-06-03T10:00:00Z": "today 12:00", "2026-06-03T21:59:00Z": "today 23:59", "2026-06-03T22:00:00Z": "tomorrow 00:00", "2026-06-02T21:59:00Z": "yesterday 23:59",
		"2026-06-09T07:00:00Z": "on Tuesday 09:00", "2026-06-10T07:00:00Z": "on 10 June 2026 09:00", "2026-05-28T07:00:00Z": "on Thursday 09:00", "2026-05-27T07:00:00Z": "on 27 May 2026 09:00",
		"2027-01-04T08:00:00Z": "on 4 January 2027 09:00",
	} {
		if got := c.At(at(t, when)); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
}

// welcome is a flow with a delay, a condition on the plan, a wait, a split, and mails between them.
func welcome(t *testing.T) *Flow {
	t.Helper()
	return flowOf(t, []string{`pause delay {"duration":"1 day"}`, mail1, `plan condition {"type":"and","rules":[{"type":"rule","field":"event.plan","operator":"neq","value":"free"}]}`, mail2,
		`w wait_for_event {"event_name":"bought","timeout":"3 days"}`, `mail3 send_email {"template":{"id":"t"}}`, `half split {"percent":50}`, `mail4 send_email {"template":{"id":"t"}}`,
		`last wait_until {"hour":9}`, `tag contact_update {"first_name":"x"}`, `mail5 send_email {"template":{"id":"t"}}`},
		"start pause", "pause mail", "mail plan", "plan mail2 condition_met", "plan w condition_not_met", "w mail3 timeout", "w half event_received", "half mail4 condition_met", "half last condition_not_met", "last tag", "tag mail5")
}

func step(t *testing.T, key string, kind app.StepType, status app.StepStatus, output string) app.RunStep {
	t.Helper()
	s := app.RunStep{Key: key, Type: kind, Status: status, StartedAt: at(t, "2026-06-01T07:00:00Z")}
	if output != "" {
		s.Output = jsontext.Value(output)
	}
	if status != app.StepWaiting && status != app.StepRunning {
		s.CompletedAt = at(t, "2026-06-02T07:00:00Z")
	}
	return s
}

func TestExplainOfRuns(t *testing.T) {
	t.Parallel()
	monday, yesterday, tomorrow := at(t, "2026-06-01T07:00:00Z"), at(t, "2026-06-02T07:00:00Z"), at(t, "2026-06-04T07:00:00Z")
	running := func(step, waitsFor string, due time.Time) *app.Run {
		return &app.Run{Version: 2, Status: app.RunRunning, StepKey: step, WaitsFor: waitsFor, DueAt: due, StartedAt: monday, Context: app.RunContext{Event: jsontext.Value(`{"plan":"free"}`)}}
	}
	ended := func(status app.RunStatus, step string, reason app.RunReason) *app.Run {
		r := running(step, "", time.Time{})
		r.Status, r.Reason, r.CompletedAt = status, reason, yesterday
		return r
	}
	came := ended(app.RunCompleted, "last", "")
	came.Context.Received = map[string]jsontext.Value{"w": jsontext.Value(`{}`)}
	held := running("pause", "", tomorrow)
	held.Held = app.HoldRestored
	done := func(key string, kind app.StepType, output string) app.RunStep {
		return step(t, key, kind, app.StepCompleted, output)
	}
	notFree := done("plan", app.StepCondition, `{"result":false}`)
	for _, c := range []struct {
		step  string
		run   *app.Run
		steps []app.RunStep
		want  string
	}{
		{"", running("pause", "", tomorrow), nil, "Ann is in Welcome since Monday: next mail tomorrow 09:00 (Europe/Berlin)"},
		{"", running("last", "", tomorrow), nil, "Ann is in Welcome since Monday: next mail tomorrow 09:00 (Europe/Berlin)"},
		{"", running("w", "bought", tomorrow), nil, `Ann is in Welcome since Monday: waits for the event "bought" until tomorrow 09:00 (Europe/Berlin)`},
		{"", running("w", "bought", time.Time{}), nil, `Ann is in Welcome since Monday: waits for the event "bought"`},
		{"", held, nil, `Ann is in Welcome since Monday: held at step "pause" (restored)`},
		{"", ended(app.RunCompleted, "mail", ""), nil, "Ann left Welcome yesterday 09:00: completed (Europe/Berlin)"},
		{"", ended(app.RunCompleted, "w", app.ReasonGoal), nil, "Ann left Welcome yesterday 09:00: completed, because its goal was met (Europe/Berlin)"},
		{"", ended(app.RunCancelled, "w", app.ReasonStopped), nil, `Ann left Welcome yesterday 09:00: cancelled at step "w", because the automation was stopped (Europe/Berlin)`},
		{"", ended(app.RunCancelled, "start", "loop"), nil, "Welcome was not started for Ann yesterday 09:00, because it would have been a loop: too many starts within 24 hours, or too many automations that start each other (Europe/Berlin)"},
		{"mail", running("pause", "", tomorrow), []app.RunStep{step(t, "pause", app.StepDelay, app.StepWaiting, "")}, `Ann has not reached step "mail" of Welcome yet: the run is at step "pause" since Monday, next mail tomorrow 09:00 (Europe/Berlin)`},
		{"mail", running("pause", "", monday), nil, `Ann has not reached step "mail" of Welcome yet: the run is at step "pause" since Monday, next mail now: it is due and waits for its turn`},
		{"pause", running("pause", "", tomorrow), []app.RunStep{step(t, "pause", app.StepDelay, app.StepWaiting, "")}, `Ann is at step "pause" of Welcome: next mail tomorrow 09:00 (Europe/Berlin)`},
		{"mail", running("mail", "", monday), []app.RunStep{step(t, "mail", app.StepSendEmail, app.StepRunning, "")}, `The mail of step "mail" of Welcome for Ann is due since Monday 09:00 and waits for its turn: the team's mail is paced, or waits for a quota (Europe/Berlin)`},
		{"mail", running("mail", "", monday), []app.RunStep{step(t, "mail", app.StepSendEmail, app.StepRunning, `{"waits":"The daily quota is used up"}`)}, `The mail of step "mail" of Welcome for Ann waits: The daily quota is used up`},
		{"mail", ended(app.RunCompleted, "w", ""), []app.RunStep{done("mail", app.StepSendEmail, `{"email_id":"x"}`)}, `The mail of step "mail" of Welcome was made for Ann yesterday 09:00; its timeline shows what became of it (Europe/Berlin)`},
		{"pause", ended(app.RunCompleted, "w", ""), []app.RunStep{done("pause", app.StepDelay, "")}, `The step "pause" of Welcome was completed for Ann yesterday 09:00 (Europe/Berlin)`},
		{"mail", ended(app.RunCompleted, "w", ""), []app.RunStep{step(t, "mail", app.StepSendEmail, app.StepSkipped, `{"reason":"Not sent to this recipient: the address is on the suppression list since 2026-05-01T00:00:00.000Z (origin unsubscribe)"}`)},
			`Ann did not get the mail of step "mail" of Welcome yesterday 09:00, because the address is on the suppression list since 2026-05-01T00:00:00.000Z (origin unsubscribe) (Europe/Berlin)`},
		{"pause", ended(app.RunCompleted, "pause", app.ReasonGoal), []app.RunStep{step(t, "pause", app.StepDelay, app.StepSkipped, `{"reason":"goal","goal":"g"}`)}, `The step "pause" of Welcome was skipped for Ann yesterday 09:00, because its goal was met (Europe/Berlin)`},
		{"mail", ended(app.RunFailed, "mail", app.ReasonTemplateMissing), []app.RunStep{{Key: "mail", Type: app.StepSendEmail, Status: app.StepFailed, CompletedAt: yesterday, Error: jsontext.Value(`{"code":"template_missing","message":"The template was deleted"}`)}},
			`The step "mail" of Welcome failed for Ann yesterday 09:00: The template was deleted (Europe/Berlin)`},
		{"mail5", ended(app.RunFailed, "mail", app.ReasonTemplateMissing), nil, `Ann did not reach step "mail5" of Welcome, because the run ended before it yesterday 09:00: failed at step "mail", because the template was deleted or is not published (Europe/Berlin)`},
		{"mail5", ended(app.RunCompleted, "pause", app.ReasonGoal), nil, `Ann did not reach step "mail5" of Welcome, because the run ended before it yesterday 09:00: completed, because its goal was met (Europe/Berlin)`},
		{"mail2", ended(app.RunCompleted, "mail3", ""), []app.RunStep{notFree}, `Ann did not reach step "mail2" of Welcome, because the condition of step "plan" was not met yesterday 09:00: plan was "free" (Europe/Berlin)`},
		{"mail2", running("w", "bought", tomorrow), []app.RunStep{notFree}, `Ann did not reach step "mail2" of Welcome, because the condition of step "plan" was not met yesterday 09:00: plan was "free" (Europe/Berlin)`},
		{"mail3", ended(app.RunCompleted, "mail2", ""), []app.RunStep{done("plan", app.StepCondition, `{"result":true}`)}, `Ann did not reach step "mail3" of Welcome, because the condition of step "plan" was met yesterday 09:00 (Europe/Berlin)`},
		{"mail3", came, []app.RunStep{notFree, done("w", app.StepWaitForEvent, "")}, `Ann did not reach step "mail3" of Welcome, because the event "bought" that step "w" waited for came yesterday 09:00 (Europe/Berlin)`},
		{"mail4", ended(app.RunCompleted, "mail3", ""), []app.RunStep{notFree, done("w", app.StepWaitForEvent, "")}, `Ann did not reach step "mail4" of Welcome, because the event "bought" did not come while step "w" waited for it until yesterday 09:00 (Europe/Berlin)`},
		{"mail4", came, []app.RunStep{notFree, done("w", app.StepWaitForEvent, ""), done("half", app.StepSplit, `{"result":false}`)}, `Ann did not reach step "mail4" of Welcome, because it is not among the 50 % of step "half"`},
		{"gone", ended(app.RunCompleted, "mail3", ""), nil, `Ann did not reach step "gone" of Welcome, because the run is of version 2, which has no such step`},
	} {
		in := ExplainInput{Automation: app.Automation{Name: "Welcome"}, Who: "Ann", Step: c.step, Clock: berlin(t), Run: c.run, RunFlow: welcome(t), Steps: c.steps}
		if got := Explain(&in); got != c.want {
			t.Errorf("step %q:\n%s\nwant\n%s", c.step, got, c.want)
		}
	}
}

func TestExplainWithoutRun(t *testing.T) {
	t.Parallel()
	made := at(t, "2026-06-01T07:00:00Z")
	flow := func(config string) *Flow {
		f, err := Parse(&app.AutomationFlow{Steps: []app.AutomationStep{{Key: "start", Type: app.StepTrigger, Config: jsontext.Value(config)}}})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	text := func(s string) app.Properties { return app.Properties{"born": {Type: app.StringProperty, Text: s}} }
	paying := `"filter_rule":{"type":"rule","field":"event.plan","operator":"neq","value":"free"}`
	perOrder := flow(`{"event_name":"ordered"}`)
	perOrder.ReEntry = app.ReEntry{Mode: app.ReEnterPerKey, Field: "order_id"}
	for _, c := range []struct {
		flow *Flow
		in   ExplainInput
		want string
	}{
		{flow(`{"event_name":"ordered"}`), ExplainInput{}, `Ann is not in Welcome, because no event "ordered" that starts it has arrived for the contact while the automation was enabled`},
		{flow(`{"event_name":"ordered"}`), ExplainInput{Full: true}, `Ann is not in Welcome, because no event "ordered" that starts it has arrived for the contact while the automation was enabled; some starts did not happen, because there were too many open runs`},
		{flow(`{"event_name":"ordered"}`), ExplainInput{Automation: app.Automation{Status: app.AutomationDisabled}}, "Ann is not in Welcome, because the automation is disabled"},
		{flow(`{"event_name":"ordered"}`), ExplainInput{LastStart: made}, "Ann is not in Welcome any more: it was started on Monday 09:00, and the run was deleted since (Europe/Berlin)"},
		{flow(`{"event_name":"ordered",` + paying + `}`), ExplainInput{Events: []WalkEvent{event(t, `ordered 2026-06-03T07:00:00Z {"plan":"free"}`)}},
			`Ann is not in Welcome, because the event "ordered" that arrived for the contact today 09:00 does not meet the condition of the trigger: plan was "free" (Europe/Berlin)`},
		{perOrder, ExplainInput{Events: []WalkEvent{event(t, `ordered 2026-06-03T07:00:00Z {}`)}}, `Ann is not in Welcome, because the event "ordered" that arrived for the contact today 09:00 has no member "order_id", by which starts are told apart (Europe/Berlin)`},
		{flow(`{"event_name":"ordered"}`), ExplainInput{Events: []WalkEvent{event(t, `ordered 2026-06-03T09:59:59Z`)}}, `Ann is not in Welcome, because the event "ordered" that arrived for the contact today 11:59 is about to be taken (Europe/Berlin)`},
		{flow(`{"event_name":"mailer:contact.created"}`), ExplainInput{Contact: app.Contact{CreatedAt: made.Add(-time.Hour)}}, "Ann is not in Welcome, because the contact was added on Monday 08:00, before the automation was made on Monday 09:00 (Europe/Berlin)"},
		{flow(`{"event_name":"mailer:contact.created"}`), ExplainInput{Contact: app.Contact{CreatedAt: made.Add(time.Hour)}}, "Ann is not in Welcome, because the contact was added on Monday 10:00, while the automation was disabled, or by an import or a batch that triggers no automations (Europe/Berlin)"},
		{flow(`{"event_name":"mailer:contact.created","filter_rule":{"type":"rule","field":"contact.born","operator":"exists"}}`), ExplainInput{}, "Ann is not in Welcome, because its trigger has a condition that was not met: born was not there"},
		{flow(`{"event_name":"mailer:contact.opt_in","topic_id":"` + topicA + `"}`), ExplainInput{Topic: app.AddressSubscription{Subscription: app.OptOut}, Names: map[string]string{topicA: "News"}}, `Ann is not in Welcome, because the contact has not opted in to the topic "News"`},
		{flow(`{"event_name":"mailer:segment.joined","segment_id":"` + segment + `"}`), ExplainInput{Names: map[string]string{segment: "Buyers"}}, `Ann is not in Welcome, because the contact is not in the segment "Buyers"`},
		{flow(`{"event_name":"mailer:segment.joined","segment_id":"` + segment + `"}`), ExplainInput{InSegment: true, Names: map[string]string{segment: "Buyers"}},
			`Ann is not in Welcome, because the contact was in the segment "Buyers" before the automation was enabled, or joined by a change of the segment's filter or by an import or a batch, which trigger no automations`},
		{flow(`{"event_name":"mailer:email.clicked"}`), ExplainInput{}, "Ann is not in Welcome, because no mail that the trigger is about has a click by the contact that was recorded while the automation was enabled"},
		{flow(`{"event_name":"mailer:date","property":"born","hour":9,"yearly":true}`), ExplainInput{}, `Ann is not in Welcome, because the property "born" of the contact is empty`},
		{flow(`{"event_name":"mailer:date","property":"born","hour":9,"yearly":true}`), ExplainInput{Contact: app.Contact{Properties: text("soon")}}, `Ann is not in Welcome, because the property "born" of the contact is no date: "soon"`},
		{flow(`{"event_name":"mailer:date","property":"born","hour":9,"yearly":true}`), ExplainInput{Contact: app.Contact{Properties: text("1996-02-29")}}, "Ann is not in Welcome, because its day is on 28 February 2027 09:00 (Europe/Berlin)"},
		{flow(`{"event_name":"mailer:date","property":"born","hour":9}`), ExplainInput{Contact: app.Contact{Properties: text("1996-02-29")}}, `Ann is not in Welcome, because its day is past: the property "born" of the contact is "1996-02-29"`},
		{flow(`{"event_name":"mailer:schedule","segment_id":"` + segment + `","schedule":"0 9 * * mon"}`), ExplainInput{InSegment: true, Automation: app.Automation{NextAt: at(t, "2026-06-08T07:00:00Z")}}, "Ann is not in Welcome, because its next start is on Monday 09:00 (Europe/Berlin)"},
		{flow(`{"event_name":"mailer:schedule","segment_id":"` + segment + `","schedule":"0 9 * * mon"}`), ExplainInput{InSegment: true, Automation: app.Automation{Held: "restored"}}, "Ann is not in Welcome, because its starts are held (restored)"},
	} {
		c.in.Flow, c.in.Who, c.in.Clock = c.flow, "Ann", berlin(t)
		c.in.Automation.Name, c.in.Automation.CreatedAt = "Welcome", made
		if got := Explain(&c.in); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.flow.Trigger.EventName, got, c.want)
		}
	}
}

func TestRunSentence(t *testing.T) {
	t.Parallel()
	monday, tomorrow := at(t, "2026-06-01T07:00:00Z"), at(t, "2026-06-04T07:00:00Z")
	for _, c := range []struct {
		run  app.Run
		want string
	}{
		{app.Run{Status: app.RunRunning, StepKey: "pause", DueAt: tomorrow}, "In Welcome since Monday, next mail tomorrow 09:00 (Europe/Berlin)"},
		{app.Run{Status: app.RunRunning, StepKey: "mail", DueAt: monday}, `In Welcome since Monday, next mail now: step "mail" is due and waits for its turn`},
		{app.Run{Status: app.RunRunning, StepKey: "unknown", DueAt: monday}, `In Welcome since Monday, at step "unknown"`},
		{app.Run{Status: app.RunFailed, StepKey: "mail", Reason: app.ReasonRejected, CompletedAt: tomorrow}, `In Welcome from Monday to tomorrow: failed at step "mail", because the step could not be executed`},
	} {
		c.run.StartedAt = monday
		if got := RunSentence("Welcome", &c.run, welcome(t), berlin(t)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
