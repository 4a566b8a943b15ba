package broadcasts

import (
	"context"
	"fmt"
	"math"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/pacing"
	"mailer/app/rules/plan"
	"mailer/db"
)

// quotaDays is how many of a team's emails leave on each day of a daily plan.
type quotaDays struct{ left, ahead, perDay int64 }

// first reports whether some of the new emails leave on the first day.
func (d quotaDays) first() bool { return d.left > d.ahead }

// waves returns n emails by the days on which they leave, beginning at a time.
func (d quotaDays) waves(from time.Time, n int64) (out []pacing.Wave) {
	at, left, ahead := from, d.left, d.ahead
	for day := int64(1); n > 0 && d.perDay > 0; day++ {
		used := min(ahead, left)
		if count := min(n, left-used); count > 0 {
			out = append(out, pacing.Wave{At: at, Count: count})
			n -= count
		}
		ahead -= used
		at, left = plan.DaysLater(from, day), d.perDay
	}
	return out
}

// quotaFinish returns when all waiting mail of a team and n more emails have left on a daily plan,
// none of it before from; zero on other plans. Mail of the broadcast with the id except does not
// count. days are the days of the plan.
func (s *Service) quotaFinish(r *db.Reader, teamID, except string, from time.Time, n int64) (end time.Time, days quotaDays, err error) {
	if !s.Settings.Cloud {
		return end, days, nil
	}
	current, err := s.teams.PlanOf(r, teamID)
	if err != nil || !current.Daily() {
		return end, days, err
	}
	used, _, err := r.DayRecipients(teamID, plan.UnixDay(from)) // nothing has counted on a future day
	if err != nil {
		return end, days, fmt.Errorf("read the usage of the team: %w", err)
	}
	waiting, err := r.Backlog(teamID)
	if err != nil {
		return end, days, fmt.Errorf("read the backlog: %w", err)
	}
	broadcasts, err := r.BroadcastBacklog(teamID, except)
	if err != nil {
		return end, days, fmt.Errorf("read the backlog of broadcasts: %w", err)
	}
	terms := current.Terms()
	days = quotaDays{left: max(0, terms.PerDay-used), ahead: waiting.Delayed + broadcasts, perDay: terms.PerDay}
	return terms.FinishTime(from, days.left, days.ahead+n), days, nil
}

// extendByQuota extends the forecast of a broadcast by the quota of a daily plan. Errors:
// CodeBroadcastTooLarge.
func (s *Service) extendByQuota(r *db.Reader, b *app.Broadcast, plan *pacing.Plan) error {
	now := clock.Now()
	from := base.Later(b.ScheduledAt, now)
	finish, days, err := s.quotaFinish(r, b.TeamID, b.ID, from, b.Audience)
	if err != nil || !finish.After(from) {
		return err
	}
	if finish.Sub(from) > pacing.MaxPlan {
		return app.Errorf(app.CodeBroadcastTooLarge, "The audience of %d contacts needs more than %d days of the daily quota of this team's plan", b.Audience, pacing.MaxPlan/(24*time.Hour))
	}
	if plan.Warning != nil && plan.FinishesAt.After(finish) {
		return nil
	}
	plan.FinishesAt, plan.Waves = base.Later(plan.FinishesAt, finish), days.waves(from, b.Audience)
	w := &pacing.PlanWarning{Code: pacing.WarningPaced, Days: int(math.Ceil(finish.Sub(now).Hours() / 24))}
	if !days.first() {
		w.Code = pacing.WarningQueuedBehind
	}
	w.Message = fmt.Sprintf("The daily quota of the plan lets the last of these emails leave on %s", finish.Format(time.DateOnly))
	plan.Warning = w
	return nil
}

// finishByQuota returns when a broadcast is finished, given its time without the quota of a daily
// plan.
func (s *Service) finishByQuota(ctx context.Context, b *app.Broadcast, at, now time.Time) (time.Time, error) {
	if !s.Settings.Cloud {
		return at, nil
	}
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		end, _, err := s.quotaFinish(r, b.TeamID, "", base.Later(b.ScheduledAt, now), 0)
		at = base.Later(at, end)
		return err
	})
	return at, err
}

// checkPeriodQuota returns nil if the period of a monthly plan has space for a broadcast. Errors:
// CodeMonthlyQuotaExceeded.
func (s *Service) checkPeriodQuota(r *db.Reader, now time.Time, b *app.Broadcast) error {
	if !s.Settings.Cloud {
		return nil
	}
	current, err := s.teams.PlanOf(r, b.TeamID)
	if err != nil || current.Daily() {
		return err
	}
	waiting, err := r.Backlog(b.TeamID)
	if err != nil {
		return fmt.Errorf("read the backlog: %w", err)
	}
	today, _, err := r.DayRecipients(b.TeamID, plan.UnixDay(now))
	if err != nil {
		return fmt.Errorf("read the usage of the team: %w", err)
	}
	return s.teams.CheckPeriodQuota(r, now, b.TeamID, &current, waiting, today, b.Audience, b.ID)
}
