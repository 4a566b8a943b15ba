package delivery

import (
	"context"
	"fmt"
	"time"

	"mailer/app/kit/clock"
	"mailer/app/rules/pacing"
	"mailer/app/rules/plan"
	"mailer/db"
)

// bulkDayQuota returns how many of n messages of a team's broadcasts may begin now. On a plan with
// a daily quota, other waiting mail goes first.
func (s *Service) bulkDayQuota(r *db.Reader, teamID string, now time.Time, n int) (int, error) {
	if !s.Settings.Cloud {
		return n, nil
	}
	current, err := s.teams.PlanOf(r, teamID)
	if err != nil || !current.Daily() {
		return n, err
	}
	used, _, err := r.DayRecipients(teamID, plan.UnixDay(now))
	if err != nil {
		return 0, fmt.Errorf("read the usage of the team: %w", err)
	}
	waiting, err := r.Backlog(teamID)
	if err != nil {
		return 0, fmt.Errorf("read the backlog: %w", err)
	}
	return int(min(int64(n), max(0, current.Terms().PerDay-used-waiting.Delayed))), nil
}

// limitToDay reduces queues to what daily quotas allow today. held reports whether that is less
// than all.
func (s *Service) limitToDay(ctx context.Context, queues []pacing.BulkQueue) (open []pacing.BulkQueue, held bool, err error) {
	if !s.Settings.Cloud || len(queues) == 0 {
		return queues, false, nil
	}
	taken, now := map[string]int64{}, clock.Now()
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		for _, q := range queues {
			want := min(q.Remaining, pacing.MaxBroadcastRecipients)
			capacity, err := s.bulkDayQuota(r, q.TeamID, now, int(want+taken[q.TeamID]))
			if err != nil {
				return err
			}
			q.Remaining = int64(capacity) - taken[q.TeamID]
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
