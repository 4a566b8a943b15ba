package db

import (
	"database/sql"
	"fmt"

	"mailer/app"
)

// AppendRecipients stores the next recipients of a broadcast and moves its cursor to the
// last contact. Contacts must be in id order, after the cursor. Error: ErrNotFound if the
// expansion has ended.
func (tx *Tx) AppendRecipients(b *app.Broadcast, contacts []app.BroadcastRecipient) error {
	tx.publishBroadcast(b.TeamID, b.ID)
	var written int64
	if err := tx.Row(`SELECT written FROM broadcasts WHERE id = ?`, []any{b.ID}, &written); err != nil {
		return err
	}
	for _, c := range contacts {
		fields, err := fieldsColumn(c.Fields)
		if err != nil {
			return err
		}
		written++
		err = tx.Write(`INSERT INTO broadcast_recipients (id, contact_id, email, fields, seen, recipient_language) VALUES (?, ?, ?, ?, 0, ?)`,
			app.BroadcastEmailID(b.EmailIDPrefix, written), c.ContactID, c.Email, fields, nullText(c.Language))
		if err != nil {
			return fmt.Errorf("insert recipient: %w", err)
		}
	}
	if err := tx.countLanguages(b.ID, contacts); err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE broadcasts SET written = ?, contact_id = ? WHERE id = ? AND status = 'queued' AND expanded = 0`,
		written, contacts[len(contacts)-1].ContactID, b.ID)
}

func fieldsColumn(fields map[string]string) (any, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	return jsonText(fields)
}

// ExpandCursor returns the last contact of a queued broadcast that was expanded; empty if
// none was. Error: ErrNotFound if the expansion ended.
func (r *Reader) ExpandCursor(broadcastID string) (contactID string, err error) {
	var cursor sql.NullString
	err = r.Row(`SELECT contact_id FROM broadcasts WHERE id = ? AND status = 'queued' AND expanded = 0`, []any{broadcastID}, &cursor)
	return cursor.String, err
}

// EndExpansion marks the expansion as finished and sets the audience to the number of
// recipients.
func (tx *Tx) EndExpansion(broadcastID string) error {
	if err := tx.Write(`UPDATE broadcasts SET expanded = 1, audience = written WHERE id = ? AND status = 'queued'`, broadcastID); err != nil {
		return err
	}
	return tx.finishBroadcast(broadcastID)
}

func scanRecipient(s scanner) (app.BroadcastRecipient, error) {
	var v app.BroadcastRecipient
	var fields, language sql.NullString
	if err := s.Scan(&v.ID, &v.ContactID, &v.Email, &fields, &v.Seen, &language); err != nil {
		return v, err
	}
	v.Language = language.String
	return v, fromJSON(fields, &v.Fields)
}

// BroadcastRecipient returns the recipient with that email id. The caller checks that the
// broadcast belongs to the team.
func (r *Reader) BroadcastRecipient(emailID string) (app.BroadcastRecipient, error) {
	return one(r, scanRecipient, `SELECT id, contact_id, email, fields, seen, recipient_language FROM broadcast_recipients WHERE id = ?`, emailID)
}

// Progress returns how many recipients of a broadcast were started and how many were
// expanded. Error: ErrNotFound unless it is queued and neither held nor paused.
func (r *Reader) Progress(broadcastID string) (begun, written int64, err error) {
	err = r.Row(`SELECT begun, written FROM broadcasts WHERE id = ? AND status = 'queued' AND held IS NULL AND paused_at IS NULL`, []any{broadcastID}, &begun, &written)
	return begun, written, err
}

// NextRecipients returns up to limit expanded recipients of a broadcast that were not
// started, in order.
func (r *Reader) NextRecipients(b *app.Broadcast, limit int) ([]app.BroadcastRecipient, error) {
	return list(r, scanRecipient, `SELECT id, contact_id, email, fields, seen, recipient_language FROM broadcast_recipients
		WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, app.BroadcastEmailID(b.EmailIDPrefix, b.Started), app.BroadcastEmailID(b.EmailIDPrefix, b.Stored), limit)
}

