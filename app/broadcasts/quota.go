package broadcasts

import (
	"context"
	"fmt"
	"math"
	"time"

	"mailer/app"
	"mailer/app/pacing"
	"mailer/app/plan"
	"mailer/app/service"
	"mailer/db"
)

// dayEndOf is when a team's mail has left that waits or is of broadcasts, but one,
// and n more, none before from, on a daily plan; zero on any other. first tells
// whether some of the n leave on the first day.
func (s *Service) dayEndOf(r *db.Reader, teamID, but string, from time.Time, n int64) (end time.Time, first bool, err error) {
	if !s.Settings.Cloud {
		return end, false, nil
	}
	current, err := s.teams.PlanOf(r, teamID)
	if err != nil || !current.Daily() {
		return end, false, err
	}
	used, _, err := r.DayRecipients(teamID, plan.UnixDay(from)) // none has counted on a day to come
	if err != nil {
		return end, false, fmt.Errorf("read what the team used: %w", err)
	}
	waiting, err := r.Backlog(teamID)
	if err != nil {
		return end, false, fmt.Errorf("read the backlog: %w", err)
	}
	broadcasts, err := r.BroadcastBacklog(teamID, but)
	if err != nil {
		return end, false, fmt.Errorf("read what broadcasts will use: %w", err)
	}
	terms, ahead := current.Terms(), waiting.Late+broadcasts
	room := max(0, terms.PerDay-used)
	return terms.DayOf(from, room, ahead+n), room > ahead, nil
}

// stretch has what was foretold of a broadcast, which is about to be sent, obey the
// quota of a daily plan. Errors: CodeBroadcastTooLarge.
func (s *Service) stretch(r *db.Reader, b *app.Broadcast, plan *pacing.Plan) error {
	now := time.Now()
	from := service.Latest(b.ScheduledAt, now)
	end, first, err := s.dayEndOf(r, b.TeamID, b.ID, from, b.Audience)
	if err != nil || !end.After(from) {
		return err
	}
	if end.Sub(from) > pacing.MaxPlan {
		return app.Errorf(app.CodeBroadcastTooLarge, "The audience of %d contacts needs more than %d days of the daily quota of this team's plan", b.Audience, pacing.MaxPlan/(24*time.Hour))
	}
	if plan.Warning != nil && plan.FinishesAt.After(end) {
		return nil
	}
	plan.FinishesAt = service.Latest(plan.FinishesAt, end)
	w := &pacing.PlanWarning{Code: pacing.WarningPaced, Days: int(math.Ceil(end.Sub(now).Hours() / 24))}
	if !first {
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
		end, _, err := s.dayEndOf(r, b.TeamID, "", service.Latest(b.ScheduledAt, now), 0)
		at = service.Latest(at, end)
		return err
	})
	return at, err
}

// broadcastFits proves that the period of a monthly plan has a place for a
// broadcast. Errors: CodeMonthlyQuotaExceeded.
func (s *Service) broadcastFits(tx *db.Tx, b *app.Broadcast) error {
	if !s.Settings.Cloud {
		return nil
	}
	current, err := s.teams.PlanOf(&tx.Reader, b.TeamID)
	if err != nil || current.Daily() {
		return err
	}
	waiting, err := tx.Backlog(b.TeamID)
	if err != nil {
		return fmt.Errorf("read the backlog: %w", err)
	}
	today, _, err := tx.DayRecipients(b.TeamID, plan.UnixDay(tx.Now))
	if err != nil {
		return fmt.Errorf("read what the team used: %w", err)
	}
	return s.teams.PeriodFits(tx, b.TeamID, &current, waiting, today, b.Audience, b.ID)
}
