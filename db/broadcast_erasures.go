package db

import (
	"database/sql"
	"fmt"
	"slices"

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

// ErasableBroadcast is a broadcast with the columns that hold addresses.
type ErasableBroadcast struct {
	ID, Mails       string // Mails: prefix of the ids of its emails; empty: not queued
	sender, replyTo string // JSON
}

// ErasableBroadcasts returns at most limit broadcasts of a team in a span, oldest first.
func (r *Reader) ErasableBroadcasts(teamID string, span Span, limit int) ([]ErasableBroadcast, error) {
	return list(r, func(s scanner) (b ErasableBroadcast, err error) {
		err = s.Scan(&b.ID, &b.Mails, &b.sender, &b.replyTo)
		return b, err
	}, `SELECT id, coalesce(mails, ''), sender, coalesce(reply_to, '') FROM broadcasts WHERE team_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?`,
		teamID, span.After, span.Until, limit)
}

// Addressed reports whether the sender or a reply address is in e.
func (b ErasableBroadcast) Addressed(e *erase.Set) bool {
	return e.ScrubList(b.sender) != b.sender || e.ScrubList(b.replyTo) != b.replyTo
}

// Unsendable reports whether the sender is in e.
func (b ErasableBroadcast) Unsendable(e *erase.Set) bool {
	return slices.ContainsFunc(addressesOf(e.ScrubList(b.sender)), app.Address.IsErased)
}

// EraseBroadcast removes the addresses of e from the sender and the reply addresses of a broadcast,
// including a sent one. It invalidates running attempts and the stored DKIM signatures.
func (tx *Tx) EraseBroadcast(teamID string, b ErasableBroadcast, e *erase.Set) error {
	err := tx.Write(`UPDATE broadcasts SET sender = ?, reply_to = ? WHERE team_id = ? AND id = ?`,
		e.ScrubList(b.sender), nullText(e.ScrubList(b.replyTo)), teamID, b.ID)
	if err != nil {
		return fmt.Errorf("erase addresses of a broadcast: %w", err)
	}
	err = tx.Write(`UPDATE units SET attempts = CASE WHEN state <> 'committed' AND attempts > 0 THEN attempts + 1 ELSE attempts END,
		next_at = next_at + CASE state WHEN 'committed' THEN 0 ELSE 1 END, state = CASE state WHEN 'begun' THEN 'later' ELSE state END, signature = NULL WHERE broadcast_id = ?`, b.ID)
	if err != nil {
		return fmt.Errorf("outdate units: %w", err)
	}
	return nil
}

// EraseFrozenFilter removes the addresses of e from the filter in the snapshot of a broadcast.
func (tx *Tx) EraseFrozenFilter(broadcastID string, e *erase.Set) error {
	var frozen string
	if err := tx.Row(frozenSnapshot, []any{broadcastID}, &frozen); err != nil {
		return ignoreNotFound(err)
	}
	return tx.Write(`UPDATE broadcast_contents SET frozen = ? WHERE broadcast_id = ?`, nullText(e.ScrubJSON(frozen, "filter")), broadcastID)
}

// HasFilterTraces reports whether the filter in the snapshot of a broadcast contains an address of
// e.
func (r *Reader) HasFilterTraces(broadcastID string, e *erase.Set) (bool, error) {
	var frozen string
	err := r.Row(frozenSnapshot, []any{broadcastID}, &frozen)
	return e.ScrubJSON(frozen, "filter") != frozen, ignoreNotFound(err)
}

const frozenSnapshot = `SELECT coalesce(frozen, '') FROM broadcast_contents WHERE broadcast_id = ?`

// MailsWithTraces returns the recipients with ids in (from, to] whose address is to be erased, or
// whose timeline contains an address to erase. domain is a part of all of these addresses; empty:
// they have none in common.
func (r *Reader) MailsWithTraces(from, to, domain string, of SetOf) (map[string]bool, error) {
	hit := map[string]bool{}
	_, err := list(r, func(s scanner) (struct{}, error) {
		var id, email string
		err := s.Scan(&id, &email)
		if of(id).Has(email) {
			hit[id] = true
		}
		return struct{}{}, err
	}, `SELECT id, email FROM broadcast_recipients WHERE id > ? AND id <= ? AND (instr(lower(email), ?) > 0 OR length(email) <> octet_length(email))`, from, to, domain)
	if err != nil {
		return nil, err
	}
	for _, query := range []string{
		`SELECT email_id, recipient, detail, NULL FROM events WHERE email_id > ? AND email_id <= ?
			AND (recipient IS NOT NULL OR instr(detail, '@') > 0 OR instr(detail, '%') > 0 OR instr(detail, '\') > 0)`,
		`SELECT email_id, NULL, recipients, NULL FROM doubts WHERE email_id > ? AND email_id <= ?`,
		`SELECT email_id, NULL, detail, conversation FROM attempts WHERE email_id > ? AND email_id <= ?`,
	} {
		if _, err := list(r, findTraces(of, hit), query, from, to); err != nil {
			return nil, err
		}
	}
	return hit, nil
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

// EraseRecipient removes the address and the values of a recipient, and deletes the captured message.
func (tx *Tx) EraseRecipient(id string) error {
	if err := tx.Write(`DELETE FROM captures WHERE email_id = ?`, id); err != nil {
		return fmt.Errorf("delete capture: %w", err)
	}
	return tx.Write(`UPDATE broadcast_recipients SET email = ?, fields = NULL, recipient_language = NULL WHERE id = ?`, app.Erased, id)
}

// DeleteCaptures deletes up to limit captured messages with ids in (from, to] and returns
// their number.
func (tx *Tx) DeleteCaptures(from, to string, limit int) (int64, error) {
	return tx.Exec(`DELETE FROM captures WHERE email_id IN (SELECT email_id FROM captures WHERE email_id > ? AND email_id <= ? ORDER BY email_id LIMIT ?)`,
		from, to, limit)
}
