package teams

import (
	"fmt"

	"mailer/app/rules/plan"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// announceDayQuota tells webhooks, once a day each, that the quota of a daily plan is nearly
// used, and that it is.
func (s *Service) announceDayQuota(tx *db.Tx, teamID string, current *plan.Plan, used int64, announced, level plan.QuotaLevel) error {
	if level <= announced {
		return nil
	}
	if err := tx.SetDayNotified(teamID, plan.UnixDay(tx.Now), level); err != nil {
		return fmt.Errorf("note what was told: %w", err)
	}
	return s.announceQuota(tx, teamID, plan.QuotaEvents(announced, level), current.DayQuota(used, tx.Now))
}

// AnnounceDayUsed is announceDayQuota where mail has to wait, be it that a smaller one would
// still fit.
func (s *Service) AnnounceDayUsed(tx *db.Tx, teamID string, current *plan.Plan) error {
	used, announced, err := tx.DayRecipients(teamID, plan.UnixDay(tx.Now))
	if err != nil {
		return fmt.Errorf("read what the team used: %w", err)
	}
	return s.announceDayQuota(tx, teamID, current, used, announced, plan.QuotaUsed)
}

// announcePeriodQuota tells webhooks, once a period each, that what a monthly plan includes
// is nearly used, and that it is.
func (s *Service) announcePeriodQuota(tx *db.Tx, teamID string, current *plan.Plan, today int64) error {
	used, err := s.periodUsed(&tx.Reader, teamID, current, tx.Now, today)
	if err != nil {
		return err
	}
	level := plan.LevelOf(used, current.Included())
	if level == plan.QuotaFree {
		return nil
	}
	start, _ := current.Period(tx.Now)
	announced, err := tx.PeriodNotified(teamID, start)
	if err != nil || level <= announced {
		return err
	}
	if err := tx.SetPeriodNotified(teamID, start, level); err != nil {
		return fmt.Errorf("note what was told: %w", err)
	}
	return s.announceQuota(tx, teamID, plan.QuotaEvents(announced, level), current.PeriodQuota(used, tx.Now))
}

func (s *Service) announceQuota(tx *db.Tx, teamID string, names []webhook.EventName, data plan.QuotaData) error {
	for _, name := range names {
		if err := s.events.Announce(tx, teamID, name, func() (any, error) { return data, nil }); err != nil {
			return err
		}
	}
	return nil
}
