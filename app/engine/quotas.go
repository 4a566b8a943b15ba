package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/pacing"
	"mailer/db"
)

// charge is when an email leaves and how its recipients count: now (owed is 0), or
// when it leaves.
type charge struct {
	at   time.Time
	owed int64
	late bool // it is in the backlog of a daily quota
}

// charge counts the n recipients of an email that is about to be accepted, or has
// them wait. It is the last of the checks: an *app.Error comes before anything is
// written. Errors: CodeDailyQuotaExceeded, CodeMonthlyQuotaExceeded.
func (e *Engine) charge(tx *db.Tx, email *app.Email, n int64) (charge, error) {
	c := charge{at: dueAt(email)}
	if email.LastEvent == app.Scheduled {
		c.owed = n
	}
	switch {
	case e.server.Cloud:
		return e.chargePlan(tx, email.TeamID, n, c)
	case c.owed > 0:
		return c, nil
	}
	return c, e.count(tx, email.TeamID, n)
}

func (e *Engine) chargePlan(tx *db.Tx, teamID string, n int64, c charge) (charge, error) {
	plan, err := e.planOf(&tx.Reader, teamID)
	if err != nil {
		return c, err
	}
	waiting, err := tx.Backlog(teamID)
	if err != nil {
		return c, fmt.Errorf("read the backlog: %w", err)
	}
	used, _, err := tx.DayRecipients(teamID, app.UnixDay(tx.Now))
	if err != nil {
		return c, fmt.Errorf("read what the team used: %w", err)
	}
	switch {
	case plan.Daily() && c.owed > 0:
		err = scheduleInTerms(tx, &plan, waiting, used, n)
	case plan.Daily():
		return e.chargeDay(tx, teamID, &plan, waiting, used, n, c)
	default:
		err = e.periodFits(tx, teamID, &plan, waiting, used, n, "")
	}
	if err != nil {
		return c, err
	}
	if c.owed > 0 {
		return c, tx.AddBacklog(teamID, app.Backlog{Scheduled: n})
	}
	return c, e.count(tx, teamID, n)
}

// scheduleInTerms proves that a team on a daily plan may schedule mail of n
// recipients.
func scheduleInTerms(tx *db.Tx, plan *app.TeamPlan, waiting app.Backlog, used, n int64) error {
	terms := plan.Terms()
	full := used >= terms.PerDay && !terms.TakesLate(waiting.Late, terms.PerDay, n)
	if full || waiting.Scheduled+n > app.MaxScheduledDays*terms.PerDay {
		return dayExceeded(tx, plan)
	}
	return nil
}

// chargeDay has mail leave where the day has a place for it and none of the backlog
// is about to take it; else the mail joins the backlog.
func (e *Engine) chargeDay(tx *db.Tx, teamID string, plan *app.TeamPlan, waiting app.Backlog, used, n int64, c charge) (charge, error) {
	terms := plan.Terms()
	due := false
	if waiting.Late > 0 {
		var err error
		if due, err = tx.BacklogIsDue(teamID); err != nil {
			return c, fmt.Errorf("look at the backlog: %w", err)
		}
	}
	if !due && terms.DayFits(used, n) {
		return c, e.count(tx, teamID, n)
	}
	c.owed, c.late, c.at = n, true, tx.Now // behind what is due
	if !due {
		c.at, used = app.DayEnd(tx.Now), terms.PerDay
	}
	if !terms.TakesLate(waiting.Late, used, n) {
		return c, dayExceeded(tx, plan)
	}
	if err := tx.AddBacklog(teamID, app.Backlog{Late: n}); err != nil {
		return c, fmt.Errorf("add to the backlog: %w", err)
	}
	if due {
		return c, nil
	}
	return c, e.tellDayUsed(tx, teamID, plan)
}

func dayExceeded(tx *db.Tx, plan *app.TeamPlan) error {
	end := app.DayEnd(tx.Now)
	return &app.Error{Code: app.CodeDailyQuotaExceeded, RetryAfter: end.Sub(tx.Now), Message: fmt.Sprintf(
		"The %d emails a day of the plan %s are used, and as much mail waits for the days to come as can; try again after %s", plan.Terms().PerDay, plan.Name, app.FormatTime(end))}
}

