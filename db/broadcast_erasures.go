package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
	"mailer/app/rules/erase"
	"mailer/app/rules/pacing"
)

// NewestBroadcast returns an upper bound of the ids of a team's broadcasts and of their
// emails; empty if the team has none.
func (r *Reader) NewestBroadcast(teamID string) (string, error) {
	var id, mails sql.NullString
	err := r.Row(`SELECT max(id), max(mails) FROM broadcasts WHERE team_id = ?`, []any{teamID}, &id, &mails)
	if mails.Valid {
		mails.String = app.BroadcastEmailID(mails.String, pacing.MaxBroadcastRecipients)
	}
	return max(id.String, mails.String), err
}

// BroadcastsOf returns at most limit broadcasts of a team in a span, oldest first, without
// contents.
func (r *Reader) BroadcastsOf(teamID string, span Span, limit int) ([]app.Broadcast, error) {
	return list(r, scanBroadcast, `SELECT `+broadcastColumns+` FROM broadcasts AS b
		WHERE b.team_id = ? AND b.id > ? AND b.id <= ? ORDER BY b.id LIMIT ?`, teamID, span.After, span.Until, limit)
}

// RewriteBroadcast replaces the content of a broadcast, including a sent one. It
// invalidates running attempts and the stored DKIM signatures of the old content.
func (tx *Tx) RewriteBroadcast(b *app.Broadcast) error {
	sender, replyTo, err := broadcastAddresses(b)
	if err != nil {
		return err
	}
	var frozen any
	if b.Snapshot != nil {
		if frozen, err = jsonText(b.Snapshot); err != nil {
			return err
		}
	}
	err = tx.Write(`UPDATE broadcasts SET name = ?, sender = ?, reply_to = ?, subject = ? WHERE team_id = ? AND id = ?`,
		b.Name, sender, replyTo, b.Subject, b.TeamID, b.ID)
	if err != nil {
		return fmt.Errorf("rewrite broadcast: %w", err)
	}
	err = tx.Write(`UPDATE broadcast_contents SET preview = ?, html = ?, plain = ?, design = ?, frozen = ?, sum = ? WHERE broadcast_id = ?`,
		nullText(b.Preview), nullText(b.HTML), b.Text, nullText(b.Design), frozen, broadcastChecksum(&b.BroadcastContent), b.ID)
	if err != nil {
		return fmt.Errorf("rewrite content of broadcast: %w", err)
	}
	err = tx.Write(`UPDATE units SET attempts = CASE WHEN state <> 'committed' AND attempts > 0 THEN attempts + 1 ELSE attempts END,
		next_at = next_at + CASE state WHEN 'committed' THEN 0 ELSE 1 END, state = CASE state WHEN 'begun' THEN 'later' ELSE state END, signature = NULL WHERE broadcast_id = ?`, b.ID)
	if err != nil {
		return fmt.Errorf("outdate units: %w", err)
	}
	return nil
}

// ScrubLinks removes the addresses of e from the links of a broadcast.
func (tx *Tx) ScrubLinks(broadcastID string, e *erase.Set) error {
	type link struct {
		n   int
		url string
	}
	rows, err := list(&tx.Reader, func(s scanner) (link, error) {
		var l link
		err := s.Scan(&l.n, &l.url)
		return l, err
	}, `SELECT n, url FROM broadcast_links WHERE broadcast_id = ?`, broadcastID)
	if err != nil {
		return err
	}
	for _, l := range rows {
		clean := e.Scrub(l.url)
		if clean == l.url {
			continue
		}
		if err := tx.Write(`UPDATE broadcast_links SET url = ? WHERE broadcast_id = ? AND n = ?`, clean, broadcastID, l.n); err != nil {
			return fmt.Errorf("scrub link: %w", err)
		}
	}
	return nil
}

// HasLinkTraces reports whether links of a broadcast contain an address of e.
func (r *Reader) HasLinkTraces(broadcastID string, e *erase.Set) (holds bool, err error) {
	_, err = list(r, func(s scanner) (struct{}, error) {
		var url string
		err := s.Scan(&url)
		holds = holds || e.In(url)
		return struct{}{}, err
	}, `SELECT url FROM broadcast_links WHERE broadcast_id = ?`, broadcastID)
	return holds, err
}

