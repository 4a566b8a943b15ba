package db

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

const runColumns = `r.id, r.team_id, r.automation_id, r.version, r.contact_id, r.status, r.held, r.step_key, r.step_n, r.due_at, r.sends, r.waits_for, r.since, r.context, r.reason, r.created_at, r.started_at, r.completed_at,
	(SELECT CASE WHEN a.deleted_at IS NOT NULL THEN 'automation_deleted' WHEN a.stopped_at >= r.started_at THEN 'stopped' END FROM automations AS a WHERE a.id = r.automation_id)`

func scanRun(s scanner) (app.Run, error) {
	var r app.Run
	var held, waits, context, reason, ending sql.NullString
	var due, since, completed sql.NullInt64
	var created, started int64
	var sends bool
	err := s.Scan(&r.ID, &r.TeamID, &r.AutomationID, &r.Version, &r.ContactID, &r.Status, &held, &r.StepKey, &r.StepN, &due, &sends, &waits, &since, &context, &reason, &created, &started, &completed, &ending)
	if err == nil {
		err = fromJSON(context, &r.Context)
	}
	r.Held, r.WaitsFor, r.Reason = app.HoldReason(held.String), waits.String, app.RunReason(reason.String)
	if r.Status == app.RunRunning {
		r.Ending = app.RunReason(ending.String)
	}
	r.DueAt, r.Since, r.CompletedAt = fromMilli(due.Int64), fromMilli(since.Int64), fromMilli(completed.Int64)
	r.Sends, r.CreatedAt, r.StartedAt = sends, fromMilli(created), fromMilli(started)
	return r, err
}

// InsertRun adds a run, and counts it if it is running.
func (tx *Tx) InsertRun(r *app.Run) error {
	context, err := jsonText(&r.Context)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO automation_runs (id, team_id, automation_id, version, contact_id, status, held, step_key, step_n, due_at, sends, waits_for, since, context, reason, created_at, started_at, completed_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.ID, r.TeamID, r.AutomationID, r.Version, r.ContactID, string(r.Status), nullText(string(r.Held)), r.StepKey, r.StepN,
		nullTime(r.DueAt), r.Sends, nullText(r.WaitsFor), nullTime(r.Since), context, nullText(string(r.Reason)), milli(r.CreatedAt), milli(r.StartedAt), nullTime(r.CompletedAt))
	if err != nil {
		return fmt.Errorf("insert run: %w", err)
	}
	if r.Status != app.RunRunning {
		return nil
	}
	return tx.countOpenRuns(r.TeamID, 1)
}

// UpdateRun stores the state of a run that was running, and takes it off the open runs if it ended. Error:
// ErrNotFound if it is not running any more, or at another step than before.
func (tx *Tx) UpdateRun(r *app.Run, before int64) error {
	context, err := jsonText(&r.Context)
	if err != nil {
		return err
	}
	err = tx.WriteOne(`UPDATE automation_runs SET version = ?, status = ?, held = ?, step_key = ?, step_n = ?, due_at = ?, sends = ?, waits_for = ?, since = ?, context = ?, reason = ?, completed_at = ?
		WHERE team_id = ? AND id = ? AND status = 'running' AND step_n = ?`,
		r.Version, string(r.Status), nullText(string(r.Held)), r.StepKey, r.StepN, nullTime(r.DueAt), r.Sends, nullText(r.WaitsFor), nullTime(r.Since), context, nullText(string(r.Reason)), nullTime(r.CompletedAt),
		r.TeamID, r.ID, before)
	if err != nil || r.Status == app.RunRunning {
		return err
	}
	return tx.countOpenRuns(r.TeamID, -1)
}

func (tx *Tx) countOpenRuns(teamID string, by int64) error {
	return tx.Write(`INSERT INTO automation_teams (team_id, open_runs) VALUES (?, ?) ON CONFLICT (team_id) DO UPDATE SET open_runs = automation_teams.open_runs + excluded.open_runs`, teamID, by)
}

// OpenRuns returns how many runs of a team are running.
func (r *Reader) OpenRuns(teamID string) (n int64, err error) {
	err = r.Row(`SELECT open_runs FROM automation_teams WHERE team_id = ?`, []any{teamID}, &n)
	return n, ignoreNotFound(err)
}

// AllOpenRuns returns how many runs of all teams are running.
func (r *Reader) AllOpenRuns() (n int64, err error) {
	err = r.Row(`SELECT coalesce(sum(open_runs), 0) FROM automation_teams`, nil, &n)
	return n, err
}