// BeginRecipients starts the next n recipients of a broadcast, of which open got a unit.
// It sets the last_sent_at of their contacts, because one statement costs a fraction of
// one for each result. Error: ErrNotFound, without changes, if the broadcast is held,
// paused or changed since b was read.
func (tx *Tx) BeginRecipients(b *app.Broadcast, n, open int) error {
	tx.publishBroadcast(b.TeamID, b.ID)
	err := tx.WriteOne(`UPDATE broadcasts SET begun = begun + ?, open = open + ? WHERE id = ? AND status = 'queued' AND held IS NULL AND paused_at IS NULL AND begun = ?`,
		n, open, b.ID, b.Started)
	if err != nil {
		return err
	}
	if open > 0 {
		return tx.raiseSent(b, app.BroadcastEmailID(b.EmailIDPrefix, b.Started), app.BroadcastEmailID(b.EmailIDPrefix, b.Started+int64(n)))
	}
	return tx.finishBroadcast(b.ID)
}

// MarkRecipient sets a bit of a broadcast's recipient and counts it the first time. It
// reports whether the bit was new.
func (tx *Tx) MarkRecipient(broadcastID, emailID string, bit app.Seen) (first bool, err error) {
	n, err := tx.Exec(`UPDATE broadcast_recipients SET seen = seen | ?1 WHERE id = ?2 AND seen & ?1 = 0`, int64(bit), emailID)
	if err != nil || n == 0 {
		return false, err
	}
	return true, tx.countBroadcast(broadcastID, emailID, bit)
}

// settleBroadcastRecipient records the outcome of a unit's recipient.
func (tx *Tx) settleBroadcastRecipient(u app.Unit, bit app.Seen) error {
	if err := tx.WriteOne(`UPDATE broadcast_recipients SET seen = seen | ? WHERE id = ? AND seen & ? = 0`, int64(bit), u.EmailID, int64(app.SeenEnded)); err != nil {
		return err
	}
	return tx.countBroadcast(u.BroadcastID, u.EmailID, bit)
}

// WaitingUnits returns up to limit open units of a broadcast that are not committed.
func (r *Reader) WaitingUnits(broadcastID string, limit int) ([]app.Unit, error) {
	return list(r, scanUnit, `SELECT `+unitColumns+` FROM units WHERE broadcast_id = ? AND state <> 'committed' LIMIT ?`, broadcastID, limit)
}

// CountCommitted returns the number of committed units of a broadcast: those after the
// final dot and without a result.
func (r *Reader) CountCommitted(broadcastID string) (n int64, err error) {
	err = r.Row(`SELECT count(*) FROM units WHERE broadcast_id = ? AND state = 'committed'`, []any{broadcastID}, &n)
	return n, err
}

// Outcome selects recipients of a broadcast.
type Outcome struct {
	With    app.Seen // bits of which one must be set; 0: any
	Without app.Seen // bits that must not be set
	Link    int      // number of a link that was clicked; negative: any
	Behind  int64    // recipients with higher numbers match With without its bits; negative: none
}

// OutcomeContacts returns the contacts that still exist of the recipients with numbers in
// (from, to] that match an outcome.
func (r *Reader) OutcomeContacts(b *app.Broadcast, o Outcome, from, to int64) ([]string, error) {
	maxID := lastID
	if o.Behind >= 0 {
		maxID = app.BroadcastEmailID(b.EmailIDPrefix, o.Behind)
	}
	return list(r, scanText, `SELECT r.contact_id FROM broadcast_recipients AS r
		WHERE r.id > ?1 AND r.id <= ?2 AND (CAST(?3 AS bigint) = 0 OR r.seen & ?3 <> 0 OR r.id > ?7) AND r.seen & ?4 = 0
		AND (CAST(?5 AS bigint) < 0 OR EXISTS (SELECT 1 FROM broadcast_clicks AS k WHERE k.recipient_id = r.id AND k.n = ?5))
		AND EXISTS (SELECT 1 FROM contacts AS c WHERE c.team_id = ?6 AND c.id = r.contact_id) ORDER BY r.id`,
		app.BroadcastEmailID(b.EmailIDPrefix, from), app.BroadcastEmailID(b.EmailIDPrefix, to), int64(o.With), int64(o.Without), o.Link, b.TeamID, maxID)
}

// LastExpandedContact returns the last contact that was added as a recipient of a
// broadcast; empty if there is none.
func (r *Reader) LastExpandedContact(broadcastID string) (contactID string, err error) {
	var cursor sql.NullString
	err = r.Row(`SELECT contact_id FROM broadcasts WHERE id = ?`, []any{broadcastID}, &cursor)
	return cursor.String, err
}

// LinkNumber returns the number of a link of a broadcast. Error: ErrNotFound.
func (r *Reader) LinkNumber(broadcastID, url string) (n int, err error) {
	err = r.Row(`SELECT n FROM broadcast_links WHERE broadcast_id = ? AND url = ? ORDER BY n LIMIT 1`, []any{broadcastID, url}, &n)
	return n, err
}
