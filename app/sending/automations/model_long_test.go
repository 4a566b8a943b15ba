//go:build long

package automations_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/rules/automation"
	"mailer/app/sending/automations"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// modelContacts is how many contacts go through the welcome series.
const modelContacts = 10_000

// seriesFlow is a welcome series of mails over about 14 days, with a wait for an event, a condition, a split, and a
// goal.
func seriesFlow(template string) app.AutomationFlow {
	step := func(key string, kind app.StepType, config string) app.AutomationStep {
		return app.AutomationStep{Key: key, Type: kind, Config: jsontext.Value(config)}
	}
	mail := `{"template":{"id":"` + template + `"}}`
	return app.AutomationFlow{
		Steps: []app.AutomationStep{step("start", app.StepTrigger, `{"event_name":"signed_up"}`), step("mail1", app.StepSendEmail, mail), step("two days", app.StepDelay, `{"duration":"2 days"}`),
			step("mail2", app.StepSendEmail, mail), step("activated?", app.StepWaitForEvent, `{"event_name":"activated","timeout":"3 days","filter_rule":{"type":"rule","field":"event.score","operator":"gte","value":5}}`),
			step("plan", app.StepCondition, `{"type":"or","rules":[{"type":"rule","field":"contact.plan","operator":"eq","value":"pro"},{"type":"rule","field":"event.source","operator":"starts_with","value":"ad"}]}`),
			step("mail3 pro", app.StepSendEmail, mail), step("mail3 free", app.StepSendEmail, mail), step("mail3 reminder", app.StepSendEmail, mail),
			step("half", app.StepSplit, `{"percent":50}`), step("four days", app.StepDelay, `{"duration":"4 days"}`), step("monday", app.StepWaitUntil, `{"hour":9,"weekdays":["monday"]}`),
			step("mail4", app.StepSendEmail, mail), step("five days", app.StepDelay, `{"duration":"5 days"}`), step("mail5", app.StepSendEmail, mail), step("bought", app.StepGoal, `{"event_name":"bought"}`)},
		Connections: []app.AutomationConnection{{From: "start", To: "mail1"}, {From: "mail1", To: "two days"}, {From: "two days", To: "mail2"}, {From: "mail2", To: "activated?"},
			{From: "activated?", To: "plan", Type: app.ConnectEventReceived}, {From: "activated?", To: "mail3 reminder", Type: app.ConnectTimeout},
			{From: "plan", To: "mail3 pro", Type: app.ConnectConditionMet}, {From: "plan", To: "mail3 free", Type: app.ConnectConditionNotMet},
			{From: "mail3 pro", To: "half"}, {From: "mail3 free", To: "half"}, {From: "mail3 reminder", To: "half"},
			{From: "half", To: "four days", Type: app.ConnectConditionMet}, {From: "half", To: "monday", Type: app.ConnectConditionNotMet},
			{From: "four days", To: "mail4"}, {From: "monday", To: "mail4"}, {From: "mail4", To: "five days"}, {From: "five days", To: "mail5"}},
	}
}

// seriesContact is a contact of the test with what happens to it.
type seriesContact struct {
	id string
	in automation.WalkInput
}

