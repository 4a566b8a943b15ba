package db

import (
	"database/sql"

	"mailer/app"
)

// InsertDoubt stores a transaction whose outcome is unknown.
func (tx *Tx) InsertDoubt(d app.Doubt) error {
	recipients, err := asJSON(d.Recipients)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO doubts (id, team_id, email_id, broadcast_id, recipients, relay, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		d.ID, d.TeamID, d.EmailID, nullText(d.BroadcastID), recipients, d.Relay, milli(d.CreatedAt))
	return err
}

// SettleDoubts settles the open doubts of an email; how is a text about the outcome.
func (tx *Tx) SettleDoubts(emailID, how string) error {
	err := tx.Write(`UPDATE doubts SET settled_at = ?, settled = ? WHERE email_id = ? AND settled_at IS NULL`, milli(tx.Now), how, emailID)
	return err
}

const doubtColumns = `d.id, d.team_id, d.email_id, d.broadcast_id, e.message_id, b.sender, d.recipients, d.relay, d.created_at, d.settled_at, d.settled
	FROM doubts AS d LEFT JOIN emails AS e ON e.id = d.email_id LEFT JOIN broadcasts AS b ON b.id = d.broadcast_id`

func scanDoubt(s scanner) (app.Doubt, error) {
	var d app.Doubt
	var broadcast, message, sender, recipients, settled sql.NullString
	var created int64
	var settledAt sql.NullInt64
	if err := s.Scan(&d.ID, &d.TeamID, &d.EmailID, &broadcast, &message, &sender, &recipients, &d.Relay, &created, &settledAt, &settled); err != nil {
		return d, err
	}
	var from []app.Address
	if err := fromJSON(sender, &from); err != nil {
		return d, err
	}
	if d.BroadcastID, d.MessageID = broadcast.String, message.String; len(from) == 1 {
		d.MessageID = app.EmailMessageID(d.EmailID, from[0].Domain)
	}
	d.CreatedAt, d.SettledAt, d.Settled = fromMilli(created), fromMilli(settledAt.Int64), settled.String
	return d, fromJSON(recipients, &d.Recipients)
}

// ListDoubts returns at most limit doubts of all teams after the id cursor, oldest first,
// for the operator.
func (r *Reader) ListDoubts(after string, limit int) ([]app.Doubt, error) {
	return list(r, scanDoubt, `SELECT `+doubtColumns+` WHERE d.id > ? ORDER BY d.id LIMIT ?`, after, limit)
}

// DoubtsOf returns a page of the doubts of a team, or of all teams for "", newest first,
// and whether there are more in the direction of the page. Error: ErrNotFound for a cursor
// that is not in that list.
func (r *Reader) DoubtsOf(teamID string, page app.Page) ([]app.Doubt, bool, error) {
	exists := func(cursor string) error {
		var n int
		return r.Row(`SELECT 1 FROM doubts WHERE id = ? AND ? IN ('', team_id)`, []any{cursor, teamID}, &n)
	}
	if teamID == "" {
		return listPage(r, page, exists, scanDoubt, `SELECT `+doubtColumns+` WHERE d.id < ? ORDER BY d.id DESC LIMIT ?`, `SELECT `+doubtColumns+` WHERE d.id > ? ORDER BY d.id LIMIT ?`)
	}
	return listPage(r, page, exists, scanDoubt, `SELECT `+doubtColumns+` WHERE d.team_id = ? AND d.id < ? ORDER BY d.id DESC LIMIT ?`,
		`SELECT `+doubtColumns+` WHERE d.team_id = ? AND d.id > ? ORDER BY d.id LIMIT ?`, teamID)
}

// OpenDoubts counts the open doubts by relay.
func (r *Reader) OpenDoubts() (map[string]int64, error) {
	type count struct {
		relay string
		n     int64
	}
	rows, err := list(r, func(s scanner) (c count, err error) { return c, s.Scan(&c.relay, &c.n) },
		`SELECT relay, count(*) FROM doubts WHERE settled_at IS NULL GROUP BY relay`)
	out := map[string]int64{}
	for _, c := range rows {
		out[c.relay] = c.n
	}
	return out, err
}

// EmailsInDoubt returns the ids of the emails with open doubts.
func (r *Reader) EmailsInDoubt() (map[string]bool, error) {
	ids, err := list(r, scanText, `SELECT DISTINCT email_id FROM doubts WHERE settled_at IS NULL`)
	out := make(map[string]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out, err
}

// InDoubt reports whether an email has an open doubt.
func (r *Reader) InDoubt(emailID string) (bool, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM doubts WHERE email_id = ? AND settled_at IS NULL`, []any{emailID}, &n)
	return n > 0, err
}

// CountDoubts returns the number of doubts of an email.
func (r *Reader) CountDoubts(emailID string) (int, error) {
	var n int
	err := r.Row(`SELECT count(*) FROM doubts WHERE email_id = ?`, []any{emailID}, &n)
	return n, err
}
