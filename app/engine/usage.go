package engine

import (
	"context"
	"fmt"
	"time"

	"mailer/app"
	"mailer/db"
)

// Usage says what the key's team used, and of what.
func (e *Engine) Usage(ctx context.Context, key *app.Key) (app.Usage, error) {
	u := app.Usage{Team: app.Team{ID: key.TeamID}, AppURL: e.server.BaseURL}
	err := e.db.Read(ctx, func(r *db.Reader) error { return e.readUsage(r, &u) })
	return u, lookup("team", err)
}

func (e *Engine) readUsage(r *db.Reader, u *app.Usage) (err error) {
	now := time.Now()
	u.ResetsAt = app.DayEnd(now)
	if u.Team.Name, err = r.TeamName(u.Team.ID); err != nil {
		return fmt.Errorf("read team: %w", err)
	}
	if u.Today, _, err = r.DayRecipients(u.Team.ID, app.UnixDay(now)); err != nil {
		return fmt.Errorf("read what the team used: %w", err)
	}
	if !e.server.Cloud {
		return nil
	}
	plan, err := readPlan(r, u.Team.ID)
	if err != nil {
		return err
	}
	u.Plan = &plan
	if plan.Daily() {
		return nil
	}
	u.Starts, u.Ends = plan.Period(now)
	before, err := r.RecipientsBetween(u.Team.ID, app.UnixDay(u.Starts), app.UnixDay(now))
	if err != nil {
		return fmt.Errorf("read what the team used: %w", err)
	}
	u.Period = before + u.Today
	return nil
}
