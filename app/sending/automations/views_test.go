package automations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/automation"
	"mailer/app/sending/automations"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// viewed is a server with the automation Welcome, which waits an hour, sends a mail, asks for the plan, and waits
// for an event.
type viewed struct {
	*testserver.Server
	id    string
	topic *app.Topic
}

func welcomeFlow(templateID, topicID string) app.AutomationFlow {
	step := func(key string, kind app.StepType, config string) app.AutomationStep {
		return app.AutomationStep{Key: key, Type: kind, Config: jsontext.Value(config)}
	}
	mail := `{"template":{"id":"` + templateID + `","variables":{"X":{"var":"event.plan"}}},"topic_id":"` + topicID + `"}`
	return app.AutomationFlow{
		Steps: []app.AutomationStep{step("start", app.StepTrigger, `{"event_name":"signed_up","filter_rule":{"type":"rule","field":"event.plan","operator":"exists"}}`), step("pause", app.StepDelay, `{"duration":"1 hour"}`),
			step("mail", app.StepSendEmail, mail), step("plan", app.StepCondition, `{"type":"rule","field":"event.plan","operator":"neq","value":"free"}`), step("mail2", app.StepSendEmail, mail),
			step("wait", app.StepWaitForEvent, `{"event_name":"bought","timeout":"3 hours"}`), step("tag", app.StepContactUpdate, `{"properties":{"buyer":"yes"}}`), step("goal", app.StepGoal, `{"event_name":"renewed"}`)},
		Connections: []app.AutomationConnection{{From: "start", To: "pause"}, {From: "pause", To: "mail"}, {From: "mail", To: "plan"}, {From: "plan", To: "mail2", Type: app.ConnectConditionMet},
			{From: "plan", To: "wait", Type: app.ConnectConditionNotMet}, {From: "wait", To: "tag", Type: app.ConnectEventReceived}},
	}
}

func newViewed(t *testing.T) *viewed {
	t.Helper()
	w := &viewed{Server: testserver.StartTracking(t)}
	template := w.PublishTemplate(w.Key, "t", app.TemplateContent{From: "Team <team@" + testserver.TestDomain + ">", Subject: "Plan {{{X}}}", HTML: `<p>{{{X}}}</p><a href="https://a.test/1">a</a> <a href="{{{UNSUBSCRIBE_URL}}}">out</a>`,
		Variables: []app.TemplateVariable{{Key: "X", Type: app.StringProperty}}})
	w.topic = w.AddTopic("News", app.OptIn, app.PublicTopic)
	a, err := w.Services.Automations.Create(t.Context(), w.Key, automations.Input{Name: "Welcome", Status: app.AutomationEnabled, Flow: welcomeFlow(template.ID, w.topic.ID)})
	testserver.Must(t, err)
	w.id = a.ID
	return w
}

func (w *viewed) event(name, contactID, payload string) {
	w.T.Helper()
	testserver.Must(w.T, w.Services.Automations.Send(w.T.Context(), w.Key, automations.Sent{Event: name, ContactID: contactID, Payload: jsontext.Value(payload)}))
}

func (w *viewed) explain(contact, step string) string {
	w.T.Helper()
	e, err := w.Services.Automations.Explain(w.T.Context(), w.Key, w.id, contact, step)
	testserver.Must(w.T, err)
	return e.Sentence
}

// path returns the steps of the only run of a contact, as "key status" each.
func (w *viewed) path(contactID string) string {
	w.T.Helper()
	var steps []app.RunStep
	w.Read(func(r *db.Reader) error {
		runs, err := r.RunsOfContact(w.Key.TeamID, contactID, 2)
		if err != nil || len(runs) != 1 {
			w.T.Fatalf("%d runs of a contact, %v", len(runs), err)
		}
		steps, err = r.RunSteps(runs[0].ID)
		return err
	})
	return pathOf(steps)
}

func pathOf(steps []app.RunStep) string {
	var out []string
	for _, s := range steps {
		out = append(out, fmt.Sprint(s.Key, " ", s.Status))
	}
	return strings.Join(out, ", ")
}

