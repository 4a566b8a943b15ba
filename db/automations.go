package db

import (
	"cmp"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"mailer/app"
)

const automationColumns = `a.id, a.team_id, a.name, a.status, a.version, a.next_at, a.held, a.created_at, a.updated_at`

func scanAutomation(s scanner) (app.Automation, error) {
	var a app.Automation
	var next sql.NullInt64
	var held sql.NullString
	var created, updated int64
	err := s.Scan(&a.ID, &a.TeamID, &a.Name, &a.Status, &a.Version, &next, &held, &created, &updated)
	a.Held = held.String
	a.NextAt, a.CreatedAt, a.UpdatedAt = fromMilli(next.Int64), fromMilli(created), fromMilli(updated)
	return a, err
}

// InsertAutomation adds an automation with the first version of its flow.
func (tx *Tx) InsertAutomation(a *app.Automation) error {
	err := tx.Write(`INSERT INTO automations (id, team_id, name, status, version, next_at, held, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.ID, a.TeamID, a.Name, string(a.Status), a.Version, nullTime(a.NextAt), nullText(a.Held), milli(a.CreatedAt), milli(a.UpdatedAt))
	if err != nil {
		return err
	}
	return tx.InsertAutomationVersion(a)
}

// InsertAutomationVersion stores the flow of an automation under its version.
func (tx *Tx) InsertAutomationVersion(a *app.Automation) error {
	flow, err := jsonText(&a.Flow)
	if err != nil {
		return err
	}
	return tx.Write(`INSERT INTO automation_versions (automation_id, version, flow, created_at) VALUES (?, ?, ?, ?)`, a.ID, a.Version, flow, milli(tx.Now))
}

// UpdateAutomation stores name, status, version, and when starts are next due. Error: ErrNotFound.
func (tx *Tx) UpdateAutomation(a *app.Automation) error {
	return tx.WriteOne(`UPDATE automations SET name = ?, status = ?, version = ?, next_at = ?, held = ?, updated_at = ? WHERE team_id = ? AND id = ? AND deleted_at IS NULL`,
		a.Name, string(a.Status), a.Version, nullTime(a.NextAt), nullText(a.Held), milli(a.UpdatedAt), a.TeamID, a.ID)
}

// DeleteAutomation marks an automation as deleted: it is not found any more, and DropAutomation removes its
// rows in steps. Error: ErrNotFound.
func (tx *Tx) DeleteAutomation(teamID, id string) error {
	return tx.WriteOne(`UPDATE automations SET deleted_at = ?, status = 'disabled', next_at = NULL WHERE team_id = ? AND id = ? AND deleted_at IS NULL`, milli(tx.Now), teamID, id)
}

// StopAutomation marks that the open runs of an automation are to be ended. Error: ErrNotFound.
func (tx *Tx) StopAutomation(teamID, id string) error {
	return tx.WriteOne(`UPDATE automations SET stopped_at = ? WHERE team_id = ? AND id = ? AND deleted_at IS NULL`, milli(tx.Now), teamID, id)
}

// EndStop marks that the runs of an automation that was stopped have ended, unless it was stopped again since.
func (tx *Tx) EndStop(id string, stopped time.Time) error {
	return tx.Write(`UPDATE automations SET stopped_at = NULL WHERE id = ? AND stopped_at = ?`, id, milli(stopped))
}

// NextStopped returns the first automation after another whose runs are to be ended, and when it was stopped.
// Error: ErrNotFound.
func (r *Reader) NextStopped(after string) (id string, stopped time.Time, err error) {
	var at int64
	err = r.Row(`SELECT id, stopped_at FROM automations WHERE stopped_at IS NOT NULL AND deleted_at IS NULL AND id > ? ORDER BY id LIMIT 1`, []any{after}, &id, &at)
	return id, fromMilli(at), err
}

// DeletedAutomation returns an automation that is deleted but still has rows. Error: ErrNotFound.
func (r *Reader) DeletedAutomation() (app.Automation, error) {
	return one(r, scanAutomation, `SELECT `+automationColumns+` FROM automations AS a WHERE a.deleted_at IS NOT NULL ORDER BY a.id LIMIT 1`)
}

// stepsOfRun is how many steps a run has on average, at most: a Write that deletes limit rows deletes
// limit/stepsOfRun runs.
const stepsOfRun = 20

type openRun struct {
	id, teamID string
	open       bool
}

func scanOpenRun(s scanner) (r openRun, err error) {
	err = s.Scan(&r.id, &r.teamID, &r.open)
	return r, err
}

// DropAutomation deletes about limit rows of a deleted automation: runs with their steps, entries, members
// and versions, and at the end the automation itself. It reports whether nothing is left.
func (tx *Tx) DropAutomation(id string, limit int) (done bool, err error) {
	few := max(1, limit/stepsOfRun)
	runs, err := list(&tx.Reader, scanOpenRun, `SELECT id, team_id, status = 'running' FROM automation_runs WHERE automation_id = ? ORDER BY id LIMIT ?`, id, few)
	if err != nil {
		return false, err
	}
	for _, run := range runs {
		if err := tx.Write(`DELETE FROM automation_runs WHERE id = ?`, run.id); err != nil {
			return false, err
		}
		if run.open {
			if err := tx.countOpenRuns(run.teamID, -1); err != nil {
				return false, err
			}
		}
	}
	if len(runs) > 0 {
		return false, nil
	}
	entries, err := tx.Exec(`DELETE FROM automation_entries WHERE automation_id = ?1 AND contact_id IN (SELECT contact_id FROM automation_entries WHERE automation_id = ?1 ORDER BY contact_id LIMIT ?2)`, id, limit)
	if err != nil || entries > 0 {
		return false, err
	}
	members, err := tx.Exec(`DELETE FROM automation_members WHERE automation_id = ?1 AND contact_id IN (SELECT contact_id FROM automation_members WHERE automation_id = ?1 ORDER BY contact_id LIMIT ?2)`, id, limit)
	if err != nil || members > 0 {
		return false, err
	}
	versions, err := tx.Exec(`DELETE FROM automation_versions WHERE automation_id = ?1 AND version IN (SELECT version FROM automation_versions WHERE automation_id = ?1 ORDER BY version LIMIT ?2)`, id, few)
	if err != nil || versions > 0 {
		return false, err
	}
	return true, tx.Write(`DELETE FROM automations WHERE id = ? AND deleted_at IS NOT NULL`, id)
}

// Automation returns an automation of a team without its flow. Error: ErrNotFound.
func (r *Reader) Automation(teamID, id string) (app.Automation, error) {
	return one(r, scanAutomation, `SELECT `+automationColumns+` FROM automations AS a WHERE a.team_id = ? AND a.id = ? AND a.deleted_at IS NULL`, teamID, id)
}

// AutomationFlow returns one version of what an automation does. It never changes. Error: ErrNotFound.
func (r *Reader) AutomationFlow(id string, version int64) (app.AutomationFlow, error) {
	return one(r, func(s scanner) (f app.AutomationFlow, err error) {
		var text sql.NullString
		if err = s.Scan(&text); err == nil {
			err = fromJSON(text, &f)
		}
		return f, err
	}, `SELECT flow FROM automation_versions WHERE automation_id = ? AND version = ?`, id, version)
}

// ListAutomations returns a page of a team's automations without their flows, newest first. An empty status
// selects all. Error: ErrNotFound for a cursor that is not in that list.
func (r *Reader) ListAutomations(teamID string, status app.AutomationStatus, page app.Page) ([]app.Automation, bool, error) {
	exists := func(cursor string) error {
		a, err := r.Automation(teamID, cursor)
		if err == nil && status != "" && a.Status != status {
			return ErrNotFound
		}
		return err
	}
	if status != "" {
		return listPage(r, page, exists, scanAutomation,
			`SELECT `+automationColumns+` FROM automations AS a WHERE a.team_id = ? AND a.deleted_at IS NULL AND a.status = ? AND a.id < ? ORDER BY a.id DESC LIMIT ?`,
			`SELECT `+automationColumns+` FROM automations AS a WHERE a.team_id = ? AND a.deleted_at IS NULL AND a.status = ? AND a.id > ? ORDER BY a.id LIMIT ?`, teamID, string(status))
	}
	return listPage(r, page, exists, scanAutomation,
		`SELECT `+automationColumns+` FROM automations AS a WHERE a.team_id = ? AND a.deleted_at IS NULL AND a.id < ? ORDER BY a.id DESC LIMIT ?`,
		`SELECT `+automationColumns+` FROM automations AS a WHERE a.team_id = ? AND a.deleted_at IS NULL AND a.id > ? ORDER BY a.id LIMIT ?`, teamID)
}

// AutomationsAfter returns at most limit automations of a team after an id, without their flows, in id order.
func (r *Reader) AutomationsAfter(teamID, after string, limit int) ([]app.Automation, error) {
	return list(r, scanAutomation, `SELECT `+automationColumns+` FROM automations AS a WHERE a.team_id = ? AND a.deleted_at IS NULL AND a.id > ? ORDER BY a.id LIMIT ?`, teamID, after, limit)
}

// CountAutomations returns how many automations a team has, at most limit.
func (r *Reader) CountAutomations(teamID string, limit int) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM (SELECT 1 FROM automations WHERE team_id = ? AND deleted_at IS NULL LIMIT ?) AS rows_open`, []any{teamID, limit}, &n)
	return n, err
}

