package automations_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/sending/automations"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// newMidRun starts a server with an automation of the name X: an hour after the event "go", a step runs.
func newMidRun(t *testing.T, step app.StepType, config string) (w *testserver.Server, a app.Automation) {
	t.Helper()
	w = testserver.StartTracking(t)
	return w, addMidRun(w, step, config)
}

func addMidRun(w *testserver.Server, step app.StepType, config string) app.Automation {
	w.T.Helper()
	a, err := w.Services.Automations.Create(w.T.Context(), w.Key, automations.Input{Name: "X", Status: app.AutomationEnabled, Flow: app.AutomationFlow{
		Steps: []app.AutomationStep{{Key: "start", Type: app.StepTrigger, Config: jsontext.Value(`{"event_name":"go"}`)}, {Key: "pause", Type: app.StepDelay, Config: jsontext.Value(`{"duration":"1 hour"}`)},
			{Key: "it", Type: step, Config: jsontext.Value(config)}},
		Connections: []app.AutomationConnection{{From: "start", To: "pause"}, {From: "pause", To: "it"}},
	}})
	testserver.Must(w.T, err)
	return a
}

// TestDeletionsInMidRun deletes what a run needs while the run waits. The run ends with a reason.
func TestDeletionsInMidRun(t *testing.T) {
	services := func(w *testserver.Server) (ids map[string]string, remove map[string]func() error) {
		ctx, key, s := w.T.Context(), w.Key, w.Services
		template := w.PublishTemplate(key, "t", app.TemplateContent{From: "Team <team@" + testserver.TestDomain + ">", Subject: "Hi", HTML: `Hi`})
		topic, segment, hook := w.AddTopic("News", app.OptIn, app.PublicTopic), w.AddSegment(nil), w.AddWebhook("hooks.test", webhook.EmailSent)
		property, err := s.Properties.CreateProperty(ctx, key, app.PropertyInput{Key: "plan", Type: app.StringProperty})
		testserver.Must(w.T, err)
		event, err := s.Automations.CreateEvent(ctx, key, "bought", nil)
		testserver.Must(w.T, err)
		ids = map[string]string{"TEMPLATE": template.ID, "TOPIC": topic.ID, "SEGMENT": segment.ID, "WEBHOOK": hook.ID}
		return ids, map[string]func() error{
			"template": func() error { _, err := s.Templates.DeleteTemplate(ctx, key, template.ID); return err },
			"topic":    func() error { return s.Topics.DeleteTopic(ctx, key, topic.ID) },
			"segment":  func() error { return s.Audience.DeleteSegment(ctx, key, segment.ID) },
			"webhook":  func() error { return s.Webhooks.DeleteWebhook(ctx, key, hook.ID) },
			"property": func() error { return s.Properties.DeleteProperty(ctx, key, property.ID) },
			"event":    func() error { _, err := s.Automations.DeleteEvent(ctx, key, event.ID); return err },
			"domain": func() error {
				_, err := s.Domains.DeleteByName(ctx, key.TeamID, testserver.TestDomain)
				return err
			},
			"contact": func() error {
				_, err := s.Audience.DeleteContact(ctx, key, "ann@example.org", false)
				return err
			},
		}
	}
	for _, c := range []struct {
		deleted string
		step    app.StepType
		config  string
		status  app.RunStatus
		reason  app.RunReason
		step3   app.StepStatus // of the step; empty: not reached
	}{
		{"template", app.StepSendEmail, `{"template":{"id":"TEMPLATE"}}`, app.RunFailed, app.ReasonTemplateMissing, app.StepFailed},
		{"topic", app.StepSendEmail, `{"template":{"id":"TEMPLATE"},"topic_id":"TOPIC"}`, app.RunFailed, app.ReasonTopicMissing, app.StepFailed},
		{"domain", app.StepSendEmail, `{"template":{"id":"TEMPLATE"}}`, app.RunFailed, app.ReasonSenderMissing, app.StepFailed},
		{"topic", app.StepSetTopic, `{"topic_id":"TOPIC","subscription":"opt_out"}`, app.RunFailed, app.ReasonTopicMissing, app.StepFailed},
		{"segment", app.StepAddToSegment, `{"segment_id":"SEGMENT"}`, app.RunFailed, app.ReasonSegmentMissing, app.StepFailed},
		{"segment", app.StepRemoveFromSegment, `{"segment_id":"SEGMENT"}`, app.RunFailed, app.ReasonSegmentMissing, app.StepFailed},
		{"segment", app.StepGoal, `{"segment_id":"SEGMENT"}`, app.RunCompleted, "", app.StepCompleted},
		{"webhook", app.StepWebhook, `{"webhook_id":"WEBHOOK","type":"automation.bought"}`, app.RunFailed, app.ReasonWebhookMissing, app.StepFailed},
		{"property", app.StepContactUpdate, `{"properties":{"plan":"free"}}`, app.RunCompleted, "", app.StepCompleted},
		{"event", app.StepWaitForEvent, `{"event_name":"bought","timeout":"1 hour"}`, app.RunCompleted, "", app.StepCompleted},
		{"contact", app.StepAddToSegment, `{"segment_id":"SEGMENT"}`, app.RunCancelled, app.ReasonContactDeleted, ""},
	} {
		t.Run(fmt.Sprint(c.deleted, " of ", c.step), func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				w := testserver.StartTracking(t)
				ids, remove := services(w)
				config := c.config
				for name, id := range ids {
					config = strings.ReplaceAll(config, name, id)
				}
				a := addMidRun(w, c.step, config)
				contact := w.AddContact("ann@example.org", false)
				testserver.Must(t, w.Services.Automations.Send(t.Context(), w.Key, automations.Sent{Event: "go", ContactID: contact.ID, Payload: jsontext.Value(`{}`)}))
				testserver.Sleep(10 * time.Minute)
				testserver.Must(t, remove[c.deleted]())
				testserver.Sleep(3 * time.Hour)
				synctest.Wait()
				w.Read(func(r *db.Reader) error {
					runs, err := r.RunsOfContact(w.Key.TeamID, contact.ID, 2)
					if err != nil || len(runs) != 1 {
						t.Fatalf("%d runs, %v", len(runs), err)
					}
					steps, err := r.RunSteps(runs[0].ID)
					last := app.StepStatus("")
					for _, s := range steps {
						if s.Key == "it" {
							last = s.Status
						}
					}
					if runs[0].Status != c.status || runs[0].Reason != c.reason || last != c.step3 {
						t.Errorf("the run is %s, reason %q, the step %q: %+v", runs[0].Status, runs[0].Reason, last, steps)
					}
					counts, err2 := r.AutomationCounts(a.ID)
					for step, of := range counts {
						if of[db.CountWaiting] != 0 {
							t.Errorf("%d runs wait at %s", of[db.CountWaiting], step)
						}
					}
					if n, err := r.OpenRuns(w.Key.TeamID); err != nil || n != 0 {
						t.Errorf("%d open runs, %v", n, err)
					}
					return errors.Join(err, err2)
				})
			})
		})
	}
}

