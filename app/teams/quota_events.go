package teams

import (
	"fmt"

	"mailer/app"
	"mailer/db"
)

// tellDay tells webhooks, once a day each, that the quota of a daily plan is nearly
// used, and that it is.
func (s *Service) tellDay(tx *db.Tx, teamID string, plan *app.TeamPlan, used int64, told, level app.QuotaLevel) error {
	if level <= told {
		return nil
	}
	if err := tx.SetDayNotified(teamID, app.UnixDay(tx.Now), level); err != nil {
		return fmt.Errorf("note what was told: %w", err)
	}
	return s.announceQuota(tx, teamID, app.QuotaEvents(told, level), app.QuotaData{Plan: plan.Name, Period: "day",
		EmailsSent: used, Limit: plan.Terms().PerDay, ResetsAt: app.FormatTime(app.DayEnd(tx.Now))})
}

// TellDayUsed is tellDay where mail has to wait, be it that a smaller one would
// still fit.
func (s *Service) TellDayUsed(tx *db.Tx, teamID string, plan *app.TeamPlan) error {
	used, told, err := tx.DayRecipients(teamID, app.UnixDay(tx.Now))
	if err != nil {
		return fmt.Errorf("read what the team used: %w", err)
	}
	return s.tellDay(tx, teamID, plan, used, told, app.QuotaUsed)
}

// tellPeriod tells webhooks, once a period each, that what a monthly plan includes
// is nearly used, and that it is.
func (s *Service) tellPeriod(tx *db.Tx, teamID string, plan *app.TeamPlan, today int64) error {
	used, err := s.periodUsed(&tx.Reader, teamID, plan, tx.Now, today)
	if err != nil {
		return err
	}
	level := app.LevelOf(used, plan.Included())
	if level == app.QuotaFree {
		return nil
	}
	start, end := plan.Period(tx.Now)
	told, err := tx.PeriodNotified(teamID, start)
	if err != nil || level <= told {
		return err
	}
	if err := tx.SetPeriodNotified(teamID, start, level); err != nil {
		return fmt.Errorf("note what was told: %w", err)
	}
	return s.announceQuota(tx, teamID, app.QuotaEvents(told, level), app.QuotaData{Plan: plan.Name, Period: "month",
		EmailsSent: used, Limit: plan.Included(), ResetsAt: app.FormatTime(end)})
}

func (s *Service) announceQuota(tx *db.Tx, teamID string, names []app.EventName, data app.QuotaData) error {
	for _, name := range names {
		if err := s.events.Announce(tx, teamID, name, func() (any, error) { return data, nil }); err != nil {
			return err
		}
	}
	return nil
}
