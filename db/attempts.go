package db

import (
	"database/sql"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/rules/erase"
)

// Attempt is one SMTP transaction with a relay, or a failed try to begin one.
type Attempt struct {
	ID           string
	Outcome      string
	Detail       app.EventDetail
	Conversation string // empty: none
	CreatedAt    time.Time
}

// maxAttempts is the number of unsuccessful attempts kept for one email.
const maxAttempts = 10

// InsertAttempt stores an attempt of a unit and deletes the oldest attempts above
// maxAttempts. The caller owns the unit.
func (tx *Tx) InsertAttempt(emailID string, a Attempt) error {
	detail, err := jsonText(a.Detail)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO attempts (email_id, id, outcome, detail, conversation, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		emailID, a.ID, a.Outcome, detail, nullText(a.Conversation), milli(a.CreatedAt))
	if err != nil {
		return fmt.Errorf("insert attempt: %w", err)
	}
	err = tx.Write(`DELETE FROM attempts WHERE email_id = ?1 AND id <= (SELECT id FROM attempts WHERE email_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`, emailID, maxAttempts)
	return err
}

// Attempts returns the stored attempts of an email, newest first.
func (r *Reader) Attempts(emailID string) ([]Attempt, error) {
	return list(r, func(s scanner) (Attempt, error) {
		var a Attempt
		var detail, conversation sql.NullString
		var created int64
		if err := s.Scan(&a.ID, &a.Outcome, &detail, &conversation, &created); err != nil {
			return a, err
		}
		a.Conversation, a.CreatedAt = conversation.String, fromMilli(created)
		return a, fromJSON(detail, &a.Detail)
	}, `SELECT id, outcome, detail, conversation, created_at FROM attempts WHERE email_id = ? ORDER BY id DESC`, emailID)
}

// deleteAttempts deletes the attempts of an email.
func (tx *Tx) deleteAttempts(emailID string) error {
	if err := tx.Write(`DELETE FROM attempts WHERE email_id = ?`, emailID); err != nil {
		return fmt.Errorf("delete attempts: %w", err)
	}
	return nil
}

// eraseAttempts removes the addresses of e from the attempts of an email.
func (tx *Tx) eraseAttempts(emailID string, e *erase.Set) error {
	type attempt struct{ id, detail, conversation string }
	rows, err := list(&tx.Reader, func(s scanner) (a attempt, err error) {
		err = s.Scan(&a.id, &a.detail, &a.conversation)
		return a, err
	}, `SELECT id, detail, coalesce(conversation, '') FROM attempts WHERE email_id = ?`, emailID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		detail, conversation := e.ScrubJSON(row.detail), e.Scrub(row.conversation)
		if detail == row.detail && conversation == row.conversation {
			continue
		}
		if err := tx.Write(`UPDATE attempts SET detail = ?, conversation = ? WHERE email_id = ? AND id = ?`, detail, nullText(conversation), emailID, row.id); err != nil {
			return fmt.Errorf("scrub attempt: %w", err)
		}
	}
	return nil
}
