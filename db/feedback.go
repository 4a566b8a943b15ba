package db

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"mailer/app"
)

// InsertFeedback notes a report by a hash of its id. Error: ErrNotFound when it
// was noted before.
func (tx *Tx) InsertFeedback(source string, id []byte) error {
	return tx.WriteOne(`INSERT INTO feedback (source, id, created_at) VALUES (?, ?, ?) ON CONFLICT (source, id) DO NOTHING`, source, id, milli(tx.Now))
}

// PurgeFeedback forgets at most limit reports from before a time and tells
// whether there may be more.
func (tx *Tx) PurgeFeedback(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM feedback WHERE (source, id) IN
		(SELECT source, id FROM feedback WHERE created_at <= ? LIMIT ?)`, milli(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge feedback: %w", err)
	}
	return n == int64(limit), nil
}

// PurgeProviderIDs forgets what providers called at most limit emails that came
// before a time, and reports whether there may be more.
func (tx *Tx) PurgeProviderIDs(before time.Time, limit int) (more bool, err error) {
	n, err := tx.Exec(`DELETE FROM provider_ids WHERE id IN (SELECT id FROM provider_ids WHERE email_id < ? LIMIT ?)`, app.FirstID(before), limit)
	if err != nil {
		return false, fmt.Errorf("purge provider ids: %w", err)
	}
	return n == int64(limit), nil
}

// InsertProviderID notes what a provider calls an email, or the email of a
// broadcast's recipient.
func (tx *Tx) InsertProviderID(id, emailID string) error {
	err := tx.Write(`INSERT INTO provider_ids (id, email_id) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`, id, emailID)
	return err
}

// EmailOfProvider returns the email that a provider calls so. Error: ErrNotFound.
func (r *Reader) EmailOfProvider(id string) (emailID string, err error) {
	err = r.Row(`SELECT email_id FROM provider_ids WHERE id = ?`, []any{id}, &emailID)
	return emailID, err
}

// Subject is what feedback is about: an email, or that of a broadcast's recipient,
// and what became of it so far. It is named by an id whose signature was checked, so it
// may be any team's.
type Subject struct {
	TeamID      string
	EmailID     string
	BroadcastID string // empty: an email
	MessageID   string // without angle brackets
	Domain      string // of the sender
	Relay       string
	AcceptedAt  time.Time
	Recipients  []Recipient // in the order of the envelope
}

// Recipient is one of an envelope.
type Recipient struct {
	N       int
	Address string
	State   app.LastEvent
}

// Subject returns the email that feedback names. Error: ErrNotFound.
func (r *Reader) Subject(emailID string) (*Subject, error) {
	s := Subject{EmailID: emailID}
	var accepted int64
	var sender sql.NullString
	err := r.Row(`SELECT team_id, message_id, relay, created_at, sender FROM emails WHERE id = ?`, []any{emailID}, &s.TeamID, &s.MessageID, &s.Relay, &accepted, &sender)
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

// senderDomain returns the domain of an email's sender, also of one that was erased where
// the Message-ID is ours.
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

// Recipients returns the envelope of an email, with what became of each.
func (r *Reader) Recipients(emailID string) ([]Recipient, error) {
	return list(r, func(row scanner) (Recipient, error) {
		var v Recipient
		err := row.Scan(&v.N, &v.Address, &v.State)
		return v, err
	}, `SELECT n, address, state FROM recipients WHERE email_id = ? ORDER BY n`, emailID)
}

// broadcastSubject returns the email of a broadcast's recipient.
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

// stateOf returns the last event of a broadcast's recipient; one that was put off
// and not taken waits.
func stateOf(seen app.Seen) app.LastEvent {
	if seen&app.SeenEnded == 0 {
		return app.Queued
	}
	return seen.LastEvent()
}

// MoveRecipient notes that what was reported of a recipient happened, which proves
// that the relay took the message for it. state is the furthest of a recipient of
// an email then. A broadcast counts each event once for each recipient.
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

// OutdateAttempt has an attempt that is under way, or about to begin, find itself
// out of date, since some of its recipients need it no more. Neither changes when
// the unit is due by more than a millisecond, nor what is sent to the others. A
// unit that is committed or gone stays as it is.
func (tx *Tx) OutdateAttempt(emailID string) error {
	err := tx.Write(`UPDATE units SET attempts = CASE WHEN attempts > 0 THEN attempts + 1 ELSE 0 END, next_at = next_at + 1,
		state = CASE state WHEN 'begun' THEN 'later' ELSE state END WHERE email_id = ? AND state <> 'committed'`, emailID)
	return err
}

// CountTrackingEvents counts the opens, clicks and prefetches in an email's timeline, and
// how many of them are prefetches.
func (r *Reader) CountTrackingEvents(emailID string) (all, prefetched int, err error) {
	err = r.Row(`SELECT count(*), count(*) FILTER (WHERE type = 'prefetched') FROM events WHERE email_id = ? AND type IN ('opened', 'clicked', 'prefetched')`,
		[]any{emailID}, &all, &prefetched)
	return all, prefetched, err
}
