package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"mailer/app"
)

// InsertFeedback records a report by the hash of its id. Error: ErrNotFound if it was
// recorded before.
func (tx *Tx) InsertFeedback(source string, id []byte) error {
	return tx.WriteOne(`INSERT INTO feedback (source, id, created_at) VALUES (?, ?, ?) ON CONFLICT (source, id) DO NOTHING`, source, id, milli(tx.Now))
}

// PurgeFeedback deletes at most limit reports before a time and reports whether there may
// be more.
func (tx *Tx) PurgeFeedback(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM feedback WHERE (source, id) IN
		(SELECT source, id FROM feedback WHERE created_at <= ? LIMIT ?)`, milli(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge feedback: %w", err)
	}
	return n == int64(limit), nil
}

// PurgeProviderIDs deletes the provider ids of at most limit emails before a time, and
// reports whether there may be more.
func (tx *Tx) PurgeProviderIDs(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM provider_ids WHERE id IN (SELECT id FROM provider_ids WHERE email_id < ? LIMIT ?)`, app.FirstID(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge provider ids: %w", err)
	}
	return n == int64(limit), nil
}

// InsertProviderID stores the id that a provider gave to an email or broadcast email.
func (tx *Tx) InsertProviderID(id, emailID string) error {
	err := tx.Write(`INSERT INTO provider_ids (id, email_id) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`, id, emailID)
	return err
}

// EmailOfProvider returns the email with a provider's id. Error: ErrNotFound.
func (r *Reader) EmailOfProvider(id string) (emailID string, err error) {
	err = r.Row(`SELECT email_id FROM provider_ids WHERE id = ?`, []any{id}, &emailID)
	return emailID, err
}

// Subject is the email or broadcast email that feedback is about, with its outcome so far.
// The email id was signed by this server, so it may belong to any team.
type Subject struct {
	TeamID      string
	EmailID     string
	BroadcastID string // empty: not of a broadcast
	MessageID   string // without angle brackets
	Domain      string // of the sender
	Relay       string
	AcceptedAt  time.Time
	Recipients  []Recipient // in envelope order
	Hidden      bool        // it confirms an opt-in: nothing about it is counted or shown to the team
	ForwardID   string      // it forwards a received email to this destination; empty: another email
}

// Recipient is a recipient of an envelope with its state.
type Recipient struct {
	N       int
	Address string
	State   app.LastEvent
}

// Subject returns the email that feedback is about. Error: ErrNotFound.
func (r *Reader) Subject(emailID string) (*Subject, error) {
	s := Subject{EmailID: emailID}
	var accepted int64
	var sender sql.NullString
	err := r.Row(`SELECT team_id, message_id, relay, created_at, sender, for_opt_in IS NOT NULL, coalesce(forward_id, '') FROM emails WHERE id = ?`, []any{emailID}, &s.TeamID, &s.MessageID, &s.Relay, &accepted, &sender, &s.Hidden, &s.ForwardID)
	if errors.Is(err, ErrNotFound) {
		return r.broadcastSubject(emailID)
	}
	if err != nil {
		return nil, err
	}
	if s.Domain, err = senderDomain(emailID, s.MessageID, sender); err != nil {
		return nil, err
	}
	s.AcceptedAt = fromMilli(accepted)
	s.Recipients, err = r.Recipients(emailID)
	return &s, err
}

// senderDomain returns the domain of an email's sender. If the sender was erased, it uses
// a Message-ID of this server.
func senderDomain(emailID, messageID string, sender sql.NullString) (string, error) {
	if id, domain := app.CutEmailMessageID(messageID); id == emailID {
		return domain, nil
	}
	var from []app.Address
	if err := fromJSON(sender, &from); err != nil || len(from) != 1 {
		return "", err
	}
	return from[0].Domain, nil
}

// Recipients returns the envelope of an email with the state of each recipient.
func (r *Reader) Recipients(emailID string) ([]Recipient, error) {
	return list(r, func(row scanner) (Recipient, error) {
		var v Recipient
		err := row.Scan(&v.N, &v.Address, &v.State)
		return v, err
	}, `SELECT n, address, state FROM recipients WHERE email_id = ? ORDER BY n`, emailID)
}

// broadcastSubject is Subject for a broadcast email.
func (r *Reader) broadcastSubject(emailID string) (*Subject, error) {
	s := Subject{EmailID: emailID}
	var sender sql.NullString
	var created int64
	var queued sql.NullInt64
	err := r.Row(`SELECT id, team_id, coalesce(relay, ''), sender, created_at, queued_at FROM broadcasts WHERE mails = ?`, []any{app.EmailIDPrefixOf(emailID)},
		&s.BroadcastID, &s.TeamID, &s.Relay, &sender, &created, &queued)
	if err != nil {
		return nil, err
	}
	var from []app.Address
	if err := fromJSON(sender, &from); err != nil {
		return nil, fmt.Errorf("sender of broadcast %s: %w", s.BroadcastID, err)
	}
	if len(from) == 1 {
		s.MessageID, s.Domain = app.EmailMessageID(emailID, from[0].Domain), from[0].Domain
	}
	s.AcceptedAt = fromMilli(created)
	if queued.Valid {
		s.AcceptedAt = fromMilli(queued.Int64)
	}
	v, err := r.BroadcastRecipient(emailID)
	s.Recipients = []Recipient{{Address: v.Email, State: stateOf(v.Seen)}}
	return &s, err
}

// stateOf returns the last event of a broadcast recipient; queued for one that was
// deferred and not accepted.
func stateOf(seen app.Seen) app.LastEvent {
	if seen&app.SeenEnded == 0 {
		return app.Queued
	}
	return seen.LastEvent()
}

// MoveRecipient records a reported event of a recipient, which proves that the relay
// accepted the message. state is the resulting state of an email's recipient. A broadcast
// counts each event once for each recipient.
func (tx *Tx) MoveRecipient(s *Subject, v *Recipient, happened, state app.LastEvent) error {
	if s.BroadcastID == "" {
		if state == v.State {
			return nil
		}
		err := tx.Write(`UPDATE recipients SET state = ? WHERE email_id = ? AND n = ?`, string(state), s.EmailID, v.N)
		return err
	}
	for _, event := range []app.LastEvent{app.Sent, happened} {
		if _, err := tx.MarkRecipient(s.BroadcastID, s.EmailID, app.SeenOf(event)); err != nil {
			return err
		}
	}
	return nil
}

// OutdateAttempt invalidates a running or starting attempt of a unit, because some
// recipients no longer need it. It moves the unit's next try by one millisecond at most
// and does not change the message for the others. Units that are committed or ended do not
// change.
func (tx *Tx) OutdateAttempt(emailID string) error {
	err := tx.Write(`UPDATE units SET attempts = CASE WHEN attempts > 0 THEN attempts + 1 ELSE 0 END, next_at = next_at + 1,
		state = CASE state WHEN 'begun' THEN 'later' ELSE state END WHERE email_id = ? AND state <> 'committed'`, emailID)
	return err
}

// CountTrackingEvents returns the number of opens, clicks and prefetches in an email's
// timeline, and how many of them are prefetches.
func (r *Reader) CountTrackingEvents(emailID string) (all, prefetched int, err error) {
	err = r.Row(`SELECT count(*), count(*) FILTER (WHERE type = 'prefetched') FROM events WHERE email_id = ? AND type IN ('opened', 'clicked', 'prefetched')`,
		[]any{emailID}, &all, &prefetched)
	return all, prefetched, err
}
