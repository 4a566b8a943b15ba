package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
	"mailer/app/rules/erase"
	"mailer/db/engine"
)

// Erasure is a pending request to erase all data about some addresses of a team.
type Erasure struct {
	ID     string
	TeamID string
	Sealed []byte
}

// InsertErasure stores an erasure with its addresses sealed.
func (tx *Tx) InsertErasure(e Erasure) error {
	tx.Changed(engine.Erasures)
	err := tx.Write(`INSERT INTO erasures (id, team_id, addresses, created_at) VALUES (?, ?, ?, ?)`, e.ID, e.TeamID, e.Sealed, milli(tx.Now))
	return err
}

// DeleteErasure deletes a finished erasure.
func (tx *Tx) DeleteErasure(teamID, id string) error {
	tx.Changed(engine.Erasures)
	err := tx.Write(`DELETE FROM erasures WHERE team_id = ? AND id = ?`, teamID, id)
	return err
}

// Erasures returns at most limit pending erasures of all teams, oldest first.
func (r *Reader) Erasures(limit int) ([]Erasure, error) {
	return list(r, scanErasure, `SELECT id, team_id, addresses FROM erasures ORDER BY id LIMIT ?`, limit)
}

// ErasuresOf returns the pending erasures of a team.
func (r *Reader) ErasuresOf(teamID string) ([]Erasure, error) {
	return list(r, scanErasure, `SELECT id, team_id, addresses FROM erasures WHERE team_id = ?`, teamID)
}

func scanErasure(s scanner) (Erasure, error) {
	var e Erasure
	err := s.Scan(&e.ID, &e.TeamID, &e.Sealed)
	return e, err
}

// HasErasure reports whether an erasure of a team is pending.
func (r *Reader) HasErasure(teamID, id string) (open bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM erasures WHERE team_id = ? AND id = ?)`, []any{teamID, id}, &open)
	return open, err
}

// HasErasures reports whether any erasure of a team is pending.
func (r *Reader) HasErasures(teamID string) (open bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM erasures WHERE team_id = ?)`, []any{teamID}, &open)
	return open, err
}

// EraseSuppression removes the address from a suppression, which continues to block.
// Error: ErrNotFound.
func (tx *Tx) EraseSuppression(teamID string, address app.AddressHash) error {
	tx.Changed(engine.Suppressions)
	n, err := tx.Exec(`UPDATE suppressions SET email = NULL WHERE team_id = ? AND address = ? AND email IS NOT NULL`, teamID, address[:])
	if err != nil {
		return fmt.Errorf("erase suppression: %w", err)
	}
	if n == 0 {
		return tx.Exists(`SELECT 1 FROM suppressions WHERE team_id = ? AND address = ?`, teamID, address[:])
	}
	tx.countListed(&app.Suppression{TeamID: teamID, Email: app.Erased}, -1)
	return nil
}

// NewestEmail returns the highest id of a team's emails; empty if there are none.
func (r *Reader) NewestEmail(teamID string) (id string, err error) {
	err = r.Row(`SELECT id FROM emails WHERE team_id = ? ORDER BY id DESC LIMIT 1`, []any{teamID}, &id)
	return id, ignoreNotFound(err)
}

// Span is a range of ids in a list: after After, up to Until.
type Span struct{ After, Until string }

// EmailsWithTraces searches the first limit emails of a span. hit are the emails with an
// address of e in content, envelope or events. files are the emails with attachments or a
// raw message, which it does not search. next is the last id examined; empty at the end of
// the span.
func (r *Reader) EmailsWithTraces(teamID string, span Span, limit int, e *erase.Set) (hit map[string]bool, files []string, next string, err error) {
	hit = map[string]bool{}
	n := 0
	_, err = list(r, func(s scanner) (struct{}, error) {
		var id, sender, to, subject string
		var cc, bcc, reply, tags, html, plain, headers sql.NullString
		var attachments int
		var raw sql.NullInt64
		err := s.Scan(&id, &sender, &to, &cc, &bcc, &reply, &subject, &tags, &attachments, &html, &plain, &headers, &raw)
		n, next = n+1, id
		if attachments > 0 || raw.Valid {
			files = append(files, id)
		}
		if e.InList(to) || e.InList(sender) || e.InList(cc.String) || e.InList(bcc.String) || e.InList(reply.String) ||
			e.In(subject) || e.In(html.String) || e.In(plain.String) || e.InJSON(tags.String) || e.InJSON(headers.String) {
			hit[id] = true
		}
		return struct{}{}, err
	}, `SELECT e.id, e.sender, e.to_list, e.cc_list, e.bcc_list, e.reply_to, e.subject, e.tags, e.attachments, c.html, c.plain, c.headers, c.raw
		FROM emails AS e LEFT JOIN contents AS c ON c.email_id = e.id
		WHERE e.team_id = ? AND e.id > ? AND e.id <= ? ORDER BY e.id LIMIT ?`, teamID, span.After, span.Until, limit)
	if err != nil || n == 0 {
		return hit, nil, "", err
	}
	if err := r.traces(teamID, Span{span.After, next}, e, hit); err != nil {
		return nil, nil, "", err
	}
	if n < limit {
		next = ""
	}
	return hit, files, next, nil
}

