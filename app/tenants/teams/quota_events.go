package teams

import (
	"fmt"

	"mailer/app/rules/plan"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// announceDayQuota announces to webhooks that a daily quota is nearly used, and that it is used,
// once a day each. announced is the level that was announced today.
func (s *Service) announceDayQuota(tx *db.Tx, teamID string, current *plan.Plan, used int64, announced, level plan.QuotaLevel) error {
	if level <= announced {
		return nil
	}
	if err := tx.SetDayNotified(teamID, plan.UnixDay(tx.Now), level); err != nil {
		return fmt.Errorf("store the announced quota level: %w", err)
	}
	return s.announceQuota(tx, teamID, plan.QuotaEvents(announced, level), current.DayQuota(used, tx.Now))
}

// AnnounceDayUsed announces that the daily quota is used, since an email has to wait, even if a
// smaller email would still fit.
func (s *Service) AnnounceDayUsed(tx *db.Tx, teamID string, current *plan.Plan) error {
	used, announced, err := tx.DayRecipients(teamID, plan.UnixDay(tx.Now))
	if err != nil {
		return fmt.Errorf("read usage: %w", err)
	}
	return s.announceDayQuota(tx, teamID, current, used, announced, plan.QuotaUsed)
}

// announcePeriodQuota announces to webhooks that the emails included in a monthly plan are nearly
// used, and that they are used, once a period each.
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
		return fmt.Errorf("store the announced quota level: %w", err)
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
