package db

import (
	"fmt"
	"testing"
	"time"

	"mailer/app"
)

// addRun adds an automation with a run of a contact that waits at the step "wait".
func addRun(t *testing.T, d *DB, teamID, contactID string) app.Run {
	t.Helper()
	var run app.Run
	writeOK(t, d, func(tx *Tx) error {
		a := app.Automation{ID: app.NewID(), TeamID: teamID, Name: "x", Status: app.AutomationEnabled, Version: 1, CreatedAt: tx.Now, UpdatedAt: tx.Now,
			Flow: app.AutomationFlow{Steps: []app.AutomationStep{{Key: "wait", Type: app.StepDelay}}}}
		if err := tx.InsertAutomation(&a); err != nil {
			return err
		}
		run = app.Run{ID: app.NewID(), TeamID: teamID, AutomationID: a.ID, Version: 1, ContactID: contactID, Status: app.RunRunning, StepKey: "wait", StepN: 1, DueAt: tx.Now.Add(time.Hour),
			CreatedAt: tx.Now, StartedAt: tx.Now}
		if err := tx.InsertRun(&run); err != nil {
			return err
		}
		if err := tx.PutRunStep(&app.RunStep{RunID: run.ID, N: 1, Key: "wait", Type: app.StepDelay, Status: app.StepWaiting, StartedAt: tx.Now}); err != nil {
			return err
		}
		tx.CountAutomation(a.ID, "wait", CountWaiting, 1)
		if err := tx.PutEntry(teamID, a.ID, contactID, "order 7", Entry{LastAt: tx.Now}); err != nil {
			return err
		}
		if err := tx.Write(`INSERT INTO automation_members (automation_id, contact_id) VALUES (?, ?)`, a.ID, contactID); err != nil {
			return err
		}
		return tx.InsertSignal(&app.Signal{ID: app.NewID(), TeamID: teamID, ContactID: contactID, Name: "x", CreatedAt: tx.Now})
	})
	return run
}

// rowsOf counts the rows of tables of automations.
func rowsOf(t *testing.T, d *DB, tables ...string) (counts string) {
	t.Helper()
	for _, table := range tables {
		var n int
		if err := d.Read(t.Context(), func(r *Reader) error { return r.Row(`SELECT count(*) FROM automation_`+table, nil, &n) }); err != nil {
			t.Fatal(err)
		}
		counts += fmt.Sprintf("%s %d ", table, n)
	}
	return counts
}

// TestDeletingContactEndsRuns shows that runs of a deleted contact end with a reason, and that nothing else about
// it stays, while another contact's rows do.
func TestDeletingContactEndsRuns(t *testing.T) {
	d, team := suppressionStore(t, 0)
	contacts := [2]app.Contact{}
	for i := range contacts {
		c := app.Contact{ID: app.NewID(), TeamID: team.ID, Email: fmt.Sprintf("c%d@example.org", i), Hash: app.AddressHash{byte(i + 1)}, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		writeOK(t, d, func(tx *Tx) error { return tx.InsertContact(&c) })
		contacts[i] = c
	}
	run, other := addRun(t, d, team.ID, contacts[0].ID), addRun(t, d, team.ID, contacts[1].ID)
	writeOK(t, d, func(tx *Tx) error { return tx.DeleteContact(&contacts[0]) })
	err := d.Read(t.Context(), func(r *Reader) error {
		got, err := r.Run(team.ID, run.ID)
		if err != nil || got.Status != app.RunCancelled || got.Reason != app.ReasonContactDeleted || !got.DueAt.IsZero() || got.CompletedAt.IsZero() {
			t.Errorf("the run is %+v, %v", got, err)
		}
		steps, err := r.RunSteps(run.ID)
		if err != nil || len(steps) != 1 || steps[0].Status != app.StepSkipped || string(steps[0].Output) != `{"reason":"contact_deleted"}` {
			t.Errorf("its steps are %+v, %v", steps, err)
		}
		counts, err := r.AutomationCounts(run.AutomationID)
		if err != nil || counts["wait"][CountWaiting] != 0 || counts["wait"][CountCancelled] != 1 || counts[""][CountCancelled] != 1 {
			t.Errorf("counts are %v, %v", counts, err)
		}
		if got, err = r.Run(team.ID, other.ID); err != nil || got.Status != app.RunRunning {
			t.Errorf("the run of another contact is %+v, %v", got, err)
		}
		if n, err := r.OpenRuns(team.ID); n != 1 || err != nil {
			t.Errorf("%d open runs, %v", n, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowsOf(t, d, "signals", "entries", "members"), "signals 1 entries 1 members 1 "; got != want {
		t.Errorf("left: %s; want %s", got, want)
	}
}

// TestDropAutomationInSteps shows that a deleted automation loses all of its rows, a bounded number at a time.
func TestDropAutomationInSteps(t *testing.T) {
	d, team := suppressionStore(t, 0)
	run := addRun(t, d, team.ID, app.NewID())
	addRun(t, d, team.ID, app.NewID())
	writeOK(t, d, func(tx *Tx) error {
		for range 30 {
			more := run
			more.ID = app.NewID()
			if err := tx.InsertRun(&more); err != nil {
				return err
			}
		}
		return tx.DeleteAutomation(team.ID, run.AutomationID)
	})
	writes := 0
	for done := false; !done; writes++ {
		writeOK(t, d, func(tx *Tx) (err error) {
			a, err := tx.DeletedAutomation()
			if err == nil {
				done, err = tx.DropAutomation(a.ID, 100)
			}
			return err
		})
	}
	if writes < 31/5 {
		t.Errorf("%d writes", writes)
	}
	if got, want := rowsOf(t, d, "runs", "run_steps", "entries", "members", "versions", "counts"), "runs 1 run_steps 1 entries 1 members 1 versions 1 counts 1 "; got != want {
		t.Errorf("left: %s; want %s", got, want)
	}
	err := d.Read(t.Context(), func(r *Reader) error {
		n, err := r.OpenRuns(team.ID)
		if n != 1 {
			t.Errorf("%d open runs", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
