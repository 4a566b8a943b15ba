package mail

import (
	"errors"

	"mailer/app"
	"mailer/app/webhook"
	"mailer/db"
)

// LeaveOut settles those recipients of an email that are blocked and still wait,
// each with its line in the timeline.
func (s *Service) LeaveOut(tx *db.Tx, u app.Unit, recipients []string, blocked app.Blocked) error {
	for _, address := range recipients {
		reason := blocked.Of(address)
		if reason == "" {
			continue
		}
		err := tx.SettleRecipient(u, address, app.Suppressed)
		if errors.Is(err, db.ErrNotFound) {
			continue // it is settled already
		}
		if err != nil {
			return err
		}
		detail := app.EventDetail{Message: reason}
		if err := tx.InsertEvent(NewEvent(tx, u, app.EventType(app.Suppressed), address, detail)); err != nil {
			return err
		}
		if err := SetLastEvent(tx, u, app.Suppressed); err != nil {
			return err
		}
		extra := webhook.EmailExtra{Recipient: address, Suppressed: &webhook.SuppressedData{Message: reason, Type: webhook.AccountSuppressedType}}
		if err := s.AnnounceEmail(tx, u.TeamID, webhook.EmailSuppressed, u.EmailID, extra); err != nil {
			return err
		}
	}
	return nil
}

// withoutLeftOut returns an email's head with the last event that it would have if
// nobody had been left out: one that waits for others can still be moved and
// canceled, though it shows as suppressed.
func withoutLeftOut(tx *db.Tx, email app.Email) (app.Email, error) {
	if email.LastEvent != app.Suppressed {
		return email, nil
	}
	waits, err := tx.HasUnit(email.ID)
	switch {
	case !waits:
	case email.ScheduledAt.IsZero():
		email.LastEvent = app.Queued
	default:
		email.LastEvent = app.Scheduled
	}
	return email, err
}
