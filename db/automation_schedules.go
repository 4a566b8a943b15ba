package db

import (
	"database/sql"
	"time"

	"mailer/app"
)

// DueAutomation is an automation that has to look through the contacts of its team: to start runs by a date or a
// schedule, or to judge who is in the segment of its trigger.
type DueAutomation struct {
	app.Automation
	Progress string // JSON: how far it has come; empty: none
}

// DueAutomations returns enabled automations of all teams that are due, the oldest first, at most limit.
func (r *Reader) DueAutomations(now time.Time, limit int) ([]DueAutomation, error) {
	return list(r, func(s scanner) (d DueAutomation, err error) {
		var next int64
		var progress sql.NullString
		err = s.Scan(&d.ID, &d.TeamID, &d.Version, &next, &progress)
		d.NextAt, d.Progress = fromMilli(next), progress.String
		return d, err
	}, `SELECT a.id, a.team_id, a.version, a.next_at, a.progress FROM automations AS a
		WHERE a.next_at IS NOT NULL AND a.next_at <= ? AND a.held IS NULL AND a.status = 'enabled' AND a.deleted_at IS NULL ORDER BY a.next_at LIMIT ?`, milli(now), limit)
}

// MoveAutomation stores how far a due automation has come, and when it is due next; zero: never. Error: ErrNotFound
// if it was changed, disabled or held since DueAutomations, or another server moved it.
func (tx *Tx) MoveAutomation(d *DueAutomation, progress string, next time.Time) error {
	return tx.WriteOne(`UPDATE automations SET progress = ?, next_at = ? WHERE team_id = ? AND id = ? AND version = ? AND next_at = ? AND coalesce(progress, '') = ?
		AND status = 'enabled' AND held IS NULL AND deleted_at IS NULL`,
		nullText(progress), nullTime(next), d.TeamID, d.ID, d.Version, milli(d.NextAt), d.Progress)
}

// PlanAutomation sets when an automation is due next, from the beginning. It does nothing if there is no such
// automation.
func (tx *Tx) PlanAutomation(teamID, id string, next time.Time) error {
	return tx.Write(`UPDATE automations SET progress = NULL, next_at = ? WHERE team_id = ? AND id = ?`, nullTime(next), teamID, id)
}

// ReplanSchedules makes the automations of a team that start by a schedule due now, so that their next time is
// computed again: the time zone of the team changed.
func (tx *Tx) ReplanSchedules(teamID string) error {
	return tx.Write(`UPDATE automations SET next_at = ? WHERE team_id = ? AND next_at > ? AND id IN
		(SELECT l.automation_id FROM automation_listeners AS l WHERE l.team_id = ? AND l.name = ? AND l.starts = 1)`,
		milli(tx.Now), teamID, milli(tx.Now), teamID, app.TriggerSchedule)
}

// Watcher is a version of an automation that listens for an event.
type Watcher struct {
	AutomationVersion
	Starts   bool   // the event starts runs; else open runs of the version wait for it
	Progress string // of a DueAutomation
}

// Watchers returns the versions of automations of a team that listen for an event, in the order of their ids.
func (r *Reader) Watchers(teamID, name string) ([]Watcher, error) {
	return list(r, func(s scanner) (w Watcher, err error) {
		var progress sql.NullString
		err = s.Scan(&w.ID, &w.Version, &w.Starts, &progress)
		w.Progress = progress.String
		return w, err
	}, `SELECT l.automation_id, l.version, l.starts, a.progress FROM automation_listeners AS l CROSS JOIN automations AS a ON a.id = l.automation_id
		WHERE l.team_id = ? AND l.name = ? AND a.deleted_at IS NULL ORDER BY l.automation_id, l.version`, teamID, name)
}

// SegmentMembersAfter returns contacts of a team that were added to a segment, after an id, in the order of their ids,
// at most limit.
func (r *Reader) SegmentMembersAfter(teamID, segmentID, after string, limit int) ([]app.Contact, error) {
	return list(r, scanContact, `SELECT `+contactColumns+` FROM members AS m CROSS JOIN contacts AS c
		ON c.team_id = ? AND c.id = m.contact_id AND m.segment_id = ? AND m.contact_id > ? ORDER BY m.contact_id LIMIT ?`, teamID, segmentID, after, limit)
}

// EmailOrigin returns the template from which an email of a team was made, and the run of an automation that sent it;
// empty: none. Error: ErrNotFound.
func (r *Reader) EmailOrigin(teamID, emailID string) (template, run string, err error) {
	err = r.Row(`SELECT coalesce(template_id, ''), coalesce(automation_run, '') FROM emails WHERE team_id = ? AND id = ?`, []any{teamID, emailID}, &template, &run)
	return template, run, err
}
