package teams

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/plan"
	"mailer/db"
)

// Usage returns the usage of the key's team, with the limits of its plan.
func (s *Service) Usage(ctx context.Context, key *app.Key) (plan.Usage, error) {
	u := plan.Usage{Team: app.Team{ID: key.TeamID}, AppURL: s.Settings.BaseURL}
	err := s.DB.Read(ctx, func(r *db.Reader) error { return s.readUsage(r, &u) })
	return u, base.Lookup("team", err)
}

func (s *Service) readUsage(r *db.Reader, u *plan.Usage) (err error) {
	now := clock.Now()
	u.ResetsAt = plan.DayEnd(now)
	if u.Team.Name, err = r.TeamName(u.Team.ID); err != nil {
		return fmt.Errorf("read team: %w", err)
	}
	if u.Today, _, err = r.DayRecipients(u.Team.ID, plan.UnixDay(now)); err != nil {
		return fmt.Errorf("read the usage of the team: %w", err)
	}
	if !s.Settings.Cloud {
		return nil
	}
	current, err := readPlan(r, u.Team.ID)
	if err != nil {
		return err
	}
	u.Plan = &current
	if current.Daily() {
		return nil
	}
	u.Starts, u.Ends = current.Period(now)
	before, err := r.RecipientsBetween(u.Team.ID, plan.UnixDay(u.Starts), plan.UnixDay(now))
	if err != nil {
		return fmt.Errorf("read the usage of the team: %w", err)
	}
	u.Period = before + u.Today
	return nil
}
