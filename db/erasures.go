package db

import (
	"database/sql"
	"fmt"
	"slices"

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

// SetOf returns the addresses to erase from the object with an id.
type SetOf func(id string) *erase.Set

// EmailsWithTraces searches the first limit emails of a span and returns those with an address to
// erase in their address fields, headers, envelope or timeline. It skips rows that can't be read.
// next is the last id examined; empty at the end of the span.
func (r *Reader) EmailsWithTraces(teamID string, span Span, limit int, of SetOf) (hit map[string]bool, next string, err error) {
	hit = map[string]bool{}
	ids, err := list(r, func(s scanner) (id string, err error) {
		var f addressFields
		err = s.Scan(append([]any{&id}, f.lists()...)...)
		if f.scrub(of(id)) {
			hit[id] = true
		}
		return id, err
	}, `SELECT e.id, `+addressColumns+` FROM emails AS e WHERE e.team_id = ? AND e.id > ? AND e.id <= ? ORDER BY e.id LIMIT ?`, teamID, span.After, span.Until, limit)
	if err != nil || len(ids) == 0 {
		return hit, "", err
	}
	next = ids[len(ids)-1]
	for _, query := range []string{
		`SELECT c.email_id, NULL, coalesce(c.headers, ''), NULL FROM emails AS e CROSS JOIN contents AS c ON c.email_id = e.id WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`,
		`SELECT r.email_id, r.address, '', NULL FROM emails AS e CROSS JOIN recipients AS r ON r.email_id = e.id WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`,
		`SELECT v.email_id, v.recipient, v.detail, NULL FROM emails AS e CROSS JOIN events AS v ON v.email_id = e.id WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`,
		`SELECT d.email_id, NULL, d.recipients, NULL FROM emails AS e CROSS JOIN doubts AS d ON d.email_id = e.id WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`,
		`SELECT a.email_id, NULL, a.detail, a.conversation FROM emails AS e CROSS JOIN attempts AS a ON a.email_id = e.id WHERE e.team_id = ? AND e.id > ? AND e.id <= ?`,
	} {
		err := skipUnreadable(Span{span.After, next}, ids, func(part Span) error {
			_, err := list(r, findTraces(of, hit), query, teamID, part.After, part.Until)
			return err
		})
		if err != nil {
			return nil, "", err
		}
	}
	if len(ids) < limit {
		next = ""
	}
	return hit, next, nil
}

// skipUnreadable reads a span and, if a part of it can't be read, the objects with ids one by one.
func skipUnreadable(span Span, ids []string, read func(Span) error) error {
	err := read(span)
	if !engine.IsUnreadable(err) {
		return err
	}
	for _, id := range ids {
		before, err := previousID(id)
		if err == nil {
			err = read(Span{before, id})
		}
		if err != nil && !engine.IsUnreadable(err) {
			return err
		}
	}
	return nil
}

// findTraces adds to hit the ids of rows with an address to erase in the recipient, the JSON or the
// text after the id.
func findTraces(of SetOf, hit map[string]bool) func(scanner) (struct{}, error) {
	return func(s scanner) (none struct{}, err error) {
		var id, detail string
		var recipient, text sql.NullString
		err = s.Scan(&id, &recipient, &detail, &text)
		if e := of(id); e.Has(recipient.String) || e.InJSON(detail) || e.In(text.String) {
			hit[id] = true
		}
		return none, err
	}
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
// addresses change. It moves the unit's next try by one millisecond at most. Error:
// ErrNotFound if the unit is committed or has ended.
func (tx *Tx) OutdateUnit(emailID string) error {
	return tx.WriteOne(`UPDATE units SET attempts = CASE WHEN attempts > 0 THEN attempts + 1 ELSE 0 END, next_at = next_at + 1,
		state = CASE state WHEN 'begun' THEN 'later' ELSE state END, signature = NULL WHERE email_id = ? AND state <> 'committed'`, emailID)
}

// addressFields are the columns of an email that hold addresses: lists in JSON, and the headers of
// its content.
type addressFields struct {
	sender, to, cc, bcc, replyTo, headers string
}

const addressColumns = `e.sender, e.to_list, coalesce(e.cc_list, ''), coalesce(e.bcc_list, ''), coalesce(e.reply_to, '')`

func (f *addressFields) lists() []any { return []any{&f.sender, &f.to, &f.cc, &f.bcc, &f.replyTo} }

// scrub removes the addresses of e and reports whether there were any.
func (f *addressFields) scrub(e *erase.Set) (changed bool) {
	before := *f
	for _, list := range []*string{&f.sender, &f.to, &f.cc, &f.bcc, &f.replyTo} {
		*list = e.ScrubList(*list)
	}
	f.headers = e.ScrubJSON(f.headers)
	return *f != before
}

// ErasableEmail is an email with an address to erase.
type ErasableEmail struct {
	ID         string
	Addressed  bool // the address is in an address field, a header or the envelope
	Unsendable bool // it is the sender's
	Alone      bool // no other recipient is left
	Unreadable bool // the content can't be read, and a write would fail at it too
}

// ErasableEmail returns what an erasure changes in an email. Errors: ErrNotFound; a Damage if its
// envelope or timeline can't be read.
func (r *Reader) ErasableEmail(teamID, id string, e *erase.Set) (m ErasableEmail, err error) {
	m = ErasableEmail{ID: id, Alone: true}
	envelope, err := r.Envelope(teamID, id)
	if err != nil {
		return m, err
	}
	for _, address := range envelope {
		m.Addressed = m.Addressed || e.Has(address)
		m.Alone = m.Alone && (address == app.Erased || e.Has(address))
	}
	var f addressFields
	if err := r.Row(`SELECT `+addressColumns+` FROM emails AS e WHERE e.id = ? AND e.team_id = ?`, []any{id, teamID}, f.lists()...); err != nil {
		return m, err
	}
	for _, query := range []string{`SELECT detail FROM events WHERE email_id = ?`, `SELECT detail FROM attempts WHERE email_id = ?`, `SELECT recipients FROM doubts WHERE email_id = ?`} {
		if _, err := list(r, scanText, query, id); err != nil {
			return m, err
		}
	}
	err = ignoreNotFound(r.Row(`SELECT coalesce(headers, '') FROM contents WHERE email_id = ?`, []any{id}, &f.headers))
	if err == nil {
		_, _, err = r.CompleteEmail(teamID, id)
	}
	m.Unreadable = engine.IsUnreadable(err)
	m.Addressed = f.scrub(e) || m.Addressed
	for _, a := range slices.Concat(addressesOf(f.to), addressesOf(f.cc), addressesOf(f.bcc)) {
		m.Alone = m.Alone && a.IsErased()
	}
	m.Alone = m.Alone && m.Addressed
	m.Unsendable = slices.ContainsFunc(addressesOf(f.sender), app.Address.IsErased)
	return m, nil
}

// addressesOf returns the addresses in a list column; none if it is damaged.
func addressesOf(column string) (list []app.Address) {
	if fromJSON(sql.NullString{String: column, Valid: column != ""}, &list) != nil {
		return nil
	}
	return list
}

// EraseEmail removes the addresses of e from an email, and deletes its raw and its captured message
// if an address was in its address fields, headers or envelope. An email whose content is deleted
// stays so.
func (tx *Tx) EraseEmail(teamID string, m ErasableEmail, e *erase.Set) error {
	if err := tx.EraseTraces(m.ID, e); err != nil || !m.Addressed {
		return err
	}
	if err := tx.Write(`DELETE FROM captures WHERE email_id = ?`, m.ID); err != nil {
		return fmt.Errorf("delete capture: %w", err)
	}
	var f addressFields
	var subject string
	err := tx.Row(`SELECT e.subject, `+addressColumns+` FROM emails AS e WHERE e.team_id = ? AND e.id = ?`, []any{teamID, m.ID}, append([]any{&subject}, f.lists()...)...)
	if err != nil {
		return err
	}
	f.scrub(e)
	if m.Alone {
		subject = e.Scrub(subject)
	}
	err = tx.Write(`UPDATE emails SET sender = ?, to_list = ?, cc_list = ?, bcc_list = ?, reply_to = ?, subject = ? WHERE team_id = ? AND id = ?`,
		f.sender, f.to, nullText(f.cc), nullText(f.bcc), nullText(f.replyTo), subject, teamID, m.ID)
	if err != nil {
		return fmt.Errorf("erase addresses of an email: %w", err)
	}
	if m.Unreadable {
		return nil
	}
	if err := tx.eraseHeaders(m.ID, e); err != nil {
		return err
	}
	return tx.dropRaw(m.ID)
}

// eraseHeaders removes the addresses of e from the headers of an email. A checksum that does not
// match stays so.
func (tx *Tx) eraseHeaders(emailID string, e *erase.Set) error {
	var html, plain, headers, unsubscribe sql.NullString
	var sum int64
	err := tx.Row(`SELECT html, plain, headers, unsubscribe, sum FROM contents WHERE email_id = ?`, []any{emailID}, &html, &plain, &headers, &unsubscribe, &sum)
	if err != nil {
		return ignoreNotFound(err) // deleted
	}
	clean := e.ScrubJSON(headers.String)
	if clean == headers.String {
		return nil
	}
	if sum == contentChecksum(html.String, plain.String, headers.String, unsubscribe.String) {
		sum = contentChecksum(html.String, plain.String, clean, unsubscribe.String)
	}
	if err := tx.Write(`UPDATE contents SET headers = ?, sum = ? WHERE email_id = ?`, clean, sum, emailID); err != nil {
		return fmt.Errorf("erase headers: %w", err)
	}
	return nil
}

// EraseTraces removes the addresses of e from envelope, events, attempts and doubts of an email.
func (tx *Tx) EraseTraces(emailID string, e *erase.Set) error {
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
		clean := e.ScrubJSON(row.Text)
		if clean == row.Text {
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
		detail := e.ScrubJSON(row.detail)
		recipient := row.recipient.String
		if e.Has(recipient) {
			recipient = app.Erased
		}
		if detail == row.detail && recipient == row.recipient.String {
			continue
		}
		err := tx.Write(`UPDATE events SET recipient = ?, detail = ? WHERE email_id = ? AND id = ?`, nullText(recipient), detail, emailID, row.id)
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
