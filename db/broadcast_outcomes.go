package db

import (
	"database/sql"

	"mailer/app"
)

// Outcome says which recipients of a broadcast are meant.
type Outcome struct {
	With    app.Seen // bits of which one is needed; 0: none
	Without app.Seen // bits of which there must be none
	Link    int      // that they followed; negative: any
	Behind  int64    // recipients with higher numbers have With without a bit of it; negative: none
}

// OutcomeContacts returns the contacts, as far as there still are such, of the recipients
// of a broadcast with numbers behind from, up to to, who fit an outcome.
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

// LastExpandedContact returns the last contact that was written down as a recipient of a
// broadcast; empty: none.
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