func TestReportAndExplanationsFollowRuns(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := newViewed(t)
		free, paying, out, other := w.AddContact("free@example.org", false), w.AddContact("pays@example.org", false), w.AddContact("out@example.org", true), w.AddContact("other@example.org", false)
		if got, want := w.explain(free.ID, ""), `free@example.org is not in Welcome, because no event "signed_up" that starts it has arrived for the contact while the automation was enabled`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		for _, c := range []struct{ id, plan string }{{free.ID, "free"}, {paying.ID, "pro"}, {out.ID, "free"}} {
			w.event("signed_up", c.id, `{"plan":"`+c.plan+`"}`)
		}
		w.event("signed_up", other.ID, `{}`)
		testserver.Sleep(time.Minute)
		if got := w.explain("other@example.org", "mail"); !strings.HasSuffix(got, "does not meet the condition of the trigger: plan was not there (UTC)") {
			t.Error(got)
		}
		if got := w.explain(free.ID, "mail"); !strings.HasPrefix(got, `free@example.org has not reached step "mail" of Welcome yet: the run is at step "pause" since today, next mail today 01:00 (UTC)`) {
			t.Error(got)
		}
		rows, more, err := w.Services.Automations.ListContactRuns(t.Context(), w.Key, "free@example.org", app.Page{Limit: 10})
		if err != nil || more || len(rows) != 1 || !strings.HasPrefix(rows[0].Sentence, "In Welcome since today, next mail today 01:00 (UTC)") {
			t.Errorf("%+v, %v", rows, err)
		}
		testserver.Sleep(time.Hour)
		for step, want := range map[string]string{
			"mail":  `out@example.org did not get the mail of step "mail" of Welcome`,
			"mail2": `out@example.org did not reach step "mail2" of Welcome, because the condition of step "plan" was not met`,
			"wait":  `out@example.org is at step "wait" of Welcome: waits for the event "bought" until`,
		} {
			if got := w.explain(out.ID, step); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s", step, got)
			}
		}
		if got := w.explain(out.ID, "mail"); !strings.Contains(got, "because the contact is unsubscribed from everything") {
			t.Error(got)
		}
		w.event("bought", free.ID, `{}`)
		testserver.Sleep(4 * time.Hour)
		if got := w.explain(out.ID, "tag"); !strings.Contains(got, `because the event "bought" did not come while step "wait" waited for it`) {
			t.Error(got)
		}
		report, err := w.Services.Automations.Report(t.Context(), w.Key, w.id)
		testserver.Must(t, err)
		steps := map[string]automations.StepReport{}
		for _, s := range report.Steps {
			steps[s.Key] = s
		}
		if report.Started != 3 || report.Completed != 3 || report.Running != 0 || steps["mail"].Completed != 2 || steps["mail"].Skipped != 1 || steps["mail2"].Completed != 1 || steps["wait"].Completed != 2 || steps["tag"].Completed != 1 || steps["pause"].Completed != 3 {
			t.Errorf("%+v", report)
		}
		_, err = w.Services.Automations.Explain(t.Context(), w.Key, w.id, free.ID, "no step")
		testserver.WantCode(t, err, app.CodeValidation)
		_, err = w.Services.Automations.Explain(t.Context(), w.Key, w.id, "nobody@example.org", "")
		testserver.WantCode(t, err, app.CodeNotFound)
	})
}

func TestReportCountsOpensAndClicksOncePerMail(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := newViewed(t)
		c := w.AddContact("ann@example.org", false)
		w.event("signed_up", c.ID, `{"plan":"free"}`)
		testserver.Sleep(2 * time.Hour)
		ids := strings.Fields(w.Rows(`SELECT id FROM emails WHERE automation_step = 'mail'`))
		if len(ids) != 1 {
			t.Fatalf("mails %v", ids)
		}
		other := w.Send("x@example.org")
		for range 3 {
			testserver.Sleep(20 * time.Minute)
			w.LoadPixel(ids[0], testserver.Chrome)
			w.LoadPixel(other, testserver.Chrome)
			w.Click(ids[0], 1, 1, testserver.Chrome)
			testserver.Sleep(time.Minute)
		}
		if report, err := w.Services.Automations.Report(t.Context(), w.Key, w.id); err != nil || report.Steps[2].Key != "mail" || report.Steps[2].Opened != 1 || report.Steps[2].Clicked != 1 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

func TestRunsFollowTheModel(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		w := newViewed(t)
		begin := clock.Now()
		at := func(quarters int) time.Time { return begin.Add(time.Duration(quarters) * 15 * time.Minute) }
		var flow app.AutomationFlow
		w.Read(func(r *db.Reader) (err error) {
			flow, err = r.AutomationFlow(w.id, 1)
			return err
		})
		checked, err := automation.Parse(&flow)
		testserver.Must(t, err)
		cases := []struct {
			contact *app.Contact
			plan    string
			events  []automation.WalkEvent
		}{
			{w.AddContact("a@example.org", false), "free", nil},
			{w.AddContact("b@example.org", false), "pro", nil},
			{w.AddContact("c@example.org", true), "free", nil},
			{w.AddContact("d@example.org", false), "free", []automation.WalkEvent{{Name: "bought", At: at(2)}}}, // before the wait
			{w.AddContact("e@example.org", false), "free", []automation.WalkEvent{{Name: "bought", At: at(6)}}},
			{w.AddContact("f@example.org", false), "free", []automation.WalkEvent{{Name: "renewed", At: at(2)}}},
			{w.AddContact("g@example.org", false), "free", []automation.WalkEvent{{Name: "renewed", At: at(7)}}},
			{w.AddContact("h@example.org", false), "free", []automation.WalkEvent{{Name: "bought", At: at(17)}}}, // after the timeout
		}
		for _, c := range cases {
			w.event("signed_up", c.contact.ID, `{"plan":"`+c.plan+`"}`)
		}
		for quarter := 1; quarter <= 18; quarter++ {
			testserver.Sleep(time.Until(at(quarter)))
			for _, c := range cases {
				if i := slices.IndexFunc(c.events, func(e automation.WalkEvent) bool { return e.At.Equal(at(quarter)) }); i >= 0 {
					w.event(c.events[i].Name, c.contact.ID, `{}`)
				}
			}
		}
		synctest.Wait()
		for _, c := range cases {
			want := automation.Walk(checked, automation.WalkInput{AutomationID: w.id, Contact: *c.contact, Event: jsontext.Value(`{"plan":"` + c.plan + `"}`), At: begin, Events: c.events})
			if got := w.path(c.contact.ID); got != pathOf(want.Steps) || want.Status != app.RunCompleted {
				t.Errorf("%s:\n%s\nmodel:\n%s", c.contact.Email, got, pathOf(want.Steps))
			}
		}
	})
}

