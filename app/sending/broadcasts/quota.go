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
type quotaDays struct{ room, ahead, perDay int64 }

// first reports whether some of those that come now leave on the first day.
func (d quotaDays) first() bool { return d.room > d.ahead }

// waves are n emails by the days on which they leave, from a time on.
func (d quotaDays) waves(from time.Time, n int64) (out []pacing.Wave) {
	at, room, ahead := from, d.room, d.ahead
	for day := 1; n > 0 && d.perDay > 0; day++ {
		passed := min(ahead, room)
		if count := min(n, room-passed); count > 0 {
			out = append(out, pacing.Wave{At: at, Count: count})
			n -= count
		}
		ahead -= passed
		at, room = plan.DayStart(from).Add(time.Duration(day)*24*time.Hour), d.perDay
	}
	return out
}

// dayEndOf is when a team's mail has left that waits or is of broadcasts, but one,
// and n more, none before from, on a daily plan; zero on any other. days are
// those of the plan.
func (s *Service) dayEndOf(r *db.Reader, teamID, but string, from time.Time, n int64) (end time.Time, days quotaDays, err error) {
	if !s.Settings.Cloud {
		return end, days, nil
	}
	current, err := s.teams.PlanOf(r, teamID)
	if err != nil || !current.Daily() {
		return end, days, err
	}
	used, _, err := r.DayRecipients(teamID, plan.UnixDay(from)) // none has counted on a day to come
	if err != nil {
		return end, days, fmt.Errorf("read what the team used: %w", err)
	}
	waiting, err := r.Backlog(teamID)
	if err != nil {
		return end, days, fmt.Errorf("read the backlog: %w", err)
	}
	broadcasts, err := r.BroadcastBacklog(teamID, but)
	if err != nil {
		return end, days, fmt.Errorf("read what broadcasts will use: %w", err)
	}
	terms := current.Terms()
	days = quotaDays{room: max(0, terms.PerDay-used), ahead: waiting.Late + broadcasts, perDay: terms.PerDay}
	return terms.DayOf(from, days.room, days.ahead+n), days, nil
}

// stretch has what was foretold of a broadcast, which is about to be sent, obey the
// quota of a daily plan. Errors: CodeBroadcastTooLarge.
func (s *Service) stretch(r *db.Reader, b *app.Broadcast, plan *pacing.Plan) error {
	now := clock.Now()
	from := base.Latest(b.ScheduledAt, now)
	end, days, err := s.dayEndOf(r, b.TeamID, b.ID, from, b.Audience)
	if err != nil || !end.After(from) {
		return err
	}
	if end.Sub(from) > pacing.MaxPlan {
		return app.Errorf(app.CodeBroadcastTooLarge, "The audience of %d contacts needs more than %d days of the daily quota of this team's plan", b.Audience, pacing.MaxPlan/(24*time.Hour))
	}
	if plan.Warning != nil && plan.FinishesAt.After(end) {
		return nil
	}
	plan.FinishesAt, plan.Waves = base.Latest(plan.FinishesAt, end), days.waves(from, b.Audience)
	w := &pacing.PlanWarning{Code: pacing.WarningPaced, Days: int(math.Ceil(end.Sub(now).Hours() / 24))}
	if !days.first() {
		w.Code = pacing.WarningQueuedBehind
	}
	w.Message = fmt.Sprintf("The daily quota of the plan lets the last of these emails leave on %s", end.Format(time.DateOnly))
	plan.Warning = w
	return nil
}

// stretched is when a broadcast is through that would be at a time but for the
// quota of a daily plan.
func (s *Service) stretched(ctx context.Context, b *app.Broadcast, at, now time.Time) (time.Time, error) {
	if !s.Settings.Cloud {
		return at, nil
	}
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		end, _, err := s.dayEndOf(r, b.TeamID, "", base.Latest(b.ScheduledAt, now), 0)
		at = base.Latest(at, end)
		return err
	})
	return at, err
}

// broadcastFits proves that the period of a monthly plan has a place for a
// broadcast. Errors: CodeMonthlyQuotaExceeded.
func (s *Service) broadcastFits(r *db.Reader, now time.Time, b *app.Broadcast) error {
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
		return fmt.Errorf("read what the team used: %w", err)
	}
	return s.teams.PeriodFits(r, now, b.TeamID, &current, waiting, today, b.Audience, b.ID)
}