// periodFits proves that the period of a monthly plan has a place for n more
// recipients: what is promised to mail that waits and to broadcasts, but one, is
// taken. Errors: CodeMonthlyQuotaExceeded.
func (e *Engine) periodFits(tx *db.Tx, teamID string, plan *app.TeamPlan, waiting app.Backlog, today, n int64, but string) error {
	used, err := e.periodUsed(&tx.Reader, teamID, plan, tx.Now, today)
	if err != nil {
		return err
	}
	promised, err := tx.BroadcastBacklog(teamID, but)
	if err != nil {
		return fmt.Errorf("read what broadcasts will use: %w", err)
	}
	if used+waiting.Late+waiting.Scheduled+promised+n <= plan.Most() {
		return nil
	}
	_, end := plan.Period(tx.Now)
	words := fmt.Sprintf("The %d emails that the plan %s includes", plan.Included(), plan.Name)
	if plan.Overage {
		words = fmt.Sprintf("The %d emails that the plan %s allows with overage", plan.Most(), plan.Name)
	}
	return app.Errorf(app.CodeMonthlyQuotaExceeded, "%s are used, or promised to mail that waits; the next period begins on %s", words, end.Format(time.DateOnly))
}

// periodUsed is what counted in the period of a monthly plan, today's part given.
func (e *Engine) periodUsed(r *db.Reader, teamID string, plan *app.TeamPlan, now time.Time, today int64) (int64, error) {
	start, _ := plan.Period(now)
	first, day := app.UnixDay(start), app.UnixDay(now)
	before, err := e.teamPlans.sumBeforeOf(teamID, first, day, func() (int64, error) { return r.RecipientsBetween(teamID, first, day) })
	if err != nil {
		return 0, fmt.Errorf("read what the team used: %w", err)
	}
	return before + today, nil
}

// exceedsQuota tells a refusal for the quota's sake, which is never that of one
// item of a batch.
func exceedsQuota(err error) bool {
	var refusal *app.Error
	return errors.As(err, &refusal) && (refusal.Code == app.CodeDailyQuotaExceeded || refusal.Code == app.CodeMonthlyQuotaExceeded)
}

// count adds recipients to those of the day, and tells webhooks of the quota.
func (e *Engine) count(tx *db.Tx, teamID string, n int64) error {
	if n == 0 {
		return nil
	}
	if !e.server.Cloud {
		tx.AddRecipients(teamID, app.UnixDay(tx.Now), n)
		return nil
	}
	today, told, err := tx.CountRecipients(teamID, app.UnixDay(tx.Now), n)
	if err != nil {
		return fmt.Errorf("count recipients: %w", err)
	}
	plan, err := e.planOf(&tx.Reader, teamID)
	if err != nil {
		return err
	}
	if plan.Daily() {
		return e.tellDay(tx, teamID, &plan, today, told, app.LevelOf(today, plan.Terms().PerDay))
	}
	return e.tellPeriod(tx, teamID, &plan, today)
}

// beginUnit stores that a unit's attempt begins, and counts the recipients of one
// that waited for its time. It answers false for a unit that was withdrawn, or of
// which another attempt ended, since it was read, and for one that the day has no
// place for: that one waits for the next.
func (e *Engine) beginUnit(tx *db.Tx, u app.Unit) (begun bool, err error) {
	if u.Owed > 0 && e.server.Cloud {
		if late, err := e.staysLate(tx, u); err != nil || late {
			return false, err
		}
	}
	err = tx.BeginAttempt(u, tx.Now.Add(app.CrashDelay(u.Attempts+1)))
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("begin attempt: %w", err)
	}
	if u.Owed == 0 {
		return true, nil
	}
	if err := e.forgive(tx, u.TeamID, u.EmailID); err != nil {
		return false, err
	}
	if err := tx.ClearOwed(u.EmailID); err != nil {
		return false, fmt.Errorf("settle what is owed: %w", err)
	}
	return true, e.count(tx, u.TeamID, u.Owed)
}

