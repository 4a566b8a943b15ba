package db

import (
	"time"

	"mailer/app"
	"mailer/app/rules/plan"
)

// Backlog returns the number of a team's accepted recipients that are not yet counted
// against its quota.
func (r *Reader) Backlog(teamID string) (b plan.Backlog, err error) {
	err = r.Row(`SELECT late, scheduled FROM team_backlogs WHERE team_id = ?`, []any{teamID}, &b.Delayed, &b.Scheduled)
	return b, ignoreNotFound(err)
}

// AddBacklog adds b, which may be negative, to the backlog of a team.
func (tx *Tx) AddBacklog(teamID string, b plan.Backlog) error {
	if b == (plan.Backlog{}) {
		return nil
	}
	err := tx.Write(`INSERT INTO team_backlogs (team_id, late, scheduled) VALUES (?1, CASE WHEN CAST(?2 AS bigint) > 0 THEN ?2 ELSE 0 END, CASE WHEN CAST(?3 AS bigint) > 0 THEN ?3 ELSE 0 END)
		ON CONFLICT (team_id) DO UPDATE SET late = CASE WHEN team_backlogs.late + ?2 > 0 THEN team_backlogs.late + ?2 ELSE 0 END,
			scheduled = CASE WHEN team_backlogs.scheduled + ?3 > 0 THEN team_backlogs.scheduled + ?3 ELSE 0 END`,
		teamID, b.Delayed, b.Scheduled)
	return err
}

// BacklogIsDue reports whether mail in a team's daily-quota backlog is due.
func (tx *Tx) BacklogIsDue(teamID string) (due bool, err error) {
	err = tx.Row(`SELECT EXISTS (SELECT 1 FROM units WHERE team_id = ? AND owed > 0 AND late = 1 AND next_at <= ?)`, []any{teamID, milli(tx.Now)}, &due)
	return due, err
}

// ReleaseBacklog makes a team's backlog due now.
func (tx *Tx) ReleaseBacklog(teamID string) error {
	err := tx.Write(`UPDATE units SET next_at = ? WHERE team_id = ? AND owed > 0 AND late = 1 AND next_at > ? AND state = 'later'`,
		milli(tx.Now), teamID, milli(tx.Now))
	return err
}

// DeferUnit moves a unit that is not yet counted into the backlog until next. Error:
// ErrNotFound if the unit changed since it was read.
func (tx *Tx) DeferUnit(u app.Unit, next time.Time) error {
	return tx.WriteOne(`UPDATE units SET late = 1, state = 'later', next_at = ? WHERE email_id = ? AND state = 'due' AND attempts = ? AND next_at = ?`,
		milli(next), u.EmailID, u.Attempts, milli(u.NextAt))
}

// EmailBacklog returns the number of recipients of a waiting email that are not yet
// counted, as its share of the backlog. It is zero for an email without a unit.
func (r *Reader) EmailBacklog(emailID string) (b plan.Backlog, err error) {
	err = r.Row(`SELECT CASE late WHEN 1 THEN owed ELSE 0 END, CASE late WHEN 0 THEN owed ELSE 0 END FROM units WHERE email_id = ?`,
		[]any{emailID}, &b.Delayed, &b.Scheduled)
	return b, ignoreNotFound(err)
}

// BroadcastBacklog returns the number of recipients of a team's scheduled and queued
// broadcasts that are not yet counted, without the broadcast exceptID.
func (r *Reader) BroadcastBacklog(teamID, exceptID string) (n int64, err error) {
	err = r.Row(`SELECT coalesce(sum(CASE WHEN expanded = 1 OR written > audience THEN written ELSE audience END - begun), 0)
		FROM broadcasts WHERE team_id = ? AND status IN ('scheduled', 'queued') AND id <> ?`, []any{teamID, exceptID}, &n)
	return n, err
}