// SetListeners stores the events for which a version of an automation listens: trigger starts runs if it is
// enabled, the others continue or end open runs. Of earlier versions the triggers no longer start any.
func (tx *Tx) SetListeners(a *app.Automation, trigger string, others []string) error {
	err := tx.Write(`DELETE FROM automation_listeners WHERE automation_id = ? AND starts = 1`, a.ID)
	if err == nil && a.Status == app.AutomationEnabled {
		err = tx.Write(`INSERT INTO automation_listeners (team_id, name, automation_id, version, starts) VALUES (?, ?, ?, ?, 1)`, a.TeamID, trigger, a.ID, a.Version)
	}
	for _, name := range others {
		if err == nil {
			err = tx.Write(`INSERT INTO automation_listeners (team_id, name, automation_id, version, starts) VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING`, a.TeamID, name, a.ID, a.Version)
		}
	}
	return err
}

// Listens reports whether any automation of a team listens for an event.
func (r *Reader) Listens(teamID, name string) (bool, error) {
	var one int
	err := r.Row(`SELECT 1 FROM automation_listeners WHERE team_id = ? AND name = ? LIMIT 1`, []any{teamID, name}, &one)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// AutomationVersion names a version of an automation.
type AutomationVersion struct {
	ID      string
	Version int64
}

// Starters returns the enabled automations of a team whose trigger is an event, in id order.
func (r *Reader) Starters(teamID, name string) ([]AutomationVersion, error) {
	return list(r, func(s scanner) (v AutomationVersion, err error) {
		err = s.Scan(&v.ID, &v.Version)
		return v, err
	}, `SELECT automation_id, version FROM automation_listeners WHERE team_id = ? AND name = ? AND starts = 1 ORDER BY automation_id`, teamID, name)
}

// AutomationCount is one of the numbers of an automation or of one of its steps.
type AutomationCount string

// The numbers. Those of an automation have no step: the statuses of runs, and starts that did not happen.
const (
	CountStarted   AutomationCount = "started"
	CountLoop      AutomationCount = "loop"      // not started: a loop
	CountFull      AutomationCount = "full"      // not started: the team or the server has too many open runs
	CountNoDate    AutomationCount = "no_date"   // values of dates and time zones that can't be read
	CountWaiting   AutomationCount = "waiting"   // runs that are at the step now
	CountDone      AutomationCount = "completed" // also of runs, as the next two
	CountFailed    AutomationCount = "failed"
	CountCancelled AutomationCount = "cancelled" // of runs; at the step at which they were
	CountSkipped   AutomationCount = "skipped"
	CountGoal      AutomationCount = "goal"   // runs that met it
	CountOpened    AutomationCount = "opened" // mails of the step, once each, as the next one
	CountClicked   AutomationCount = "clicked"
)

// automationCount is a number of an automation, or of one of its steps.
type automationCount struct {
	id, step string
	kind     AutomationCount
}

// CountAutomation adds to a number of an automation, or of one of its steps. An automation that is gone, of
// which an old mail is opened, is ignored. The closures of one commit share a statement for each number. Within the
// transaction, reads return the old number.
func (tx *Tx) CountAutomation(id, step string, kind AutomationCount, by int64) {
	if tx.increments.automation == nil {
		tx.increments.automation = map[automationCount]int64{}
	}
	tx.increments.automation[automationCount{id, step, kind}] += by
}

// storeAutomations writes the numbers.
func (tx *Tx) storeAutomations(group []*increments) error {
	sums := map[automationCount]int64{}
	for _, added := range group {
		for c, n := range added.automation {
			sums[c] += n
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(sums), func(a, b automationCount) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.step, b.step), cmp.Compare(a.kind, b.kind))
	}) {
		if sums[c] == 0 {
			continue
		}
		if err := tx.Write(`INSERT INTO automation_counts (automation_id, step_key, kind, n) SELECT a.id, CAST(?2 AS text), CAST(?3 AS text), CAST(?4 AS bigint) FROM automations AS a WHERE a.id = ?1
			ON CONFLICT (automation_id, step_key, kind) DO UPDATE SET n = automation_counts.n + excluded.n`, c.id, c.step, string(c.kind), sums[c]); err != nil {
			return fmt.Errorf("count runs of an automation: %w", err)
		}
	}
	return nil
}

