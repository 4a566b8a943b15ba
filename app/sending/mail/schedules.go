package mail

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/kit/schedule"
	"mailer/db"
)

// RescheduleEmail moves a scheduled email to another time; a time in the past sends it immediately.
// It applies until the email is marked as committed, also during a transaction, which is then
// dropped. Errors: CodeNotFound, CodeValidation for an invalid time or an email that is not
// scheduled.
func (s *Service) RescheduleEmail(ctx context.Context, key *app.Key, id, scheduledAt string) error {
	if scheduledAt == "" {
		return app.Invalid("scheduled_at", "is required")
	}
	at, err := schedule.Parse(scheduledAt, clock.Now())
	if err != nil {
		return app.Invalid("scheduled_at", "%s", err)
	}
	return base.Unavailable(s.DB.Write(ctx, func(tx *db.Tx) error {
		email, err := ownEmail(tx, key, id)
		if err != nil {
			return err
		}
		if email.LastEvent != app.Scheduled {
			return app.Errorf(app.CodeValidation, "This email is not scheduled (its last event is %s), so it can't be moved", email.LastEvent)
		}
		due := at
		if due.Before(tx.Now) {
			due = tx.Now
		}
		err = tx.MoveUnit(id, due)
		if errors.Is(err, db.ErrNotFound) {
			return app.Errorf(app.CodeValidation, "This email is leaving at this moment, so it can't be moved")
		}
		if err != nil {
			return fmt.Errorf("move unit: %w", err)
		}
		if err := tx.SetScheduledAt(id, at); err != nil {
			return err
		}
		tx.AfterCommit(func() { s.Delivery.Wake(email.Relay) })
		detail := app.EventDetail{Message: "Moved to " + app.FormatTime(at), Relay: email.Relay, NextAttemptAt: app.FormatTime(at)}
		return tx.InsertEvent(app.Event{ID: app.NewID(), TeamID: key.TeamID, EmailID: id, Type: app.EventRescheduled, Detail: detail, CreatedAt: tx.Now})
	}))
}

// CancelEmail cancels a scheduled or queued email, until it is marked as committed: nothing of it
// leaves after the answer. Errors: CodeNotFound, CodeValidation for an email that was sent, has
// ended or is past its final dot.
func (s *Service) CancelEmail(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		email, err := ownEmail(tx, key, id)
		if err != nil {
			return err
		}
		if email.LastEvent != app.Scheduled && email.LastEvent != app.Queued {
			return app.Errorf(app.CodeValidation, "This email can't be canceled any more: its last event is %s", email.LastEvent)
		}
		err = s.Withdraw(tx, app.Unit{EmailID: id, TeamID: key.TeamID, Relay: email.Relay}, "Canceled; nothing more of it leaves")
		if errors.Is(err, db.ErrNotFound) {
			return app.Errorf(app.CodeValidation, "This email can't be canceled any more: it is leaving at this moment")
		}
		return err
	})
	return base.Unavailable(err)
}

// Withdraw ends the work on a waiting unit: nothing more of it leaves, its waiting recipients are
// canceled, and its backlog is released. message is its event. Error: db.ErrNotFound, without any
// change, if the unit is past its final dot, or has ended.
func (s *Service) Withdraw(tx *db.Tx, u app.Unit, text string) error {
	owed, err := tx.EmailBacklog(u.EmailID)
	if err != nil {
		return fmt.Errorf("read the backlog of an email: %w", err)
	}
	if err := tx.WithdrawUnit(u); err != nil {
		return err
	}
	if err := s.teams.SubtractBacklog(tx, u.TeamID, owed); err != nil {
		return err
	}
	if err := cancelRecipients(tx, u); err != nil {
		return err
	}
	if err := tx.SettleDoubts(u.EmailID, "canceled"); err != nil {
		return err
	}
	if err := tx.InsertEvent(NewEvent(tx, u, app.EventType(app.Canceled), "", app.EventDetail{Message: text, Relay: app.QueueName(u.Relay)})); err != nil {
		return err
	}
	tx.AfterCommit(func() { s.recent.take(u.EmailID) })
	return SetLastEvent(tx, u, app.Canceled)
}

func cancelRecipients(tx *db.Tx, u app.Unit) error {
	if u.BroadcastID == "" {
		return tx.CancelRecipients(u.EmailID)
	}
	return base.IgnoreNotFound(tx.SettleRecipient(u, "", app.Canceled))
}

// DeleteEmail deletes an email with all its data. A waiting email never leaves. Errors:
// CodeNotFound, CodeConflict while it is past its final dot.
func (s *Service) DeleteEmail(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		if _, err := ownEmail(tx, key, id); err != nil {
			return err
		}
		committed, err := tx.IsCommitted(id)
		if err != nil {
			return err
		}
		if committed {
			return app.Errorf(app.CodeConflict, "This email is leaving at this moment; delete it when its outcome is known")
		}
		if err := s.teams.DropFromBacklog(tx, key.TeamID, id); err != nil {
			return err
		}
		return tx.DeleteEmail(key.TeamID, id)
	})
	if err == nil {
		s.recent.take(id)
	}
	return base.Unavailable(err)
}

// IfCurrent runs fn only if u is still the current attempt. The email of an attempt may have been
// canceled, deleted or moved before its final dot: then nothing was sent, and its rows may be
// deleted.
func IfCurrent(u app.Unit, fn func(*db.Tx) error) func(*db.Tx) error {
	return func(tx *db.Tx) error {
		if current, err := tx.IsAttempt(u); err != nil || !current {
			return err
		}
		return fn(tx)
	}
}

// ownEmail returns an email that the key may change: any of its team, or with sending access those
// that the key sent.
func ownEmail(tx *db.Tx, key *app.Key, id string) (app.Email, error) {
	email, err := tx.EmailHead(key.TeamID, id)
	if errors.Is(err, db.ErrNotFound) && key.Permission == app.FullAccess {
		err = refuseBroadcastEmail(tx, key.TeamID, id)
	}
	if err != nil {
		return email, base.Lookup("email", err)
	}
	if key.Permission != app.FullAccess && email.KeyID != key.ID {
		return email, app.NotFound("email")
	}
	return ignoreLeftOut(tx, email)
}
