package mail

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// LeaveOut settles those recipients of an email that are blocked and still wait,
// each with its line in the timeline.
func (s *Service) LeaveOut(tx *db.Tx, u app.Unit, recipients []string, blocked app.Blocked) error {
	for _, address := range recipients {
		reason := blocked.Reason(address)
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
		if err := s.announceLeftOut(tx, u, address, reason); err != nil {
			return err
		}
	}
	return nil
}

// announceLeftOut notes that a recipient was left out, with what led to that.
func (s *Service) announceLeftOut(tx *db.Tx, u app.Unit, address, text string) error {
	return s.announceWith(tx, u.TeamID, webhook.EmailSuppressed, u.EmailID, func() (webhook.EmailExtra, error) {
		data := &webhook.SuppressedData{Message: text, Type: webhook.AccountSuppressedType, Reason: webhook.Unsubscribed, Diagnostic: []string{}}
		extra := webhook.EmailExtra{Recipient: address, Suppressed: data}
		suppression, err := tx.SuppressionByAddress(u.TeamID, s.Sealer.AddressHash(u.TeamID, app.KeyOf(address)))
		if errors.Is(err, db.ErrNotFound) {
			return extra, nil // it opted out
		}
		if err != nil {
			return extra, fmt.Errorf("look up suppression: %w", err)
		}
		data.Reason = webhook.ReasonOf(suppression.Origin)
		data.Diagnostic, err = bounceDiagnostic(&tx.Reader, &suppression, address)
		return extra, err
	})
}

// bounceDiagnostic returns what the other server said of an address in the bounce that a
// suppression stands for, where that is known.
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

// ignoreLeftOut returns an email's head with the last event that it would have if
// nobody had been left out: one that waits for others can still be moved and
// canceled, though it shows as suppressed.
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
