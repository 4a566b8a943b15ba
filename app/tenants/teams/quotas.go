package teams

import (
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// dueAt returns when an email may leave.
func dueAt(email *app.Email) time.Time {
	if email.LastEvent == app.Scheduled {
		return email.ScheduledAt
	}
	return email.CreatedAt
}

// Charge is when an email leaves and when its recipients count: immediately if Owed is 0, else when
// the email leaves.
type Charge struct {
	At   time.Time
	Owed int64
	Late bool // the email is in the backlog of a daily quota
}

// Charge counts the n recipients of an email that is about to be accepted, or adds them to the
// backlog. It is the last check of a send and returns an *app.Error before it writes anything.
// Errors: CodeDailyQuotaExceeded, CodeMonthlyQuotaExceeded.
func (s *Service) Charge(tx *db.Tx, email *app.Email, n int64) (Charge, error) {
	c := Charge{At: dueAt(email)}
	if email.LastEvent == app.Scheduled {
		c.Owed = n
	}
	switch {
	case s.Settings.Cloud:
		return s.chargePlan(tx, email.TeamID, n, c)
	case c.Owed > 0:
		return c, nil
	}
	return c, s.CountRecipients(tx, email.TeamID, n)
}

func (s *Service) chargePlan(tx *db.Tx, teamID string, n int64, c Charge) (Charge, error) {
	current, err := s.PlanOf(&tx.Reader, teamID)
	if err != nil {
		return c, err
	}
	waiting, err := tx.Backlog(teamID)
	if err != nil {
		return c, fmt.Errorf("read the backlog: %w", err)
	}
	used, _, err := tx.DayRecipients(teamID, plan.UnixDay(tx.Now))
	if err != nil {
		return c, fmt.Errorf("read the usage of the team: %w", err)
	}
	switch {
	case current.Daily() && c.Owed > 0:
		err = checkScheduleQuota(tx, &current, waiting, used, n)
	case current.Daily():
		return s.chargeDay(tx, teamID, &current, waiting, used, n, c)
	default:
		err = s.CheckPeriodQuota(&tx.Reader, tx.Now, teamID, &current, waiting, used, n, "")
	}
	if err != nil {
		return c, err
	}
	if c.Owed > 0 {
		return c, tx.AddBacklog(teamID, plan.Backlog{Scheduled: n})
	}
	return c, s.CountRecipients(tx, teamID, n)
}

// checkScheduleQuota returns nil if a team on a daily plan may schedule an email of n recipients.
func checkScheduleQuota(tx *db.Tx, current *plan.Plan, waiting plan.Backlog, used, n int64) error {
	terms := current.Terms()
	late := used >= terms.PerDay && !terms.BacklogFits(waiting.Delayed, terms.PerDay, n)
	if late || waiting.Scheduled+n > plan.MaxScheduledDays*terms.PerDay {
		return errDayExceeded(tx, current)
	}
	return nil
}

// chargeDay lets an email leave if the day's quota has space for it and no due email of the backlog
// waits. Otherwise the email joins the backlog.
func (s *Service) chargeDay(tx *db.Tx, teamID string, current *plan.Plan, waiting plan.Backlog, used, n int64, c Charge) (Charge, error) {
	terms := current.Terms()
	due := false
	if waiting.Delayed > 0 {
		var err error
		if due, err = tx.BacklogIsDue(teamID); err != nil {
			return c, fmt.Errorf("read the due backlog: %w", err)
		}
	}
	if !due && terms.DayFits(used, n) {
		return c, s.CountRecipients(tx, teamID, n)
	}
	c.Owed, c.Late, c.At = n, true, tx.Now // after the due mail
	if !due {
		c.At, used = plan.DayEnd(tx.Now), terms.PerDay
	}
	if !terms.BacklogFits(waiting.Delayed, used, n) {
		return c, errDayExceeded(tx, current)
	}
	if err := tx.AddBacklog(teamID, plan.Backlog{Delayed: n}); err != nil {
		return c, fmt.Errorf("add to the backlog: %w", err)
	}
	if due {
		return c, nil
	}
	return c, s.AnnounceDayUsed(tx, teamID, current)
}

func errDayExceeded(tx *db.Tx, current *plan.Plan) error {
	end := plan.DayEnd(tx.Now)
	return &app.Error{Code: app.CodeDailyQuotaExceeded, RetryAfter: end.Sub(tx.Now), Message: fmt.Sprintf(
		"The %d emails a day of the plan %s are used, and as much mail waits for the days to come as can; try again after %s", current.Terms().PerDay, current.Name, app.FormatTime(end))}
}

// CheckPeriodQuota returns nil if the period of a monthly plan has space for n more recipients.
// Waiting mail and the remaining recipients of broadcasts, except that of the broadcast with the id
// except, count as used. today is the usage of the current day. Errors: CodeMonthlyQuotaExceeded.
func (s *Service) CheckPeriodQuota(r *db.Reader, now time.Time, teamID string, plan *plan.Plan, waiting plan.Backlog, today, n int64, except string) error {
	used, err := s.periodUsed(r, teamID, plan, now, today)
	if err != nil {
		return err
	}
	reserved, err := r.BroadcastBacklog(teamID, except)
	if err != nil {
		return fmt.Errorf("read the backlog of broadcasts: %w", err)
	}
	if used+waiting.Delayed+waiting.Scheduled+reserved+n <= plan.PeriodMax() {
		return nil
	}
	_, end := plan.Period(now)
	what := fmt.Sprintf("The %d emails that the plan %s includes", plan.Included(), plan.Name)
	if plan.Overage {
		what = fmt.Sprintf("The %d emails that the plan %s allows with overage", plan.PeriodMax(), plan.Name)
	}
	return app.Errorf(app.CodeMonthlyQuotaExceeded, "%s are used, or promised to mail that waits; the next period begins on %s", what, end.Format(time.DateOnly))
}

// periodUsed returns how many recipients counted in the current period of a monthly plan. today is
// the count of the current day.
func (s *Service) periodUsed(r *db.Reader, teamID string, current *plan.Plan, now time.Time, today int64) (int64, error) {
	start, _ := current.Period(now)
	first, day := plan.UnixDay(start), plan.UnixDay(now)
	before, err := s.sumBeforeDay(r, teamID, first, day)
	if err != nil {
		return 0, fmt.Errorf("read the usage of the team: %w", err)
	}
	return before + today, nil
}

// ExceedsQuota reports whether an error is a refusal because of the quota. Such a refusal applies
// to a whole batch, never to a single item.
func ExceedsQuota(err error) bool {
	var refusal *app.Error
	return errors.As(err, &refusal) && (refusal.Code == app.CodeDailyQuotaExceeded || refusal.Code == app.CodeMonthlyQuotaExceeded)
}

// CountRecipients adds n recipients to the usage of the day, and announces quota levels to
// webhooks.
func (s *Service) CountRecipients(tx *db.Tx, teamID string, n int64) error {
	if n == 0 {
		return nil
	}
	if !s.Settings.Cloud {
		tx.AddRecipients(teamID, plan.UnixDay(tx.Now), n)
		return nil
	}
	today, announced, err := tx.CountRecipients(teamID, plan.UnixDay(tx.Now), n)
	if err != nil {
		return fmt.Errorf("count recipients: %w", err)
	}
	current, err := s.PlanOf(&tx.Reader, teamID)
	if err != nil {
		return err
	}
	if current.Daily() {
		return s.announceDayQuota(tx, teamID, &current, today, announced, plan.LevelOf(today, current.Terms().PerDay))
	}
	return s.announcePeriodQuota(tx, teamID, &current, today)
}

// DropFromBacklog removes an email from the backlog: it leaves now, or never.
func (s *Service) DropFromBacklog(tx *db.Tx, teamID, emailID string) error {
	if !s.Settings.Cloud {
		return nil
	}
	owed, err := tx.EmailBacklog(emailID)
	if err != nil {
		return fmt.Errorf("read the backlog of an email: %w", err)
	}
	return s.SubtractBacklog(tx, teamID, owed)
}

// SubtractBacklog subtracts the recipients of an email, owed, from the backlog.
func (s *Service) SubtractBacklog(tx *db.Tx, teamID string, owed plan.Backlog) error {
	if !s.Settings.Cloud {
		return nil
	}
	return tx.AddBacklog(teamID, plan.Backlog{Delayed: -owed.Delayed, Scheduled: -owed.Scheduled})
}

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
		return fmt.Errorf("read the usage of the team: %w", err)
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
