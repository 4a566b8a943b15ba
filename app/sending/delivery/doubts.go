package delivery

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
	"mailer/db/engine"
)

// damagedDoubts returns the ids of committed emails of an earlier process whose stored data can't
// be read.
func (s *Service) damagedDoubts(ctx context.Context) (map[string]bool, error) {
	units, err := db.Get(ctx, s.DB, (*db.Reader).CommittedUnits)
	if err != nil {
		return nil, err
	}
	damaged := map[string]bool{}
	for _, u := range units {
		err := s.DB.Read(ctx, func(r *db.Reader) error {
			if _, err := r.OpenRecipients(u); err != nil {
				return err
			}
			_, err := r.CountDoubts(u.EmailID)
			return err
		})
		if errors.Is(err, db.ErrDamaged) {
			damaged[u.EmailID] = true
		} else if err != nil {
			return nil, err
		}
	}
	return damaged, nil
}

// recoverDoubts turns the committed units of processes that are gone into doubts and returns how
// many there were. Damaged ones are held.
func (s *Service) recoverDoubts(tx *db.Tx, stopped engine.DeadNodes, damaged map[string]bool) (int, error) {
	units, err := tx.CommittedUnits()
	if err != nil {
		return 0, err
	}
	units = slices.DeleteFunc(units, func(u app.Unit) bool { return !stopped.IsDead(u.Owner) })
	for _, u := range units {
		doubt := func() error {
			return s.doubt(tx, u, "The server stopped between the end of the message and the relay's reply")
		}
		if damaged[u.EmailID] {
			doubt = func() error { return s.hold(tx, u, app.HoldDamaged) }
		}
		if err := doubt(); err != nil {
			return 0, err
		}
	}
	return len(units), nil
}

// doubt records that the outcome of a unit's transaction is unknown and schedules it to be sent
// again, unless a provider event settles it first. If events have settled all recipients already,
// the unit is deleted. u is in the queue in which its recipients stay.
func (s *Service) doubt(tx *db.Tx, u app.Unit, why string) error {
	open, err := tx.TransactionRecipients(u)
	if err != nil {
		return err
	}
	if len(open) == 0 { // provider events settled all recipients
		if u.Part != "" {
			return s.endPart(tx, u, u.Attempts, time.Time{})
		}
		return tx.DeleteUnit(u)
	}
	earlier, err := tx.CountDoubts(u.EmailID)
	if err != nil {
		return err
	}
	next := tx.Now.Add(s.doubtDelay(earlier))
	tx.AfterCommit(s.Metrics.Doubt)
	if err := tx.InsertDoubt(app.Doubt{ID: app.NewID(), TeamID: u.TeamID, EmailID: u.EmailID, BroadcastID: u.BroadcastID, Recipients: open, Relay: relayOf(u), CreatedAt: tx.Now}); err != nil {
		return err
	}
	detail := app.EventDetail{Stage: app.StageDot, Relay: relayOf(u), Attempt: u.Attempts, NextAttemptAt: app.FormatTime(next),
		Message: why + ": the relay may have accepted it. Unless it reports so before, it is sent again with the same Message-ID at " + app.FormatTime(next)}
	if err := tx.InsertEvent(mail.NewEvent(tx, u, app.EventInDoubt, "", detail)); err != nil {
		return err
	}
	if u.Part == "" {
		return tx.RequeueUnit(u, u.Attempts, next)
	}
	if err := tx.MovePart(u, u.Relay); err != nil {
		return err
	}
	return s.endPart(tx, u, u.Attempts, next)
}

// relayOf returns the relay that a committed unit may have left through.
func relayOf(u app.Unit) string { return cmp.Or(app.QueueRelay(u.Relay), u.Relay) }

// maxDoubts is how many doubts ListDoubts returns at most.
const maxDoubts = 100_000

// ListDoubts returns the transactions of all teams whose outcome is or was unknown, oldest first.
// withDotted adds the committed units that a stopped server left, which become doubts when a server
// starts.
func (s *Service) ListDoubts(ctx context.Context, withCommitted bool) (doubts []app.Doubt, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		if doubts, err = r.ListDoubts("", maxDoubts); err != nil || !withCommitted {
			return err
		}
		units, err := r.CommittedUnits()
		if err != nil {
			return err
		}
		for _, u := range units {
			d, err := abandoned(r, u)
			if err != nil {
				return err
			}
			doubts = append(doubts, d)
		}
		return nil
	})
	return doubts, base.Unavailable(err)
}

// abandoned returns the doubt that a committed unit becomes when a server starts. Its time is that
// of the attempt.
func abandoned(r *db.Reader, u app.Unit) (app.Doubt, error) {
	d := app.Doubt{TeamID: u.TeamID, EmailID: u.EmailID, Relay: relayOf(u), CreatedAt: u.NextAt}
	if u.BroadcastID != "" {
		b, err := r.BroadcastHead(u.TeamID, u.BroadcastID)
		if err != nil {
			return d, err
		}
		d.BroadcastID, d.MessageID = b.ID, app.EmailMessageID(u.EmailID, b.From.Domain)
	} else {
		email, err := r.EmailHead(u.TeamID, u.EmailID)
		if err != nil {
			return d, err
		}
		d.MessageID = email.MessageID
	}
	var err error
	d.Recipients, err = r.TransactionRecipients(u)
	return d, err
}