// staysLate puts a unit off to the next day where this one has no place for it.
func (e *Engine) staysLate(tx *db.Tx, u app.Unit) (bool, error) {
	plan, err := e.planOf(&tx.Reader, u.TeamID)
	if err != nil || !plan.Daily() {
		return false, err
	}
	used, _, err := tx.DayRecipients(u.TeamID, app.UnixDay(tx.Now))
	if err != nil {
		return false, fmt.Errorf("read what the team used: %w", err)
	}
	terms := plan.Terms()
	if terms.DayFits(used, u.Owed) {
		return false, nil
	}
	if err := tx.DeferUnit(u, app.DayEnd(tx.Now)); err != nil {
		return true, ignoreGone(err)
	}
	if err := tx.InsertEvent(quotaWait(tx, u)); err != nil || u.Late {
		return true, err
	}
	if err := tx.AddBacklog(u.TeamID, app.Backlog{Late: u.Owed, Scheduled: -u.Owed}); err != nil {
		return true, fmt.Errorf("add to the backlog: %w", err)
	}
	return true, e.tellDayUsed(tx, u.TeamID, &plan)
}

// quotaWait is the line in the timeline of an email that waits for another day.
func quotaWait(tx *db.Tx, u app.Unit) app.Event {
	return newEvent(tx, u, app.EventQuotaWait, "", app.EventDetail{Message: "The quota of this day is used; the email waits for the next UTC day",
		Relay: u.Relay, NextAttemptAt: app.FormatTime(app.DayEnd(tx.Now))})
}

// forgive takes what an email owes out of the backlog: it leaves now, or never.
func (e *Engine) forgive(tx *db.Tx, teamID, emailID string) error {
	if !e.server.Cloud {
		return nil
	}
	owed, err := tx.EmailBacklog(emailID)
	if err != nil {
		return fmt.Errorf("read what is owed: %w", err)
	}
	return tx.AddBacklog(teamID, app.Backlog{Late: -owed.Late, Scheduled: -owed.Scheduled})
}

// broadcastFits proves that the period of a monthly plan has a place for a
// broadcast. Errors: CodeMonthlyQuotaExceeded.
func (e *Engine) broadcastFits(tx *db.Tx, b *app.Broadcast) error {
	if !e.server.Cloud {
		return nil
	}
	plan, err := e.planOf(&tx.Reader, b.TeamID)
	if err != nil || plan.Daily() {
		return err
	}
	waiting, err := tx.Backlog(b.TeamID)
	if err != nil {
		return fmt.Errorf("read the backlog: %w", err)
	}
	today, _, err := tx.DayRecipients(b.TeamID, app.UnixDay(tx.Now))
	if err != nil {
		return fmt.Errorf("read what the team used: %w", err)
	}
	return e.periodFits(tx, b.TeamID, &plan, waiting, today, b.Audience, b.ID)
}

// bulkRoomOfDay is how many of n messages of a team's broadcasts may begin now: on
// a daily plan those that the day has a place for behind all other mail that waits.
func (e *Engine) bulkRoomOfDay(r *db.Reader, teamID string, now time.Time, n int) (int, error) {
	if !e.server.Cloud {
		return n, nil
	}
	plan, err := e.planOf(r, teamID)
	if err != nil || !plan.Daily() {
		return n, err
	}
	used, _, err := r.DayRecipients(teamID, app.UnixDay(now))
	if err != nil {
		return 0, fmt.Errorf("read what the team used: %w", err)
	}
	waiting, err := r.Backlog(teamID)
	if err != nil {
		return 0, fmt.Errorf("read the backlog: %w", err)
	}
	return int(min(int64(n), max(0, plan.Terms().PerDay-used-waiting.Late))), nil
}

// withinDay leaves of queues what daily plans let begin today, and tells whether
// that is less than all.
func (e *Engine) withinDay(ctx context.Context, queues []pacing.BulkQueue) (open []pacing.BulkQueue, held bool, err error) {
	if !e.server.Cloud || len(queues) == 0 {
		return queues, false, nil
	}
	taken, now := map[string]int64{}, time.Now()
	err = e.db.Read(ctx, func(r *db.Reader) error {
		for _, q := range queues {
			want := min(q.Remaining, pacing.MaxBroadcastRecipients)
			room, err := e.bulkRoomOfDay(r, q.TeamID, now, int(want+taken[q.TeamID]))
			if err != nil {
				return err
			}
			q.Remaining = int64(room) - taken[q.TeamID]
			taken[q.TeamID] += q.Remaining
			held = held || q.Remaining < want
			if q.Remaining > 0 {
				open = append(open, q)
			}
		}
		return nil
	})
	return open, held, err
}