// TestStopEndsRunsThatHadStarted stops an automation as a process does that is killed before it ended the runs, and
// enables it again.
func TestStopEndsRunsThatHadStarted(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		w, a := newMidRun(t, app.StepContactUpdate, `{"first_name":"Bob"}`)
		start := func(email string) *app.Contact {
			c := w.AddContact(email, false)
			testserver.Must(t, w.Services.Automations.Send(t.Context(), w.Key, automations.Sent{Event: "go", ContactID: c.ID}))
			testserver.Sleep(time.Minute)
			return c
		}
		before := start("ann@example.org")
		w.WriteDB(func(tx *db.Tx) error { return tx.StopAutomation(w.Key.TeamID, a.ID) })
		testserver.Sleep(time.Millisecond)
		after := start("eve@example.org")
		testserver.Sleep(2 * time.Hour)
		w.Read(func(r *db.Reader) error {
			for contact, want := range map[*app.Contact]string{before: "cancelled stopped", after: "completed "} {
				runs, err := r.RunsOfContact(w.Key.TeamID, contact.ID, 2)
				if err != nil || len(runs) != 1 || fmt.Sprint(runs[0].Status, " ", runs[0].Reason) != want {
					t.Errorf("%s: %+v, %v", contact.Email, runs, err)
				}
			}
			if id, _, err := r.NextStopped(""); err == nil {
				t.Errorf("%s is still being stopped", id)
			}
			return nil
		})
	})
}