// MailsWithTraces returns the recipients with ids in (from, to] whose address is in e, or
// whose fields, events or doubts contain an address of e.
func (r *Reader) MailsWithTraces(from, to string, e *erase.Set) (map[string]bool, error) {
	hit := map[string]bool{}
	_, err := list(r, func(s scanner) (struct{}, error) {
		var id, email string
		var fields sql.NullString
		err := s.Scan(&id, &email, &fields)
		if e.Has(email) || e.InJSON(fields.String) {
			hit[id] = true
		}
		return struct{}{}, err
	}, `SELECT id, email, fields FROM broadcast_recipients WHERE id > ? AND id <= ? AND (instr(lower(email), ?) > 0 OR length(email) <> octet_length(email)
		OR instr(fields, '@') > 0 OR instr(fields, '%') > 0 OR instr(fields, '&') > 0 OR instr(fields, '\') > 0)`, from, to, e.OnlyDomain())
	if err != nil {
		return nil, err
	}
	detail := func(s scanner) (struct{}, error) {
		var id, detail string
		err := s.Scan(&id, &detail)
		if e.InJSON(detail) {
			hit[id] = true
		}
		return struct{}{}, err
	}
	_, err = list(r, detail, `SELECT email_id, detail FROM events WHERE email_id > ? AND email_id <= ?
		AND (instr(detail, '@') > 0 OR instr(detail, '%') > 0 OR instr(detail, '&') > 0 OR instr(detail, '\') > 0)`, from, to)
	if err != nil {
		return nil, err
	}
	_, err = list(r, detail, `SELECT email_id, recipients FROM doubts WHERE email_id > ? AND email_id <= ?`, from, to)
	if err != nil {
		return nil, err
	}
	_, err = list(r, tracedAttempts(e, hit), `SELECT email_id, detail, conversation FROM attempts WHERE email_id > ? AND email_id <= ?`, from, to)
	return hit, err
}

// WaitingRecipients returns the recipients of a queued broadcast whose address is in e and
// who have no outcome yet, whether started or not.
func (r *Reader) WaitingRecipients(b *app.Broadcast, e *erase.Set) (ids []string, err error) {
	look := func(s scanner) (struct{}, error) {
		var id, email string
		err := s.Scan(&id, &email)
		if e.Has(email) {
			ids = append(ids, id)
		}
		return struct{}{}, err
	}
	_, err = list(r, look, `SELECT id, email FROM broadcast_recipients WHERE id > ? AND id <= ? AND seen & ? = 0
		AND (instr(lower(email), ?) > 0 OR length(email) <> octet_length(email))`,
		app.BroadcastEmailID(b.EmailIDPrefix, b.Started), app.BroadcastEmailID(b.EmailIDPrefix, b.Stored), int64(app.SeenEnded), e.OnlyDomain())
	if err != nil {
		return nil, err
	}
	_, err = list(r, look, `SELECT r.id, r.email FROM units AS u CROSS JOIN broadcast_recipients AS r ON r.id = u.email_id
		WHERE u.broadcast_id = ?`, b.ID)
	return ids, err
}

// RewriteRecipient replaces address and fields of a recipient.
func (tx *Tx) RewriteRecipient(r *app.BroadcastRecipient) error {
	fields, err := fieldsColumn(r.Fields)
	if err != nil {
		return err
	}
	err = tx.Write(`UPDATE broadcast_recipients SET email = ?, fields = ? WHERE id = ?`, r.Email, fields, r.ID)
	return err
}

// DeleteCaptures deletes up to limit captured messages with ids in (from, to] and returns
// their number.
func (tx *Tx) DeleteCaptures(from, to string, limit int) (int64, error) {
	return tx.Exec(`DELETE FROM captures WHERE email_id IN (SELECT email_id FROM captures WHERE email_id > ? AND email_id <= ? ORDER BY email_id LIMIT ?)`,
		from, to, limit)
}
