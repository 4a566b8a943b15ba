package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/db"
)

// Usage says what the key's team used, and of what.
func (e *Engine) Usage(ctx context.Context, key *app.Key) (app.Usage, error) {
	u := app.Usage{Team: app.Team{ID: key.TeamID}, AppURL: e.server.BaseURL}
	err := e.db.Read(ctx, func(r *db.Reader) (err error) {
		now := time.Now()
		u.ResetsAt = app.DayEnd(now)
		if u.Team.Name, err = r.TeamName(key.TeamID); err != nil {
			return fmt.Errorf("read team: %w", err)
		}
		if u.Today, _, err = r.DayRecipients(key.TeamID, app.UnixDay(now)); err != nil {
			return fmt.Errorf("read what the team used: %w", err)
		}
		return nil
	})
	return u, lookup("team", err)
}

// charge is when an email of n recipients leaves and how they count: now, or, where
// the email waits, when it leaves.
type charge struct {
	at   time.Time
	owed int64
	late bool
}

// charge counts the recipients of an email that is about to be accepted. It is the
// last of the checks: an *app.Error comes before anything is written.
func (e *Engine) charge(tx *db.Tx, email *app.Email, n int64) (charge, error) {
	c := charge{at: dueAt(email)}
	if email.LastEvent == app.Scheduled {
		c.owed = n
		return c, nil
	}
	return c, e.count(tx, email.TeamID, n)
}

// count adds recipients to those of the day.
func (e *Engine) count(tx *db.Tx, teamID string, n int64) error {
	if n == 0 {
		return nil
	}
	if _, _, err := tx.CountRecipients(teamID, app.UnixDay(tx.Now), n); err != nil {
		return fmt.Errorf("count recipients: %w", err)
	}
	return nil
}

// beginUnit stores that a unit's attempt begins, and counts the recipients of one
// that waited for its time. It answers false for a unit that was withdrawn, or of
// which another attempt ended, since it was read.
func (e *Engine) beginUnit(tx *db.Tx, u app.Unit) (begun bool, err error) {
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
	if err := tx.ClearOwed(u.EmailID); err != nil {
		return false, fmt.Errorf("settle what is owed: %w", err)
	}
	return true, e.count(tx, u.TeamID, u.Owed)
}