// AutomationCounts returns the numbers of an automation by step and kind; those of the automation are under
// the empty step.
func (r *Reader) AutomationCounts(id string) (map[string]map[AutomationCount]int64, error) {
	all := map[string]map[AutomationCount]int64{}
	return all, r.Each(`SELECT step_key, kind, n FROM automation_counts WHERE automation_id = ? ORDER BY step_key, kind`, []any{id}, func(s scanner) error {
		var step string
		var kind AutomationCount
		var n int64
		err := s.Scan(&step, &kind, &n)
		if all[step] == nil {
			all[step] = map[AutomationCount]int64{}
		}
		all[step][kind] = n
		return err
	})
}

// Entry is when an automation started for a contact.
type Entry struct {
	LastAt time.Time
	Recent []int64 // times of the starts of the last 24 hours, in milliseconds
}

// entryKey returns the column of a key: a hash, since the key can be long, or about a person.
func entryKey(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Entry returns when an automation started for a contact, with a value of its key; empty: any. Error:
// ErrNotFound if it never did.
func (r *Reader) Entry(automationID, contactID, key string) (Entry, error) {
	return one(r, func(s scanner) (e Entry, err error) {
		var last int64
		var recent sql.NullString
		if err = s.Scan(&last, &recent); err == nil {
			err = fromJSON(recent, &e.Recent)
		}
		e.LastAt = fromMilli(last)
		return e, err
	}, `SELECT last_at, recent FROM automation_entries WHERE automation_id = ? AND contact_id = ? AND entry_key = ?`, automationID, contactID, entryKey(key))
}

// PutEntry stores that an automation starts for a contact.
func (tx *Tx) PutEntry(teamID, automationID, contactID, key string, e Entry) error {
	recent, err := jsonText(e.Recent)
	if err != nil {
		return err
	}
	return tx.Write(`INSERT INTO automation_entries (automation_id, contact_id, entry_key, team_id, last_at, recent) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (automation_id, contact_id, entry_key) DO UPDATE SET last_at = excluded.last_at, recent = excluded.recent`, automationID, contactID, entryKey(key), teamID, milli(e.LastAt), recent)
}