// Run returns one run of a team. Error: ErrNotFound.
func (r *Reader) Run(teamID, id string) (app.Run, error) {
	return one(r, scanRun, `SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.id = ?`, teamID, id)
}

// ListRuns returns a page of an automation's runs, newest first. No statuses select all. Error: ErrNotFound
// for a cursor that is not in that list.
func (r *Reader) ListRuns(teamID, automationID string, statuses []app.RunStatus, page app.Page) ([]app.Run, bool, error) {
	only := [4]string{}
	for i := range only { // four statuses at most, an absent one repeats another
		if len(statuses) > 0 {
			only[i] = string(statuses[min(i, len(statuses)-1)])
		}
	}
	exists := func(cursor string) error {
		run, err := r.Run(teamID, cursor)
		if err == nil && (run.AutomationID != automationID || len(statuses) > 0 && !hasStatus(statuses, run.Status)) {
			return ErrNotFound
		}
		return err
	}
	if len(statuses) == 0 {
		return listPage(r, page, exists, scanRun,
			`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.automation_id = ? AND r.id < ? ORDER BY r.id DESC LIMIT ?`,
			`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.automation_id = ? AND r.id > ? ORDER BY r.id LIMIT ?`, automationID)
	}
	if len(statuses) == 1 {
		return listPage(r, page, exists, scanRun,
			`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.automation_id = ? AND r.status = ? AND r.id < ? ORDER BY r.id DESC LIMIT ?`,
			`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.automation_id = ? AND r.status = ? AND r.id > ? ORDER BY r.id LIMIT ?`, automationID, only[0])
	}
	return listPage(r, page, exists, scanRun,
		`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.automation_id = ? AND r.status IN (?, ?, ?, ?) AND r.id < ? ORDER BY r.id DESC LIMIT ?`,
		`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.automation_id = ? AND r.status IN (?, ?, ?, ?) AND r.id > ? ORDER BY r.id LIMIT ?`, automationID, only[0], only[1], only[2], only[3])
}

func hasStatus(all []app.RunStatus, s app.RunStatus) bool {
	for _, one := range all {
		if one == s {
			return true
		}
	}
	return false
}

// RunsOfContact returns the newest runs of a contact, at most limit.
func (r *Reader) RunsOfContact(teamID, contactID string, limit int) ([]app.Run, error) {
	return list(r, scanRun, `SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.contact_id = ? ORDER BY r.id DESC LIMIT ?`, teamID, contactID, limit)
}

// RunsOfContactIn returns the newest runs of a contact in one automation, at most limit.
func (r *Reader) RunsOfContactIn(teamID, automationID, contactID string, limit int) ([]app.Run, error) {
	return list(r, scanRun, `SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.contact_id = ? AND r.automation_id = ? ORDER BY r.id DESC LIMIT ?`, teamID, contactID, automationID, limit)
}

// ListRunsOfContact returns a page of the runs of a contact, newest first. Error: ErrNotFound for a cursor that
// is not in that list.
func (r *Reader) ListRunsOfContact(teamID, contactID string, page app.Page) ([]app.Run, bool, error) {
	exists := func(cursor string) error {
		run, err := r.Run(teamID, cursor)
		if err == nil && run.ContactID != contactID {
			return ErrNotFound
		}
		return err
	}
	return listPage(r, page, exists, scanRun,
		`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.contact_id = ? AND r.id < ? ORDER BY r.id DESC LIMIT ?`,
		`SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.contact_id = ? AND r.id > ? ORDER BY r.id LIMIT ?`, teamID, contactID)
}

// OpenRunsOfContact returns the running runs of a contact, at most limit.
func (r *Reader) OpenRunsOfContact(teamID, contactID string, limit int) ([]app.Run, error) {
	return list(r, scanRun, `SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.contact_id = ? AND r.status = 'running' ORDER BY r.id LIMIT ?`, teamID, contactID, limit)
}

// OpenRunsOf returns running runs of an automation after an id, at most limit.
func (r *Reader) OpenRunsOf(automationID, after string, limit int) ([]app.Run, error) {
	return list(r, scanRun, `SELECT `+runColumns+` FROM automation_runs AS r WHERE r.automation_id = ? AND r.status = 'running' AND r.id > ? ORDER BY r.id LIMIT ?`, automationID, after, limit)
}

