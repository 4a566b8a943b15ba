package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/mail"
	"mailer/app/pacing"
	"mailer/app/plan"
	"mailer/app/service"
	"mailer/db"
)

// beginUnit stores that a unit's attempt begins, and counts the recipients of one
// that waited for its time. It answers false for a unit that was withdrawn, or of
// which another attempt ended, since it was read, and for one that the day has no
// place for: that one waits for the next.
func (s *Service) beginUnit(tx *db.Tx, u app.Unit) (begun bool, err error) {
	if u.Owed > 0 && s.Settings.Cloud {
		if late, err := s.staysLate(tx, u); err != nil || late {
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
	if err := s.teams.Forgive(tx, u.TeamID, u.EmailID); err != nil {
		return false, err
	}
	if err := tx.ClearOwed(u.EmailID); err != nil {
		return false, fmt.Errorf("settle what is owed: %w", err)
	}
	return true, s.teams.Count(tx, u.TeamID, u.Owed)
}

// staysLate puts a unit off to the next day where this one has no place for it.
func (s *Service) staysLate(tx *db.Tx, u app.Unit) (bool, error) {
	current, err := s.teams.PlanOf(&tx.Reader, u.TeamID)
	if err != nil || !current.Daily() {
		return false, err
	}
	used, _, err := tx.DayRecipients(u.TeamID, plan.UnixDay(tx.Now))
	if err != nil {
		return false, fmt.Errorf("read what the team used: %w", err)
	}
	terms := current.Terms()
	if terms.DayFits(used, u.Owed) {
		return false, nil
	}
	if err := tx.DeferUnit(u, plan.DayEnd(tx.Now)); err != nil {
		return true, service.IgnoreGone(err)
	}
	if err := tx.InsertEvent(mail.QuotaWait(tx, u)); err != nil || u.Late {
		return true, err
	}
	if err := tx.AddBacklog(u.TeamID, plan.Backlog{Late: u.Owed, Scheduled: -u.Owed}); err != nil {
		return true, fmt.Errorf("add to the backlog: %w", err)
	}
	return true, s.teams.TellDayUsed(tx, u.TeamID, &current)
}

// bulkRoomOfDay is how many of n messages of a team's broadcasts may begin now: on
// a daily plan those that the day has a place for behind all other mail that waits.
func (s *Service) bulkRoomOfDay(r *db.Reader, teamID string, now time.Time, n int) (int, error) {
	if !s.Settings.Cloud {
		return n, nil
	}
	current, err := s.teams.PlanOf(r, teamID)
	if err != nil || !current.Daily() {
		return n, err
	}
	used, _, err := r.DayRecipients(teamID, plan.UnixDay(now))
	if err != nil {
		return 0, fmt.Errorf("read what the team used: %w", err)
	}
	waiting, err := r.Backlog(teamID)
	if err != nil {
		return 0, fmt.Errorf("read the backlog: %w", err)
	}
	return int(min(int64(n), max(0, current.Terms().PerDay-used-waiting.Late))), nil
}

// withinDay leaves of queues what daily plans let begin today, and tells whether
// that is less than all.
func (s *Service) withinDay(ctx context.Context, queues []pacing.BulkQueue) (open []pacing.BulkQueue, held bool, err error) {
	if !s.Settings.Cloud || len(queues) == 0 {
		return queues, false, nil
	}
	taken, now := map[string]int64{}, time.Now()
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		for _, q := range queues {
			want := min(q.Remaining, pacing.MaxBroadcastRecipients)
			room, err := s.bulkRoomOfDay(r, q.TeamID, now, int(want+taken[q.TeamID]))
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
