package retention_test

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// TestOldRunsAreDeleted shows that ended runs go after 90 days with their steps, taken events after a day, and that
// open runs, open events and what is known about starts stay.
func TestOldRunsAreDeleted(t *testing.T) {
	testserver.BothEngines(t)
	synctestDays(t, func(t *testing.T) {
		w := testserver.New(t, testserver.NewRelay(nil))
		count := func() string {
			return fmt.Sprintf("%s runs, %s steps, %s events, %s entries", w.Count("automation_runs"), w.Count("automation_run_steps"), w.Count("automation_signals"), w.Count("automation_entries"))
		}
		w.WriteDB(func(tx *db.Tx) error {
			a := app.Automation{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "x", Status: app.AutomationEnabled, Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now}
			if err := tx.InsertAutomation(&a); err != nil {
				return err
			}
			for i := range 60 {
				run := app.Run{ID: app.NewID(), TeamID: a.TeamID, AutomationID: a.ID, Version: 1, ContactID: app.NewID(), Status: app.RunCompleted, StepKey: "a", StepN: 1, CreatedAt: tx.Now, StartedAt: tx.Now, CompletedAt: tx.Now}
				if i == 0 {
					run.Status, run.CompletedAt = app.RunRunning, time.Time{}
				}
				if err := tx.InsertRun(&run); err != nil {
					return err
				}
				if err := tx.PutRunStep(&app.RunStep{RunID: run.ID, N: 1, Key: "a", Type: app.StepTrigger, Status: app.StepCompleted, StartedAt: tx.Now}); err != nil {
					return err
				}
				signal := app.Signal{ID: app.NewID(), TeamID: a.TeamID, ContactID: run.ContactID, Name: "x", CreatedAt: tx.Now}
				if err := tx.InsertSignal(&signal); err != nil {
					return err
				}
				if i > 0 {
					if err := tx.TakeSignal(signal.ID); err != nil {
						return err
					}
				}
				if err := tx.PutEntry(a.TeamID, a.ID, run.ContactID, "", db.Entry{LastAt: tx.Now}); err != nil {
					return err
				}
			}
			return nil
		})
		for _, at := range []struct {
			pass time.Duration
			want string
		}{{23 * time.Hour, "60 runs, 60 steps, 60 events, 60 entries"}, {2 * time.Hour, "60 runs, 60 steps, 1 events, 60 entries"}, {90 * day, "1 runs, 1 steps, 1 events, 60 entries"}} {
			testserver.Sleep(at.pass)
			testserver.Must(t, w.Services.Retention.PurgeRecords(t.Context()))
			if got := count(); got != at.want {
				t.Errorf("after %s more: %s; want %s", at.pass, got, at.want)
			}
		}
		w.WriteDB(func(tx *db.Tx) error {
			a, err := tx.AutomationsAfter(w.Key.TeamID, "", 1)
			if err != nil {
				return err
			}
			return tx.DeleteAutomation(w.Key.TeamID, a[0].ID)
		})
		testserver.Must(t, w.Services.Retention.DropAutomations(t.Context()))
		if got, want := count()+w.Count("automations"), "0 runs, 0 steps, 1 events, 0 entries0"; got != want {
			t.Errorf("after the automation was deleted: %s; want %s", got, want)
		}
	})
}