// traces adds to hit the emails of a span whose envelope, events or doubts contain an
// address of e.
func (r *Reader) traces(teamID string, span Span, e *erase.Set, hit map[string]bool) error {
	_, err := list(r, func(s scanner) (struct{}, error) {
		var id, address string
		err := s.Scan(&id, &address)
		if e.Has(address) {
			hit[id] = true
		}
		return struct{}{}, err
	}, `SELECT r.email_id, r.address FROM emails AS e CROSS JOIN recipients AS r ON r.email_id = e.id
		WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`, teamID, span.After, span.Until)
	if err != nil {
		return err
	}
	detail := func(s scanner) (struct{}, error) {
		var id, detail string
		var recipient sql.NullString
		err := s.Scan(&id, &recipient, &detail)
		if e.Has(recipient.String) || e.InJSON(detail) {
			hit[id] = true
		}
		return struct{}{}, err
	}
	_, err = list(r, detail, `SELECT v.email_id, v.recipient, v.detail FROM emails AS e CROSS JOIN events AS v ON v.email_id = e.id
		WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`, teamID, span.After, span.Until)
	if err != nil {
		return err
	}
	_, err = list(r, detail, `SELECT d.email_id, NULL, d.recipients FROM emails AS e CROSS JOIN doubts AS d ON d.email_id = e.id
		WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`, teamID, span.After, span.Until)
	if err != nil {
		return err
	}
	_, err = list(r, tracedAttempts(e, hit), `SELECT a.email_id, a.detail, a.conversation FROM emails AS e CROSS JOIN attempts AS a ON a.email_id = e.id
		WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`, teamID, span.After, span.Until)
	return err
}

// WaitingFor returns at most limit emails of a team that wait at a relay for a recipient
// of e, with ids up to until and after the given one.
func (r *Reader) WaitingFor(relay, teamID, until string, e *erase.Set) ([]string, error) {
	var ids []string
	_, err := list(r, func(s scanner) (struct{}, error) {
		var id, address string
		err := s.Scan(&id, &address)
		if e.Has(address) && (len(ids) == 0 || ids[len(ids)-1] != id) {
			ids = append(ids, id)
		}
		return struct{}{}, err
	}, `SELECT r.email_id, r.address FROM units AS u CROSS JOIN recipients AS r ON r.email_id = u.email_id
		WHERE u.relay = ? AND u.team_id = ? AND u.email_id <= ? AND r.state = 'queued'`, relay, teamID, until)
	return ids, err
}

// OpenUnit returns the open unit of a team's email and whether it is committed. Error:
// ErrNotFound.
func (r *Reader) OpenUnit(teamID, emailID string) (u app.Unit, committed bool, err error) {
	u = app.Unit{EmailID: emailID, TeamID: teamID}
	err = r.Row(`SELECT relay, domain, attempts, state = 'committed' FROM units WHERE email_id = ? AND team_id = ?`,
		[]any{emailID, teamID}, &u.Relay, &u.Domain, &u.Attempts, &committed)
	return u, committed, err
}

// OutdateUnit invalidates a running or starting attempt of a unit, because the stored
// content changed. It moves the unit's next try by one millisecond at most. Error:
// ErrNotFound if the unit is committed or has ended.
func (tx *Tx) OutdateUnit(emailID string) error {
	return tx.WriteOne(`UPDATE units SET attempts = CASE WHEN attempts > 0 THEN attempts + 1 ELSE 0 END, next_at = next_at + 1,
		state = CASE state WHEN 'begun' THEN 'later' ELSE state END, signature = NULL WHERE email_id = ? AND state <> 'committed'`, emailID)
}

// RewriteEmail replaces the content of an email and the given attachments. It deletes the
// captured message, and the raw message if m has none. A deleted email stays deleted.
func (tx *Tx) RewriteEmail(m *app.Email, attachments []*app.Attachment) error {
	var columns [5]any
	var err error
	for i, list := range [][]app.Address{{m.From}, m.To, m.Cc, m.Bcc, m.ReplyTo} {
		if columns[i], err = asJSON(list); err != nil {
			return err
		}
	}
	if columns[1] == nil { // a complete message may have no To field
		columns[1] = "[]"
	}
	tags, err := asJSON(m.Tags)
	if err != nil {
		return err
	}
	headers, err := asJSON(m.Headers)
	if err != nil {
		return err
	}
	err = tx.Write(`UPDATE emails SET sender = ?, to_list = ?, cc_list = ?, bcc_list = ?, reply_to = ?, subject = ?, tags = ?
		WHERE team_id = ? AND id = ?`, columns[0], columns[1], columns[2], columns[3], columns[4], m.Subject, tags, m.TeamID, m.ID)
	if err != nil {
		return fmt.Errorf("rewrite email: %w", err)
	}
	err = tx.Write(`UPDATE contents SET html = ?, plain = ?, headers = ?, sum = ? WHERE email_id = ?`, nullText(m.HTML), nullText(m.Text), headers,
		contentChecksum(m.HTML, m.Text, columnText(headers), m.Unsubscribe), m.ID)
	if err != nil {
		return fmt.Errorf("rewrite content: %w", err)
	}
	if err := tx.Write(`DELETE FROM account_texts WHERE email_id = ?`, m.ID); err != nil {
		return fmt.Errorf("erase the text of a mail to a person: %w", err)
	}
	for _, a := range attachments {
		if err := tx.rewriteAttachment(m.ID, a); err != nil {
			return fmt.Errorf("rewrite attachment: %w", err)
		}
	}
	if m.Raw != nil {
		return nil
	}
	return tx.dropRaw(m.ID)
}

