package db

import (
	"database/sql"

	"mailer/app"
)

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
