package mail

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Limits of the records of refused sends.
const (
	UnsentPerDay    = 1000                // per team and UTC day
	UnsentRetention = 30 * 24 * time.Hour // Purge deletes older ones
)

// Unsent implements the records of sends that were refused because all recipients are suppressed.
type Unsent struct{ service *Service }

// recordRefusal returns the error of a send that failed. If all recipients are suppressed, it
// stores a record of the send, and the error names it. The record counts in no quota and has no
// idempotency key. At most UnsentPerDay are stored.
func (n *Unsent) recordRefusal(ctx context.Context, email *app.Email, failed error) error {
	var refusal *app.Error
	if email == nil || !errors.As(failed, &refusal) || refusal.Code != app.CodeAllRecipientsSuppressed {
		return failed
	}
	recorded := false
	err := n.service.DB.Write(ctx, func(tx *db.Tx) (err error) {
		recorded, err = n.record(tx, email)
		return err
	})
	if err != nil {
		n.service.Log.Warn("keep a record of a refused send", "team", email.TeamID, "err", err)
	}
	if err != nil || !recorded {
		return failed
	}
	return &app.Error{Code: refusal.Code, Message: unsentMessage(refusal.Message, email.ID), Err: refusal.Err, Record: email.ID}
}

// unsentMessage adds the id of the record to the message of a refusal.
func unsentMessage(message, id string) string { return message + ": see the email " + id }

// record writes the record of a refused send, unless the limit of the day is reached, or its
// recipients are no longer suppressed.
func (n *Unsent) record(tx *db.Tx, email *app.Email) (recorded bool, err error) {
	today, err := tx.CountUnsent(email.TeamID, tx.Now.Truncate(24*time.Hour))
	if err != nil || today >= UnsentPerDay {
		return false, err
	}
	recipients := envelopeOf(email)
	blocked, err := n.service.audience.BlockedRecipients(&tx.Reader, email.TeamID, email.TopicID, recipients)
	if err != nil || len(blocked) == 0 {
		return false, err
	}
	record := *email
	record.LastEvent, record.ScheduledAt = app.Suppressed, time.Time{}
	if err := tx.InsertUnsent(&record, recipients); err != nil {
		return false, err
	}
	for _, address := range recipients {
		reason := blocked.Reason(address)
		if reason == "" {
			reason = "Not sent, since all recipients in to are suppressed"
		}
		// A unit without a domain: the event is not counted in statistics.
		line := NewEvent(tx, app.Unit{EmailID: email.ID, TeamID: email.TeamID}, app.EventType(app.Suppressed), address, app.EventDetail{Message: reason})
		if err := tx.InsertEvent(line); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Purge deletes old records of refused sends.
func (n *Unsent) Purge(ctx context.Context, teams []string) error {
	for _, team := range teams {
		err := n.service.InChunks(ctx, "old records of refused sends", func(tx *db.Tx) (bool, error) {
			return tx.PurgeUnsent(team, tx.Now.Add(-UnsentRetention), base.PurgeChunk)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