// NextRunDue returns when the first run of all teams is due. Error: ErrNotFound if none ever is.
func (r *Reader) NextRunDue() (time.Time, error) {
	var at int64
	err := r.Row(`SELECT due_at FROM automation_runs WHERE due_at IS NOT NULL AND held IS NULL ORDER BY due_at LIMIT 1`, nil, &at)
	return fromMilli(at), err
}

// NextTeamWithDue returns the first team after another that has runs which are due at some time. Error:
// ErrNotFound.
func (r *Reader) NextTeamWithDue(after string) (teamID string, err error) {
	err = r.Row(`SELECT team_id FROM automation_runs WHERE due_at IS NOT NULL AND held IS NULL AND team_id > ? ORDER BY team_id LIMIT 1`, []any{after}, &teamID)
	return teamID, err
}

// DueRuns returns the runs of a team, with or without an email to send, that are due first, at most limit,
// whether their time has come or not.
func (r *Reader) DueRuns(teamID string, sends bool, limit int) ([]app.Run, error) {
	return list(r, scanRun, `SELECT `+runColumns+` FROM automation_runs AS r WHERE r.team_id = ? AND r.sends = ? AND r.due_at IS NOT NULL AND r.held IS NULL ORDER BY r.due_at, r.id LIMIT ?`, teamID, sends, limit)
}

// OpenAutomated returns how many emails of automations of a team are being sent or wait for their relay's
// capacity, at most limit. Those that wait for a later attempt do not count.
func (r *Reader) OpenAutomated(teamID string, limit int) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM (SELECT 1 FROM units WHERE team_id = ? AND automated IS NOT NULL AND state IN ('due', 'begun', 'committed') LIMIT ?) AS rows_open`, []any{teamID, limit}, &n)
	return n, err
}

// ContactInSegment reports whether a contact is in a segment, by its filter or as an explicit member. Error:
// ErrNotFound if the team has no such segment or contact.
func (r *Reader) ContactInSegment(teamID, segmentID, contactID string) (bool, error) {
	s, err := r.Segment(teamID, segmentID)
	if err != nil {
		return false, err
	}
	c, err := r.Contact(teamID, contactID)
	if err != nil {
		return false, err
	}
	if in, err := r.Picks(s.Filter, &c); err != nil || in {
		return in, err
	}
	err = r.Exists(`SELECT 1 FROM members WHERE segment_id = ? AND contact_id = ?`, segmentID, contactID)
	return err == nil, ignoreNotFound(err)
}

// PutRunStep stores the record of a step that a run reached, or replaces it.
func (tx *Tx) PutRunStep(s *app.RunStep) error {
	return tx.Write(`INSERT INTO automation_run_steps (run_id, n, step_key, step_type, status, output, error, started_at, completed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run_id, n) DO UPDATE SET status = excluded.status, output = excluded.output, error = excluded.error, completed_at = excluded.completed_at`,
		s.RunID, s.N, s.Key, string(s.Type), string(s.Status), nullJSON(s.Output), nullJSON(s.Error), milli(s.StartedAt), nullTime(s.CompletedAt))
}

// RunSteps returns the records of the steps that a run reached, in order.
func (r *Reader) RunSteps(runID string) ([]app.RunStep, error) {
	return list(r, func(s scanner) (step app.RunStep, err error) {
		var output, failure sql.NullString
		var started int64
		var completed sql.NullInt64
		err = s.Scan(&step.RunID, &step.N, &step.Key, &step.Type, &step.Status, &output, &failure, &started, &completed)
		if output.Valid {
			step.Output = jsontext.Value(output.String)
		}
		if failure.Valid {
			step.Error = jsontext.Value(failure.String)
		}
		step.StartedAt, step.CompletedAt = fromMilli(started), fromMilli(completed.Int64)
		return step, err
	}, `SELECT run_id, n, step_key, step_type, status, output, error, started_at, completed_at FROM automation_run_steps WHERE run_id = ? ORDER BY n`, runID)
}

// DeleteOldRuns deletes at most limit runs that ended before a time, with their steps. It returns how many.
func (tx *Tx) DeleteOldRuns(before time.Time, limit int) (int64, error) {
	return tx.Exec(`DELETE FROM automation_runs WHERE id IN (SELECT id FROM automation_runs WHERE completed_at IS NOT NULL AND completed_at < ? ORDER BY completed_at LIMIT ?)`, milli(before), limit)
}
