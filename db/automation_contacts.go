package db

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/rules/erase"
)

// maxCancelledAtOnce is how many open runs of a contact end in the Write that deletes the contact. The
// dispatcher ends others: it finds no contact when they are due.
const maxCancelledAtOnce = 100

// leaveAutomations ends the open runs of a contact that is deleted, and deletes its events, and what is known
// about its starts and segments.
func (tx *Tx) leaveAutomations(c *app.Contact) error {
	runs, err := tx.OpenRunsOfContact(c.TeamID, c.ID, maxCancelledAtOnce)
	if err != nil {
		return err
	}
	for i := range runs {
		if err := tx.CancelRun(&runs[i], app.ReasonContactDeleted); err != nil {
			return err
		}
	}
	if len(runs) == maxCancelledAtOnce {
		err := tx.Write(`UPDATE automation_runs SET due_at = ?, sends = 0, held = NULL WHERE team_id = ? AND contact_id = ? AND status = 'running'`, milli(tx.Now), c.TeamID, c.ID)
		if err != nil {
			return fmt.Errorf("end runs: %w", err)
		}
	}
	for _, statement := range []string{
		`DELETE FROM automation_signals WHERE team_id = ? AND contact_id = ?`,
		`DELETE FROM automation_entries WHERE team_id = ? AND contact_id = ?`,
		`DELETE FROM automation_members WHERE automation_id IN (SELECT id FROM automations WHERE team_id = ?) AND contact_id = ?`,
	} {
		if err := tx.Write(statement, c.TeamID, c.ID); err != nil {
			return fmt.Errorf("leave automations: %w", err)
		}
	}
	return nil
}

// CancelRun ends an open run of any step, with its counts and the record of its step. Error: ErrNotFound if
// it is not running any more, or at another step.
func (tx *Tx) CancelRun(run *app.Run, reason app.RunReason) error {
	output, err := json.Marshal(map[string]string{"reason": string(reason)})
	if err != nil {
		return err
	}
	n, err := tx.Exec(`UPDATE automation_run_steps SET status = 'skipped', output = ?, completed_at = ? WHERE run_id = ? AND n = ? AND status IN ('waiting', 'running')`,
		string(output), milli(tx.Now), run.ID, run.StepN)
	if err != nil {
		return fmt.Errorf("end a step: %w", err)
	}
	if n > 0 {
		tx.CountAutomation(run.AutomationID, run.StepKey, CountWaiting, -1)
		tx.CountAutomation(run.AutomationID, run.StepKey, CountCancelled, 1)
	}
	ended := *run
	ended.Status, ended.Reason, ended.CompletedAt, ended.Held = app.RunCancelled, reason, tx.Now, ""
	ended.DueAt, ended.Sends, ended.WaitsFor, ended.Since = time.Time{}, false, "", time.Time{}
	if err := tx.UpdateRun(&ended, run.StepN); err != nil {
		return err
	}
	tx.CountAutomation(run.AutomationID, "", CountCancelled, 1)
	return nil
}

// EraseRuns deletes the payloads and outputs of a contact's runs, which may hold its name and other values.
func (tx *Tx) EraseRuns(teamID, contactID string) error {
	err := tx.Write(`UPDATE automation_run_steps SET output = NULL, error = NULL WHERE run_id IN (SELECT id FROM automation_runs WHERE team_id = ? AND contact_id = ?)`, teamID, contactID)
	if err != nil {
		return fmt.Errorf("erase outputs of steps: %w", err)
	}
	if err := tx.Write(`UPDATE automation_runs SET context = '{}' WHERE team_id = ? AND contact_id = ?`, teamID, contactID); err != nil {
		return fmt.Errorf("erase payloads of runs: %w", err)
	}
	return nil
}

// RunsWithTraces searches the first limit runs of a span and returns those with an address to erase in their
// payloads, outputs or errors. next is the last id examined; empty at the end of the span.
func (r *Reader) RunsWithTraces(teamID string, span Span, limit int, of SetOf) (hit map[string]bool, next string, err error) {
	hit = map[string]bool{}
	ids, err := list(r, func(s scanner) (id string, err error) {
		var context string
		err = s.Scan(&id, &context)
		if of(id).InJSON(context) {
			hit[id] = true
		}
		return id, err
	}, `SELECT id, context FROM automation_runs WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`, teamID, span.After, span.Until, limit)
	if err != nil || len(ids) == 0 {
		return hit, "", err
	}
	next = ids[len(ids)-1]
	_, err = list(r, findTraces(of, hit), `SELECT s.run_id, NULL, coalesce(s.output, 'null'), s.error FROM automation_runs AS r CROSS JOIN automation_run_steps AS s ON s.run_id = r.id
		WHERE r.team_id = ? AND r.id > ? AND r.id <= ?`, teamID, span.After, next)
	if len(ids) < limit {
		next = ""
	}
	return hit, next, err
}

// EraseTracesOfRun removes the addresses of e from the payloads of a run, and from the outputs and errors of
// its steps.
func (tx *Tx) EraseTracesOfRun(teamID, id string, e *erase.Set) error {
	var context string
	if err := tx.Row(`SELECT context FROM automation_runs WHERE team_id = ? AND id = ?`, []any{teamID, id}, &context); err != nil {
		return ignoreNotFound(err) // deleted
	}
	if err := tx.Write(`UPDATE automation_runs SET context = ? WHERE team_id = ? AND id = ?`, e.ScrubJSON(context), teamID, id); err != nil {
		return fmt.Errorf("erase payloads of a run: %w", err)
	}
	type texts struct {
		n               int64
		output, failure string
	}
	steps, err := list(&tx.Reader, func(s scanner) (t texts, err error) {
		err = s.Scan(&t.n, &t.output, &t.failure)
		return t, err
	}, `SELECT n, coalesce(output, ''), coalesce(error, '') FROM automation_run_steps WHERE run_id = ?`, id)
	if err != nil {
		return err
	}
	for _, step := range steps {
		output, failure := e.ScrubJSON(step.output), e.ScrubJSON(step.failure)
		if output == step.output && failure == step.failure {
			continue
		}
		err := tx.Write(`UPDATE automation_run_steps SET output = ?, error = ? WHERE run_id = ? AND n = ?`, nullText(output), nullText(failure), id, step.n)
		if err != nil {
			return fmt.Errorf("erase the output of a step: %w", err)
		}
	}
	return nil
}
