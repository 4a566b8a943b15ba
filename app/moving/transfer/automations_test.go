package transfer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
	"mailer/app/moving/transfer"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestAutomationsMove shows that automations, custom events and the starts of contacts move into another team once,
// with the ids there, that what schedules start is held, and that runs stay.
func TestAutomationsMove(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, testAutomationsMove)
}

func testAutomationsMove(t *testing.T) {
	w := testserver.New(t, testserver.NewRelay(nil))
	ctx := t.Context()
	segment, err := w.Services.Audience.CreateSegment(ctx, w.Key, app.SegmentInput{Name: "All"})
	testserver.Must(t, err)
	contact := w.AddContact("a@example.org", false)
	w.WriteDB(func(tx *db.Tx) error {
		for name, trigger := range map[string]string{"order": `{"event_name":"order"}`, "daily": `{"event_name":"mailer:schedule","segment_id":"` + segment.ID + `","schedule":"0 9 * * *"}`,
			"lost": `{"event_name":"mailer:contact.opt_in","topic_id":"` + app.NewID() + `"}`} {
			a := app.Automation{ID: app.NewID(), TeamID: w.Key.TeamID, Name: name, Status: app.AutomationEnabled, Version: 3, CreatedAt: tx.Now, UpdatedAt: tx.Now, Flow: app.AutomationFlow{
				Steps:       []app.AutomationStep{{Key: "start", Type: app.StepTrigger, Config: jsontext.Value(trigger)}, {Key: "add", Type: app.StepAddToSegment, Config: jsontext.Value(`{"segment_id":"` + segment.ID + `"}`)}},
				Connections: []app.AutomationConnection{{From: "start", To: "add"}}}}
			if err := tx.InsertAutomation(&a); err != nil {
				return err
			}
			run := app.Run{ID: app.NewID(), TeamID: a.TeamID, AutomationID: a.ID, Version: 3, ContactID: contact.ID, Status: app.RunRunning, StepKey: "add", StepN: 2, CreatedAt: tx.Now, StartedAt: tx.Now}
			if err := tx.InsertRun(&run); err != nil {
				return err
			}
			for _, key := range []string{"", "order 7"} {
				if err := tx.PutEntry(a.TeamID, a.ID, contact.ID, key, db.Entry{LastAt: tx.Now}); err != nil {
					return err
				}
			}
		}
		return tx.InsertCustomEvent(&app.CustomEvent{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "order", Schema: map[string]app.EventFieldType{"total": app.EventNumber}, CreatedAt: tx.Now})
	})
	dir, _ := exported(t, w.Services, w.Key, transfer.ExportOptions{})
	w.Key = w.AddTeam("second", "second.example")
	plan, made, again := imported(t, w, dir, false), imported(t, w, dir, true), imported(t, w, dir, true)
	state := func(r *transfer.Report) string {
		var all []string
		for _, a := range slices.Concat(r.CustomEvents, r.Automations) {
			all = append(all, fmt.Sprint(a.Name, " ", a.Status, " ", a.New))
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	if got, want := state(plan)+fmt.Sprint(plan.AutomationStarts), "daily held true, lost disabled true, order  true, order enabled true{6 0}"; got != want {
		t.Errorf("planned %s; want %s", got, want)
	}
	if got := state(made) + fmt.Sprint(made.AutomationStarts); got != state(plan)+"{6 0}" || len(made.Cannot) == 0 || len(made.Refused) != 0 {
		t.Errorf("made %s, cannot %v, refused %v", got, made.Cannot, made.Refused)
	}
	if got, want := state(again)+fmt.Sprint(again.AutomationStarts), "daily  false, lost  false, order  false, order  false{0 6}"; got != want {
		t.Errorf("again %s; want %s", got, want)
	}
	here := w.SQL(`SELECT id FROM segments WHERE team_id = ?`, w.Key.TeamID)[0]
	flows := w.SQL(`SELECT v.flow FROM automation_versions AS v JOIN automations AS a ON a.id = v.automation_id WHERE a.team_id = ?`, w.Key.TeamID)
	for _, flow := range flows {
		if strings.Contains(flow, segment.ID) || !strings.Contains(flow, here) {
			t.Errorf("the flow names the segment of the first team: %s", flow)
		}
	}
	for what, query := range map[string][2]string{
		"held": {`SELECT name FROM automations WHERE team_id = ? AND held = 'imported'`, "daily"}, "listeners": {`SELECT name FROM automation_listeners WHERE team_id = ? AND starts = 1 ORDER BY name`, "mailer:schedule order"},
		"runs": {`SELECT id FROM automation_runs WHERE team_id = ?`, ""}, "starts": {`SELECT DISTINCT c.email FROM automation_entries AS e JOIN contacts AS c ON c.id = e.contact_id WHERE e.team_id = ? AND c.team_id = e.team_id`, "a@example.org"},
	} {
		if got := strings.Join(w.SQL(query[0], w.Key.TeamID), " "); got != query[1] {
			t.Errorf("%s: %q; want %q", what, got, query[1])
		}
	}
}
