package queue_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/sending/automations"
	"mailer/app/sending/queue"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestRestoredAutomationsAreHeld shows that what a restore held of automations waits until it is released or dropped,
// while new events start runs.
func TestRestoredAutomationsAreHeld(t *testing.T) {
	for name, release := range map[string]bool{"release": true, "drop": false} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				w := testserver.Start(t, testserver.NewRelay(nil))
				ctx, key := t.Context(), w.Key
				create := func(name, trigger string) app.Automation {
					t.Helper()
					a, err := w.Services.Automations.Create(ctx, key, automations.Input{Name: name, Status: app.AutomationEnabled, Flow: app.AutomationFlow{
						Steps: []app.AutomationStep{{Key: "start", Type: app.StepTrigger, Config: jsontext.Value(trigger)}, {Key: "wait", Type: app.StepDelay, Config: jsontext.Value(`{"duration":"1 hour"}`)}},
						Connections: []app.AutomationConnection{{From: "start", To: "wait"}}}})
					testserver.Must(t, err)
					return a
				}
				segment, err := w.Services.Audience.CreateSegment(ctx, key, app.SegmentInput{Name: "All"})
				testserver.Must(t, err)
				a := create("order", `{"event_name":"order"}`)
				daily := create("daily", `{"event_name":"mailer:schedule","segment_id":"`+segment.ID+`","schedule":"0 9 * * *"}`)
				runs := func(contact *app.Contact) (all string) {
					t.Helper()
					rows, err := db.Get(ctx, w.DB, func(r *db.Reader) ([]app.Run, error) { return r.RunsOfContact(key.TeamID, contact.ID, 10) })
					testserver.Must(t, err)
					for i := range rows {
						all += strings.TrimSpace(string(rows[i].Status)+" "+string(rows[i].Held)+string(rows[i].Reason)) + ";"
					}
					return all
				}
				want := func(when string, contacts []*app.Contact, texts ...string) {
					t.Helper()
					synctest.Wait()
					for i, c := range contacts {
						if got := runs(c); got != texts[i] {
							t.Errorf("%s: runs of %s are %q, want %q", when, c.Email, got, texts[i])
						}
					}
				}
				waiting, untaken, later := w.AddContact("a@example.org", false), w.AddContact("b@example.org", false), w.AddContact("c@example.org", false)
				all := []*app.Contact{waiting, untaken, later}
				testserver.Must(t, w.Services.Automations.Send(ctx, key, automations.Sent{Event: "order", ContactID: waiting.ID}))
				time.Sleep(time.Minute)
				want("before", all, "running;", "", "")
				w.WriteDB(func(tx *db.Tx) error {
					if err := tx.InsertSignal(&app.Signal{ID: app.NewID(), TeamID: key.TeamID, ContactID: untaken.ID, Name: "order", CreatedAt: tx.Now}); err != nil {
						return err
					}
					n, err := tx.HoldAutomations()
					if n != (db.HeldAutomations{Runs: 1, Signals: 1, Automations: 1}) {
						t.Errorf("held %+v", n)
					}
					return err
				})
				testserver.Must(t, w.Services.Automations.Send(ctx, key, automations.Sent{Event: "order", ContactID: later.ID}))
				time.Sleep(30 * time.Hour)
				want("held", all, "running restored;", "", "completed;")
				decide := w.Services.Queue.Drop
				if release {
					decide = w.Services.Queue.Release
				}
				res, err := decide(ctx, queue.Filter{Restored: true})
				testserver.Must(t, err)
				notes := []string{"1 open runs of automations were cancelled", "1 events of automations were dropped", "1 automations are started by dates and schedules again, from now on"}
				if release {
					notes[0], notes[1] = "1 open runs of automations were released", "1 events of automations were released"
				}
				if res.Changed != 3 || !slices.Equal(res.Notes, notes) {
					t.Errorf("%d changed: %q", res.Changed, res.Notes)
				}
				time.Sleep(time.Minute)
				if release {
					want("released", all, "completed;", "running;", "completed;")
				} else {
					want("dropped", all, "cancelled dropped;", "", "completed;")
				}
				got, err := w.Services.Automations.Get(ctx, key, daily.ID)
				testserver.Must(t, err)
				if got.Held != "" || !got.NextAt.After(time.Now()) {
					t.Errorf("the schedule is held %q and due %s", got.Held, got.NextAt)
				}
				if left, err := db.Get(ctx, w.DB, func(r *db.Reader) (int64, error) { return r.OpenRuns(a.TeamID) }); err != nil || left != map[bool]int64{true: 1, false: 0}[release] {
					t.Errorf("%d open runs, %v", left, err)
				}
			})
		})
	}
}
