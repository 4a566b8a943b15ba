package teams

import (
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/db"
)

// dueAt is when an email may leave.
func dueAt(email *app.Email) time.Time {
	if email.LastEvent == app.Scheduled {
		return email.ScheduledAt
	}
	return email.CreatedAt
}

// Charge is when an email leaves and how its recipients count: now (owed is 0), or
// when it leaves.
type Charge struct {
	At   time.Time
	Owed int64
	Late bool // it is in the backlog of a daily quota
}

// Charge counts the n recipients of an email that is about to be accepted, or has
// them wait. It is the last of the checks: an *app.Error comes before anything is
// written. Errors: CodeDailyQuotaExceeded, CodeMonthlyQuotaExceeded.
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
	tx.Serialize() // what is used and what waits decide, and change with it
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
		return c, fmt.Errorf("read what the team used: %w", err)
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

// checkScheduleQuota proves that a team on a daily plan may schedule mail of n
// recipients.
func checkScheduleQuota(tx *db.Tx, current *plan.Plan, waiting plan.Backlog, used, n int64) error {
	terms := current.Terms()
	late := used >= terms.PerDay && !terms.BacklogFits(waiting.Delayed, terms.PerDay, n)
	if late || waiting.Scheduled+n > plan.MaxScheduledDays*terms.PerDay {
		return errDayExceeded(tx, current)
	}
	return nil
}

// chargeDay has mail leave where the day has a place for it and none of the backlog
// is about to take it; else the mail joins the backlog.
func (s *Service) chargeDay(tx *db.Tx, teamID string, current *plan.Plan, waiting plan.Backlog, used, n int64, c Charge) (Charge, error) {
	terms := current.Terms()
	due := false
	if waiting.Delayed > 0 {
		var err error
		if due, err = tx.BacklogIsDue(teamID); err != nil {
			return c, fmt.Errorf("look at the backlog: %w", err)
		}
	}
	if !due && terms.DayFits(used, n) {
		return c, s.CountRecipients(tx, teamID, n)
	}
	c.Owed, c.Late, c.At = n, true, tx.Now // behind what is due
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

// CheckPeriodQuota proves that the period of a monthly plan has a place for n more
// recipients: what is promised to mail that waits and to broadcasts, but one, is
// taken. Errors: CodeMonthlyQuotaExceeded.
func (s *Service) CheckPeriodQuota(r *db.Reader, now time.Time, teamID string, plan *plan.Plan, waiting plan.Backlog, today, n int64, except string) error {
	used, err := s.periodUsed(r, teamID, plan, now, today)
	if err != nil {
		return err
	}
	reserved, err := r.BroadcastBacklog(teamID, except)
	if err != nil {
		return fmt.Errorf("read what broadcasts will use: %w", err)
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

// periodUsed is what counted in the period of a monthly plan, today's part given.
func (s *Service) periodUsed(r *db.Reader, teamID string, current *plan.Plan, now time.Time, today int64) (int64, error) {
	start, _ := current.Period(now)
	first, day := plan.UnixDay(start), plan.UnixDay(now)
	before, err := s.sumBeforeDay(r, teamID, first, day)
	if err != nil {
		return 0, fmt.Errorf("read what the team used: %w", err)
	}
	return before + today, nil
}

// ExceedsQuota reports whether an error is a refusal for the quota's sake, which is never that of one
// item of a batch.
func ExceedsQuota(err error) bool {
	var refusal *app.Error
	return errors.As(err, &refusal) && (refusal.Code == app.CodeDailyQuotaExceeded || refusal.Code == app.CodeMonthlyQuotaExceeded)
}

// CountRecipients adds recipients to those of the day, and tells webhooks of the quota.
func (s *Service) CountRecipients(tx *db.Tx, teamID string, n int64) error {
	if n == 0 {
		return nil
	}
	if !s.Settings.Cloud {
		tx.AddRecipients(teamID, plan.UnixDay(tx.Now), n)
		return nil
	}
	tx.Serialize() // what is used, and was told of it, is read and changed
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

// DropFromBacklog takes what an email owes out of the backlog: it leaves now, or never.
func (s *Service) DropFromBacklog(tx *db.Tx, teamID, emailID string) error {
	if !s.Settings.Cloud {
		return nil
	}
	owed, err := tx.EmailBacklog(emailID)
	if err != nil {
		return fmt.Errorf("read what is owed: %w", err)
	}
	return s.SubtractBacklog(tx, teamID, owed)
}

// SubtractBacklog takes what an email owed out of the backlog.
func (s *Service) SubtractBacklog(tx *db.Tx, teamID string, owed plan.Backlog) error {
	if !s.Settings.Cloud {
		return nil
	}
	return tx.AddBacklog(teamID, plan.Backlog{Delayed: -owed.Delayed, Scheduled: -owed.Scheduled})
}
