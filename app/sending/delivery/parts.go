package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

// endPart moves the unit of an email with recipients in several queues on, after a transaction for
// those of one queue: to the next queue with waiting recipients, due now, and from the last one to
// the first, where it is due again at next, or after the usual delay for the zero time. It deletes
// the unit if no recipient waits. Recipients in doubt wait for reports of their relay first. Error:
// db.ErrNotFound if the unit was withdrawn.
func (s *Service) endPart(tx *db.Tx, u app.Unit, attempts int, next time.Time) error {
	for part := u.Part; ; {
		later, err := tx.NextPart(u.EmailID, part)
		if errors.Is(err, db.ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
		until, err := s.doubtUntil(tx, u.EmailID, later)
		if err != nil {
			return err
		}
		if !until.After(tx.Now) {
			return s.goToPart(tx, u, later, u.Attempts-1, tx.Now) // the same attempt, for other recipients
		}
		part = later
	}
	first, err := tx.NextPart(u.EmailID, "")
	if errors.Is(err, db.ErrNotFound) {
		return tx.DeleteUnit(u)
	}
	if err != nil {
		return err
	}
	if again := tx.Now.Add(app.RetryDelay(attempts, s.Jitter())); next.IsZero() || first != u.Part && next.Before(again) {
		next = again
	}
	until, err := s.doubtUntil(tx, u.EmailID, first)
	if err != nil {
		return err
	}
	if next.Before(until) {
		next = until
	}
	return s.goToPart(tx, u, first, attempts, next)
}

// goToPart makes a unit wait in another queue, for its recipients there.
func (s *Service) goToPart(tx *db.Tx, u app.Unit, part string, attempts int, next time.Time) error {
	tx.AfterCommit(func() { s.WakeMail(part) })
	return tx.RequeuePart(u, part, attempts, next)
}

// doubtUntil returns until when the recipients of an email in a queue wait for reports of their
// relay, since it may have accepted the email; zero: they don't.
func (s *Service) doubtUntil(tx *db.Tx, emailID, queue string) (time.Time, error) {
	last, err := tx.LastDoubt(emailID, relayOf(app.Unit{Relay: queue}))
	if err != nil {
		return time.Time{}, base.IgnoreNotFound(err)
	}
	n, err := tx.CountDoubts(emailID)
	return last.Add(s.doubtDelay(n - 1)), err
}

// doubtDelay is how long an email with a number of earlier doubts waits for reports. A relay that
// loses every reply must not get the same message each minute.
func (s *Service) doubtDelay(earlier int) time.Duration {
	return s.tuning.Load().DoubtDelay << max(0, min(earlier, 10))
}

// Limits of PassStuckParts.
const (
	stuckAfter   = time.Minute
	stuckPerRead = 1000
)

// PassStuckParts moves units on that wait in a queue whose relay sends nothing, while other
// recipients of their emails wait in other queues.
func (s *Service) PassStuckParts(ctx context.Context) error {
	queues, err := db.Get(ctx, s.DB, (*db.Reader).UnitRelays)
	if err != nil {
		return fmt.Errorf("list queues: %w", err)
	}
	for _, queue := range queues {
		if queue == app.QueueRegion(queue) && s.Settings.RoutingRules(queue) == nil {
			continue // no email is split
		}
		units, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Unit, error) {
			return r.StuckParts(queue, clock.Now().Add(-stuckAfter), stuckPerRead)
		})
		if err != nil || len(units) == 0 {
			if err != nil {
				return fmt.Errorf("find emails that wait in one of their queues: %w", err)
			}
			continue
		}
		err = s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
			for _, u := range units {
				if err := s.passStuck(tx, u); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("move emails to another one of their queues: %w", err)
		}
	}
	return nil
}

// passStuck moves a unit to its next part, unless it has not waited for the time between two tries.
func (s *Service) passStuck(tx *db.Tx, u app.Unit) error {
	if tx.Now.Before(u.NextAt.Add(app.RetryDelay(u.Attempts+1, 0))) {
		return nil
	}
	if due, err := tx.IsDue(u); err != nil || !due {
		return err
	}
	for _, after := range []string{u.Part, ""} {
		part, err := tx.NextPart(u.EmailID, after)
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil || part == u.Part {
			continue
		}
		until, err := s.doubtUntil(tx, u.EmailID, part)
		if err != nil {
			return err
		}
		if !until.After(tx.Now) {
			return base.IgnoreNotFound(s.goToPart(tx, u, part, u.Attempts, tx.Now))
		}
	}
	return nil
}