// HoldsTraces reports whether envelope, events or doubts of an email contain an address of
// e.
func (r *Reader) HoldsTraces(emailID string, e *erase.Set) (holds bool, err error) {
	_, err = list(r, func(s scanner) (struct{}, error) {
		var recipient sql.NullString
		var detail string
		err := s.Scan(&recipient, &detail)
		holds = holds || e.Has(recipient.String) || e.InJSON(detail)
		return struct{}{}, err
	}, `SELECT address, '' FROM recipients WHERE email_id = ?1 UNION ALL SELECT recipient, detail FROM events WHERE email_id = ?1
		UNION ALL SELECT NULL, recipients FROM doubts WHERE email_id = ?1`, emailID)
	if err != nil || holds {
		return holds, err
	}
	_, err = list(r, func(s scanner) (struct{}, error) {
		_, held, err := scanTraced(s, e)
		holds = holds || held
		return struct{}{}, err
	}, `SELECT email_id, detail, conversation FROM attempts WHERE email_id = ?`, emailID)
	return holds, err
}

// EraseTraces removes the addresses of e from envelope, events and doubts of an email, and
// deletes its captured message.
func (tx *Tx) EraseTraces(emailID string, e *erase.Set) error {
	if err := tx.Write(`DELETE FROM captures WHERE email_id = ?`, emailID); err != nil {
		return fmt.Errorf("delete capture: %w", err)
	}
	if err := tx.eraseEnvelope(emailID, e); err != nil {
		return err
	}
	if err := tx.eraseTimeline(emailID, e); err != nil {
		return err
	}
	if err := tx.eraseAttempts(emailID, e); err != nil {
		return err
	}
	rows, err := list(&tx.Reader, scanTextRow, `SELECT id, recipients FROM doubts WHERE email_id = ?`, emailID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		clean, err := e.ScrubJSON(row.Text)
		if err != nil || clean == row.Text {
			if err != nil {
				return err
			}
			continue
		}
		if err := tx.Write(`UPDATE doubts SET recipients = ? WHERE id = ?`, clean, row.ID); err != nil {
			return fmt.Errorf("scrub doubt: %w", err)
		}
	}
	return nil
}

func (tx *Tx) eraseEnvelope(emailID string, e *erase.Set) error {
	type recipient struct {
		n       int
		address string
	}
	rows, err := list(&tx.Reader, func(s scanner) (recipient, error) {
		var v recipient
		err := s.Scan(&v.n, &v.address)
		return v, err
	}, `SELECT n, address FROM recipients WHERE email_id = ?`, emailID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if !e.Has(row.address) {
			continue
		}
		if err := tx.Write(`UPDATE recipients SET address = ? WHERE email_id = ? AND n = ?`, app.Erased, emailID, row.n); err != nil {
			return fmt.Errorf("scrub recipient: %w", err)
		}
	}
	return nil
}

func (tx *Tx) eraseTimeline(emailID string, e *erase.Set) error {
	type event struct {
		id, detail string
		recipient  sql.NullString
	}
	rows, err := list(&tx.Reader, func(s scanner) (event, error) {
		var v event
		err := s.Scan(&v.id, &v.recipient, &v.detail)
		return v, err
	}, `SELECT id, recipient, detail FROM events WHERE email_id = ?`, emailID)
	if err != nil {
		return err
	}
	for _, row := range rows {
		detail, err := e.ScrubJSON(row.detail)
		if err != nil {
			return err
		}
		recipient := row.recipient.String
		if e.Has(recipient) {
			recipient = app.Erased
		}
		if detail == row.detail && recipient == row.recipient.String {
			continue
		}
		err = tx.Write(`UPDATE events SET recipient = ?, detail = ? WHERE email_id = ? AND id = ?`, nullText(recipient), detail, emailID, row.id)
		if err != nil {
			return fmt.Errorf("scrub event: %w", err)
		}
	}
	return nil
}

// TextRow is a row of a table with a text that may contain an address.
type TextRow struct{ ID, Text string }

func scanTextRow(s scanner) (TextRow, error) {
	var row TextRow
	err := s.Scan(&row.ID, &row.Text)
	return row, err
}
