package db

import (
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/counters"
)

// Historical emails were sent by another server and imported with their team. They have no
// units and are never sent.

// IsHistory reports whether an email was imported as history.
func (r *Reader) IsHistory(emailID string) (bool, error) {
	err := r.Exists(`SELECT 1 FROM emails WHERE id = ? AND imported_at IS NOT NULL`, emailID)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// EmailIDIsFree returns nil if no email or broadcast email has or had the id, else
// ErrConflict.
func (r *Reader) EmailIDIsFree(id string) error {
	var taken bool
	err := r.Row(`SELECT EXISTS (SELECT 1 FROM emails WHERE id = ?1) OR EXISTS (SELECT 1 FROM events WHERE email_id = ?1)
		OR EXISTS (SELECT 1 FROM units WHERE email_id = ?1) OR EXISTS (SELECT 1 FROM broadcasts WHERE mails = ?2)`, []any{id, app.EmailIDPrefixOf(id)}, &taken)
	if err == nil && taken {
		return ErrConflict
	}
	return err
}

// AttachmentIDIsFree is EmailIDIsFree for attachments.
func (r *Reader) AttachmentIDIsFree(id string) error {
	err := r.Exists(`SELECT 1 FROM attachments WHERE id = ?`, id)
	if err == nil {
		return ErrConflict
	}
	return ignoreNotFound(err)
}

// InsertHistory stores a finished email without its events; recipients have their final
// states. It adds the recipients to the index immediately, and schedules the retention
// check, because both processes may be past its id already. The id must be free.
func (tx *Tx) InsertHistory(e *app.Email, recipients []RecipientState) error {
	if err := tx.insertEmailRow(e); err != nil {
		return err
	}
	if e.ContentDeletedAt.IsZero() {
		if err := tx.insertContent(e); err != nil {
			return err
		}
	}
	err := tx.Write(`UPDATE emails SET content_deleted_at = ?, imported_at = ? WHERE id = ?`, nullTime(e.ContentDeletedAt), milli(tx.Now), e.ID)
	if err != nil {
		return fmt.Errorf("insert email: %w", err)
	}
	for n, r := range recipients {
		if err := tx.Write(`INSERT INTO recipients (email_id, n, address, state, team_id) VALUES (?, ?, ?, ?, ?)`, e.ID, n, r.Address, string(r.State), e.TeamID); err != nil {
			return fmt.Errorf("insert recipient: %w", err)
		}
	}
	for _, kind := range []AgedKind{AgedContent, AgedEmail} {
		until, err := tx.AgedUntil(e.TeamID, kind)
		if err == nil && e.ID <= until {
			err = tx.PutTooYoung(e.TeamID, kind, e.ID, e.CreatedAt)
		}
		if err != nil {
			return fmt.Errorf("have retention look at an email: %w", err)
		}
	}
	return nil
}

// InsertHistoryEvents stores the timeline of an imported email without events, oldest
// first, and adds it to the counts of charts, but not to quotas and guardrails. Error:
// ErrNotFound for any other email.
func (tx *Tx) InsertHistoryEvents(teamID, emailID string, events []app.Event) error {
	e, err := one(&tx.Reader, scanEmail, `SELECT `+emailColumns+` FROM emails AS e WHERE e.team_id = ? AND e.id = ? AND e.imported_at IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM events AS v WHERE v.email_id = e.id)`, teamID, emailID)
	if err != nil {
		return err
	}
	for i := range events {
		ev := &events[i]
		detail, err := jsonText(ev.Detail)
		if err != nil {
			return err
		}
		err = tx.Write(`INSERT INTO events (email_id, id, type, recipient, detail, created_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (email_id, id) DO NOTHING`,
			emailID, ev.ID, string(ev.Type), nullText(ev.Recipient), detail, milli(ev.CreatedAt))
		if err != nil {
			return fmt.Errorf("insert event: %w", err)
		}
	}
	if e.From.Domain == "" { // the sender was erased
		return nil
	}
	oldest := counters.Hour(tx.Now.Add(-counters.Retention))
	for hour, n := range counters.OfTimeline(events) {
		if hour >= oldest {
			tx.increments.countOf(counters.Key{TeamID: teamID, Hour: hour, Domain: e.From.Domain, Region: e.Relay}).tally.Add(n)
		}
	}
	return nil
}
