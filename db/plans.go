package db

import (
	"database/sql"
	"time"

	"mailer/app/rules/plan"
	"mailer/db/engine"
)

// TeamPlan returns the plan of a team. Error: ErrNotFound if none was set.
func (r *Reader) TeamPlan(teamID string) (plan.Plan, error) {
	var p plan.Plan
	var volume sql.NullInt64
	var since int64
	err := r.Row(`SELECT name, included, overage, since FROM team_plans WHERE team_id = ?`, []any{teamID}, &p.Name, &volume, &p.Overage, &since)
	p.Volume, p.Since = volume.Int64, fromMilli(since)
	return p, err
}

// SetTeamPlan sets the plan of a team.
func (tx *Tx) SetTeamPlan(teamID string, p *plan.Plan) error {
	tx.Changed(engine.Control)
	volume := sql.NullInt64{Int64: p.Volume, Valid: p.Volume > 0}
	err := tx.Write(`INSERT INTO team_plans (team_id, name, included, overage, since) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (team_id) DO UPDATE SET name = excluded.name, included = excluded.included, overage = excluded.overage, since = excluded.since`,
		teamID, string(p.Name), volume, p.Overage, milli(p.Since))
	return err
}

// RecipientsBetween returns the recipients counted for a team from one day up to another,
// excluded (app.UnixDay).
func (r *Reader) RecipientsBetween(teamID string, first, end int64) (sum int64, err error) {
	err = r.Row(`SELECT coalesce(sum(recipients), 0) FROM team_days WHERE team_id = ? AND day >= ? AND day < ?`, []any{teamID, first, end}, &sum)
	return sum, err
}

// SetDayNotified records the webhook event that was sent about a day's quota.
func (tx *Tx) SetDayNotified(teamID string, day int64, level plan.QuotaLevel) error {
	err := tx.Write(`INSERT INTO team_days (team_id, day, recipients, quota_event) VALUES (?, ?, 0, ?)
		ON CONFLICT (team_id, day) DO UPDATE SET quota_event = excluded.quota_event`, teamID, day, int(level))
	return err
}

// PeriodNotified returns the webhook event that was sent about the quota of the period
// that began at start.
func (r *Reader) PeriodNotified(teamID string, start time.Time) (sent plan.QuotaLevel, err error) {
	err = r.Row(`SELECT quota_event FROM team_plans WHERE team_id = ? AND quota_event_at = ?`, []any{teamID, milli(start)}, &sent)
	return sent, ignoreNotFound(err)
}

// SetPeriodNotified records the webhook event that was sent about the quota of the period
// that began at start.
func (tx *Tx) SetPeriodNotified(teamID string, start time.Time, level plan.QuotaLevel) error {
	err := tx.Write(`UPDATE team_plans SET quota_event_at = ?, quota_event = ? WHERE team_id = ?`, milli(start), int(level), teamID)
	return err
}