// TestLongSeriesFollowsModel runs a welcome series in fake time: the path of each contact is the one that the model
// predicts.
func TestLongSeriesFollowsModel(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w := testserver.StartTracking(t)
		template := w.PublishTemplate(w.Key, "t", app.TemplateContent{From: "Team <team@" + testserver.TestDomain + ">", Subject: "Hello", HTML: `<p>Hello</p>`})
		flow := seriesFlow(template.ID)
		a, err := w.Services.Automations.Create(t.Context(), w.Key, automations.Input{Name: "Welcome", Status: app.AutomationEnabled, Flow: flow})
		testserver.Must(t, err)
		parsed, err := automation.Parse(&flow)
		testserver.Must(t, err)

		random := rand.New(rand.NewPCG(1, 2))
		begin := clock.Now()
		var contacts []seriesContact
		type due struct {
			at   time.Time
			send automations.Sent
		}
		var all []due
		for i := range modelContacts {
			c := seriesContact{}
			testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
				contact := app.Contact{ID: app.NewID(), TeamID: w.Key.TeamID, Email: fmt.Sprintf("c%d@example.net", i), Hash: w.AddressHash(fmt.Sprintf("c%d@example.net", i)), CreatedAt: tx.Now, UpdatedAt: tx.Now,
					Properties: map[string]app.PropertyValue{"plan": {Type: app.StringProperty, Text: []string{"pro", "free"}[i%2]}, "time_zone": {Type: app.StringProperty, Text: []string{"Europe/Berlin", "America/New_York", "Asia/Kathmandu", "no zone"}[i%4]}}}
				c.id, c.in = contact.ID, automation.WalkInput{AutomationID: a.ID, Contact: contact}
				return tx.InsertContact(&contact)
			}))
			c.in.Event = jsontext.Value(fmt.Sprintf(`{"source":%q}`, []string{"ads", "organic", "advert", ""}[random.IntN(4)]))
			c.in.At = begin.Add(time.Duration(random.IntN(12*60*60)+60) * time.Second)
			all = append(all, due{c.in.At, automations.Sent{Event: "signed_up", ContactID: c.id, Payload: c.in.Event}})
			for _, e := range []struct {
				name    string
				payload string
				days    int
			}{{"activated", `{"score":3}`, 6}, {"activated", `{"score":7}`, 6}, {"bought", `{}`, 25}} {
				if random.IntN(3) > 0 {
					at := c.in.At.Add(time.Duration(random.IntN(e.days*24*60))*time.Minute + 30*time.Second) // never at the end of a wait
					c.in.Events = append(c.in.Events, automation.WalkEvent{Name: e.name, At: at, Payload: jsontext.Value(e.payload)})
					all = append(all, due{at, automations.Sent{Event: e.name, ContactID: c.id, Payload: jsontext.Value(e.payload)}})
				}
			}
			contacts = append(contacts, c)
		}
		slices.SortStableFunc(all, func(a, b due) int { return a.at.Compare(b.at) })
		for _, d := range all {
			testserver.Sleep(clock.Until(d.at))
			testserver.Must(t, w.Services.Automations.Send(t.Context(), w.Key, d.send))
		}
		testserver.Sleep(40 * 24 * time.Hour)

		mails, ends := 0, map[app.RunReason]int{}
		for _, c := range contacts {
			want := automation.Walk(parsed, c.in)
			var run app.Run
			var steps []app.RunStep
			w.Read(func(r *db.Reader) error {
				runs, err := r.RunsOfContact(w.Key.TeamID, c.id, 2)
				if err != nil || len(runs) != 1 {
					t.Fatalf("%d runs of a contact, %v", len(runs), err)
				}
				run = runs[0]
				steps, err = r.RunSteps(run.ID)
				return err
			})
			if run.Status != want.Status || run.Reason != want.Reason || pathOf(steps) != pathOf(want.Steps) {
				t.Fatalf("%s: %s %s %s\nwant %s %s %s\n%+v", c.id, run.Status, run.Reason, pathOf(steps), want.Status, want.Reason, pathOf(want.Steps), c.in.Events)
			}
			for i := range steps {
				if late := steps[i].StartedAt.Sub(want.Steps[i].StartedAt); late < 0 || late > 2*time.Minute {
					t.Fatalf("%s began %s, want %s", steps[i].Key, steps[i].StartedAt, want.Steps[i].StartedAt)
				}
				if steps[i].Type == app.StepSendEmail && steps[i].Status == app.StepCompleted {
					mails++
				}
			}
			ends[run.Reason]++
		}
		if got := len(w.Relays[0].Accepted); got != mails {
			t.Errorf("%d mails, the runs sent %d", got, mails)
		}
		if ends[""] == 0 || ends[app.ReasonGoal] == 0 {
			t.Errorf("ends: %v", ends)
		}
	})
}
