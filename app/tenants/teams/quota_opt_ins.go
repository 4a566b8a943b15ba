package teams

import (
	"fmt"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/db"
)

// CheckUncounted is Charge for the confirmation of an opt-in, which leaves only if the quota has space for
// it, and is not counted: a count would tell the team whether a confirmation was sent. Errors:
// CodeDailyQuotaExceeded, CodeMonthlyQuotaExceeded.
func (s *Service) CheckUncounted(tx *db.Tx, email *app.Email, n int64) (Charge, error) {
	c := Charge{At: dueAt(email)}
	if !s.Settings.Cloud {
		return c, nil
	}
	current, err := s.PlanOf(&tx.Reader, email.TeamID)
	if err != nil {
		return c, err
	}
	waiting, err := tx.Backlog(email.TeamID)
	if err != nil {
		return c, fmt.Errorf("read the backlog: %w", err)
	}
	used, _, err := tx.DayRecipients(email.TeamID, plan.UnixDay(tx.Now))
	if err != nil {
		return c, fmt.Errorf("read the usage of the team: %w", err)
	}
	if !current.Daily() {
		return c, s.CheckPeriodQuota(&tx.Reader, tx.Now, email.TeamID, &current, waiting, used, n, "")
	}
	if terms := current.Terms(); waiting.Delayed > 0 || !terms.DayFits(used, n) {
		return c, errDayExceeded(tx, &current)
	}
	return c, nil
}
