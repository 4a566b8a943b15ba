package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/erase"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/db"
)

const (
	// eraseWait is how long a caller waits for the end of an erasure at most.
	eraseWait = 10 * time.Second
	// leavingPause is between two looks at mail that was leaving when its
	// addresses were erased.
	leavingPause = 200 * time.Millisecond
	// doneCheckInterval is between two looks whether an erasure is done.
	doneCheckInterval = 10 * time.Millisecond
)

// eraser has one worker at a time: two could write one email from two readings.
// It is the background's, and a caller's where there is none.
type eraser struct {
	mu       chan struct{} // holds a token while somebody erases
	wake     base.Signal
	started  atomic.Bool
	follower atomic.Bool // another server erases
	waiting  []*erasure  // for mail that is leaving, or for readers; whoever has the turn owns it
}

func newEraser() *eraser {
	return &eraser{mu: make(chan struct{}, 1), wake: base.NewSignal()}
}

// FinishErasure carries out an erasure that was begun, as audience.Service.EraseContacts promises.
func (s *Service) FinishErasure(ctx context.Context, teamID string, job audience.Erasure) error {
	ctx, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	// The answer promises that nothing leaves: that much a caller who went away
	// gets as well.
	if err := s.withdrawErased(context.WithoutCancel(ctx), teamID, job); err != nil {
		s.eraser.wake.Notify()
		return base.Unavailable(err)
	}
	if !s.eraser.started.Load() && !s.eraser.follower.Load() { // a command beside a server
		if err := s.runErasures(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("erase; a server tries again", "err", err)
		}
		return nil
	}
	s.eraser.wake.Notify() // or the server that works hears of it
	s.awaitErasure(ctx, teamID, job.ID)
	return nil
}

// awaitErasure waits until the background is done with an erasure, or ctx ends.
func (s *Service) awaitErasure(ctx context.Context, teamID, id string) {
	for open := true; open && base.Sleep(ctx, doneCheckInterval, nil) && s.Claiming.Err() == nil; {
		var err error
		open, err = db.Get(ctx, s.DB, func(r *db.Reader) (bool, error) { return r.HasErasure(teamID, id) })
		if err != nil {
			return // the answer does not depend on it
		}
	}
}

// withdrawErased keeps what waits for the erased addresses from leaving. What is
// leaving at this moment is looked at again by erase.
func (s *Service) withdrawErased(ctx context.Context, teamID string, job audience.Erasure) error {
	set := erase.NewSet(job.Addresses)
	var ids []string
	err := s.DB.Read(ctx, func(r *db.Reader) error {
		relays, err := r.UnitRelays()
		ids = nil
		for _, relay := range relays {
			waiting, err := r.WaitingFor(relay, teamID, job.Until, set)
			if err != nil {
				return err
			}
			ids = append(ids, waiting...)
		}
		return err
	})
	for len(ids) > 0 && err == nil {
		n := min(len(ids), eraseChunk)
		err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
			for _, id := range ids[:n] {
				if _, err := s.withdrawFrom(tx, teamID, id, set); err != nil {
					return err
				}
			}
			return nil
		})
		ids = ids[n:]
	}
	if err != nil {
		return fmt.Errorf("withdraw mail to erased addresses: %w", err)
	}
	return s.withdrawBroadcasts(ctx, teamID, job)
}

// withdrawFrom settles those recipients of an email that are in the set and
// still wait, and invalidates an attempt under way. It changes nothing, and
// answers leaving, while the final dot may be on its way.
func (s *Service) withdrawFrom(tx *db.Tx, teamID, emailID string, set *erase.Set) (leaving bool, err error) {
	unit, leaving, err := tx.OpenUnit(teamID, emailID)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil || leaving {
		return leaving, err
	}
	tx.AfterCommit(func() { s.mail.TakeRecent(emailID) })
	if err := tx.OutdateUnit(emailID); err != nil {
		return false, err
	}
	open, err := tx.OpenRecipients(app.Unit{EmailID: emailID})
	if err != nil {
		return false, err
	}
	gone := 0
	for _, address := range open {
		if !set.Has(address) {
			continue
		}
		gone++
		if err := tx.SettleRecipient(app.Unit{EmailID: emailID}, address, app.Suppressed); err != nil {
			return false, err
		}
		detail := app.EventDetail{Message: "Not sent: the recipient was erased"}
		if err := tx.InsertEvent(mail.NewEvent(tx, unit, app.EventType(app.Suppressed), app.Erased, detail)); err != nil {
			return false, err
		}
		if err := tx.SetLastEvent(emailID, app.Suppressed); err != nil {
			return false, err
		}
	}
	if gone < len(open) {
		return false, nil
	}
	if err := tx.DeleteUnit(app.Unit{EmailID: emailID}); err != nil {
		return false, err
	}
	return false, tx.SettleDoubts(emailID, "not sent again: its recipients were erased")
}

// cancelUnaddressed withdraws an email whose sender was erased: nothing leaves in
// that name.
func (s *Service) cancelUnaddressed(tx *db.Tx, teamID, emailID string) error {
	unit, leaving, err := tx.OpenUnit(teamID, emailID)
	if errors.Is(err, db.ErrNotFound) || leaving {
		return nil
	}
	if err != nil {
		return err
	}
	return s.mail.Withdraw(tx, unit, "Canceled; its sender was erased")
}

// StartEraser erases in the background what an earlier process left and what
// callers did not wait for. Nothing may leave before its first step.
func (s *Service) StartEraser(ctx context.Context) error {
	teams, err := s.audience.OpenErasures(ctx)
	if err != nil {
		return err
	}
	for _, t := range teams {
		for _, job := range t.Jobs {
			if err := s.withdrawErased(ctx, t.ID, job); err != nil {
				return err
			}
		}
	}
	if len(teams) > 0 {
		s.eraser.wake.Notify()
	}
	s.eraser.started.Store(true)
	s.Workers.Go(func() {
		for {
			select {
			case <-s.Claiming.Done():
				return
			case <-s.eraser.wake:
			}
			if err := s.runErasures(s.Claiming); err != nil && s.Claiming.Err() == nil {
				s.Log.Error("erase; the next sweep tries again", "err", err)
			}
		}
	})
	return nil
}

// runErasures repeats erase until nothing is left or ctx ends.
func (s *Service) runErasures(ctx context.Context) error {
	for {
		later, err := s.erase(ctx)
		if err != nil || !later {
			return err
		}
		if !base.Sleep(ctx, leavingPause, s.eraser.wake) {
			return ctx.Err()
		}
	}
}

// sweepErasures wakes the eraser where work is left.
func (s *Service) sweepErasures(ctx context.Context) error {
	return s.DB.Read(ctx, func(r *db.Reader) error {
		open, err := r.Erasures(1)
		if len(open) > 0 {
			s.eraser.wake.Notify()
		}
		return err
	})
}
