package mail

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Bounds of the records of refused sends.
const (
	UnsentPerDay    = 1000                // for each team and UTC day
	UnsentRetention = 30 * 24 * time.Hour // then Purge deletes them
)

// Unsent keeps records of sends that were refused, since all of their recipients are
// suppressed.
type Unsent struct{ service *Service }

// recordRefusal is the end of a send that failed. Where all recipients are suppressed, a record
// is kept for people to open, and the error names it. The record is in no quota and under
// no idempotency key; beyond UnsentPerDay there is none.
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

// unsentMessage add the id of the record to the message of a refusal.
func unsentMessage(message, id string) string { return message + ": see the email " + id }

// record writes the record of a refused send, unless there are enough of this day, or
// its recipients are no longer suppressed.
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
		// A unit without a domain: the event is in no figures.
		line := NewEvent(tx, app.Unit{EmailID: email.ID, TeamID: email.TeamID}, app.EventType(app.Suppressed), address, app.EventDetail{Message: reason})
		if err := tx.InsertEvent(line); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Purge deletes records of refused sends that are too old.
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