func TestSimulationShowsMailsAndStoresNothing(t *testing.T) {
	w := newViewed(t)
	tables := []string{"emails", "units", "automation_runs", "automation_signals", "automation_counts", "contacts", "webhook_events"}
	counts := func() (out []string) {
		for _, table := range tables {
			out = append(out, w.Count(table))
		}
		return out
	}
	before := counts()
	at := time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC)
	in := automations.SimulationInput{Contact: &app.ContactInput{Email: "ann@example.org", FirstName: "Ann"}, At: at, Payload: jsontext.Value(`{"plan":"free"}`),
		Events: []automation.WalkEvent{{Name: "bought", At: at.Add(90 * time.Minute)}}}
	got, err := w.Services.Automations.Simulate(t.Context(), w.Key, w.id, in)
	testserver.Must(t, err)
	if path := pathOf(got.Steps); path != "start completed, pause completed, mail completed, plan completed, wait completed, tag completed" || got.Status != app.RunCompleted {
		t.Errorf("%s %s", path, got.Status)
	}
	mail := got.Emails["mail"]
	if mail == nil || mail.Subject != "Plan free" || !strings.Contains(mail.HTML, "<p>free</p>") || !strings.Contains(mail.HTML, `href="`+testserver.TrackBase+`/unsubscribe/preview"`) || mail.To[0].Mailbox() != "ann@example.org" {
		t.Errorf("%+v", mail)
	}
	if after := counts(); !slices.Equal(after, before) {
		t.Errorf("rows of %v: %v, before %v", tables, after, before)
	}

	unsubscribed := w.AddContact("out@example.org", true)
	got, err = w.Services.Automations.Simulate(t.Context(), w.Key, w.id, automations.SimulationInput{ContactID: unsubscribed.ID, Payload: in.Payload})
	testserver.Must(t, err)
	if s := got.Steps[2]; s.Status != app.StepSkipped || !strings.Contains(string(s.Output), "the contact is unsubscribed from everything") || got.Emails["mail"] != nil {
		t.Errorf("%+v", s)
	}
	if last := got.Steps[len(got.Steps)-1]; last.Key != "wait" || last.Status != app.StepCompleted {
		t.Errorf("%+v", last)
	}

	for name, c := range map[string]struct {
		change func(in *automations.SimulationInput)
		field  string
	}{
		"no contact":     {func(in *automations.SimulationInput) { in.Contact = nil }, "`contact_id` and `contact`"},
		"two contacts":   {func(in *automations.SimulationInput) { in.ContactID = unsubscribed.ID }, "`contact_id` and `contact`"},
		"no id":          {func(in *automations.SimulationInput) { in.Contact, in.ContactID = nil, "x" }, "`contact_id`"},
		"an address":     {func(in *automations.SimulationInput) { in.Contact = &app.ContactInput{Email: "x"} }, "`contact.email`"},
		"the payload":    {func(in *automations.SimulationInput) { in.Payload = jsontext.Value(`[]`) }, "`payload`"},
		"the condition":  {func(in *automations.SimulationInput) { in.Payload = nil }, "`payload`"},
		"an event":       {func(in *automations.SimulationInput) { in.Events = []automation.WalkEvent{{At: at}} }, "`events[0].event`"},
		"an event's day": {func(in *automations.SimulationInput) { in.Events = []automation.WalkEvent{{Name: "x"}} }, "`events[0].at`"},
	} {
		changed := in
		c.change(&changed)
		_, err := w.Services.Automations.Simulate(t.Context(), w.Key, w.id, changed)
		testserver.WantCode(t, err, app.CodeValidation)
		if !strings.Contains(fmt.Sprint(err), c.field) {
			t.Errorf("%s: %v does not name %s", name, err, c.field)
		}
	}
	_, err = w.Services.Automations.Simulate(t.Context(), w.Key, app.NewID(), in)
	testserver.WantCode(t, err, app.CodeNotFound)
	in.Contact, in.ContactID = nil, app.NewID()
	_, err = w.Services.Automations.Simulate(t.Context(), w.Key, w.id, in)
	testserver.WantCode(t, err, app.CodeNotFound)
}
