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
	// eraseWait is how long a caller waits for the end of an erasure.
	eraseWait = 10 * time.Second
	// leavingPause is the interval of checks of mail that was in flight when its addresses were
	// erased.
	leavingPause = 200 * time.Millisecond
	// doneCheckInterval is the interval of checks whether an erasure is done.
	doneCheckInterval = 10 * time.Millisecond
)

// eraser runs erasures one at a time: two could write one email based on two reads. The worker is
// a background goroutine, or a caller if there is none.
type eraser struct {
	mu       chan struct{} // holds a token while erasures run
	wake     base.Signal
	started  atomic.Bool
	follower atomic.Bool // another server runs erasures
	waiting  []*erasure  // erasures waiting for mail in flight; owned by the holder of mu
}

func newEraser() *eraser {
	return &eraser{mu: make(chan struct{}, 1), wake: base.NewSignal()}
}

// FinishErasure runs an erasure that was stored, as audience.Service.EraseContacts promises.
func (s *Service) FinishErasure(ctx context.Context, teamID string, job audience.Erasure) error {
	ctx, cancel := context.WithTimeout(ctx, eraseWait)
	defer cancel()
	// The answer promises that no waiting mail is sent, also if the caller has gone.
	if err := s.withdrawErased(context.WithoutCancel(ctx), teamID, job); err != nil {
		s.eraser.wake.Notify()
		return base.Unavailable(err)
	}
	if !s.eraser.started.Load() && !s.eraser.follower.Load() { // a command
		if err := s.runErasures(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("erase; a server tries again", "err", err)
		}
		return nil
	}
	s.eraser.wake.Notify() // or the leading server notices it
	s.awaitErasure(ctx, teamID, job.ID)
	return nil
}

// awaitErasure waits until the background is done with an erasure or ctx is done.
func (s *Service) awaitErasure(ctx context.Context, teamID, id string) {
	for open := true; open && base.Sleep(ctx, doneCheckInterval, nil) && s.Claiming.Err() == nil; {
		var err error
		open, err = db.Get(ctx, s.DB, func(r *db.Reader) (bool, error) { return r.HasErasure(teamID, id) })
		if err != nil {
			return // the answer does not depend on it
		}
	}
}

// withdrawErased withdraws waiting mail to erased addresses. Mail in flight is handled by erase.
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
		n := min(len(ids), rowsPerErase)
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

// withdrawFrom settles the waiting recipients of an email that are in the set, and invalidates a
// running attempt. If the final dot may have been sent, it changes nothing and returns leaving.
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
	withdrawn := 0
	for _, address := range open {
		if !set.Has(address) {
			continue
		}
		withdrawn++
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
	if withdrawn < len(open) {
		return false, nil
	}
	if err := tx.DeleteUnit(app.Unit{EmailID: emailID}); err != nil {
		return false, err
	}
	return false, tx.SettleDoubts(emailID, "not sent again: its recipients were erased")
}

// cancelUnaddressed withdraws an email whose sender was erased, since its From must not be used
// any more.
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

// StartEraser runs open erasures in the background, including those of an earlier process. No mail
// may be sent before its first step.
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

// runErasures calls erase until no erasure is open or ctx is done.
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

// sweepErasures wakes the eraser if erasures are open.
func (s *Service) sweepErasures(ctx context.Context) error {
	return s.DB.Read(ctx, func(r *db.Reader) error {
		open, err := r.Erasures(1)
		if len(open) > 0 {
			s.eraser.wake.Notify()
		}
		return err
	})
}
