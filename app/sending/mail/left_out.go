package mail

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// LeaveOut settles blocked recipients of an email that still wait, each with an event.
func (s *Service) LeaveOut(tx *db.Tx, u app.Unit, recipients []string, blocked app.Blocked) error {
	for _, address := range recipients {
		reason := blocked.Reason(address)
		if reason == "" {
			continue
		}
		err := tx.SettleRecipient(u, address, app.Suppressed)
		if errors.Is(err, db.ErrNotFound) {
			continue // settled already
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
		if err := s.announceLeftOut(tx, u, address, reason); err != nil {
			return err
		}
	}
	return nil
}

// announceLeftOut announces that a recipient was left out, with the bounce that caused it.
func (s *Service) announceLeftOut(tx *db.Tx, u app.Unit, address, text string) error {
	return s.announceWith(tx, u.TeamID, webhook.EmailSuppressed, u.EmailID, func() (webhook.EmailExtra, error) {
		data := &webhook.SuppressedData{Message: text, Type: webhook.AccountSuppressedType, Reason: webhook.Unsubscribed, Diagnostic: []string{}}
		extra := webhook.EmailExtra{Recipient: address, Suppressed: data}
		suppression, err := tx.SuppressionByAddress(u.TeamID, s.Sealer.AddressHash(u.TeamID, app.KeyOf(address)))
		if errors.Is(err, db.ErrNotFound) {
			return extra, nil // the recipient opted out
		}
		if err != nil {
			return extra, fmt.Errorf("look up suppression: %w", err)
		}
		data.Reason = webhook.ReasonOf(suppression.Origin)
		data.Diagnostic, err = bounceDiagnostic(&tx.Reader, &suppression, address)
		return extra, err
	})
}

// bounceDiagnostic returns the reply of the bounce that caused a suppression, if it is known.
func bounceDiagnostic(r *db.Reader, s *app.Suppression, address string) ([]string, error) {
	if s.Origin != app.OriginBounce || s.SourceID == "" {
		return []string{}, nil
	}
	events, err := r.Events(s.SourceID)
	if err != nil {
		return nil, fmt.Errorf("read the bounce of a suppression: %w", err)
	}
	for _, e := range events {
		if e.Type == app.EventType(app.Bounced) && app.KeyOf(e.Recipient) == app.KeyOf(address) {
			return webhook.Diagnostic(&e.Detail), nil
		}
	}
	return []string{}, nil
}

// ignoreLeftOut returns an email's row with the last event that it would have without left out
// recipients. Such an email shows as suppressed, but can be moved and canceled while it waits for
// other recipients.
func ignoreLeftOut(tx *db.Tx, email app.Email) (app.Email, error) {
	if email.LastEvent != app.Suppressed {
		return email, nil
	}
	waiting, err := tx.HasUnit(email.ID)
	switch {
	case !waiting:
	case email.ScheduledAt.IsZero():
		email.LastEvent = app.Queued
	default:
		email.LastEvent = app.Scheduled
	}
	return email, err
}
