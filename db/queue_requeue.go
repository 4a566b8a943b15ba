package db

import (
	"database/sql"

	"mailer/app"
)

// RequeueScope selects failed emails to send again.
type RequeueScope struct {
	TeamID   string
	Relay    string
	Captured bool // captured emails; else failed or bounced ones
}

// RequeueRange returns the last id of the next rows emails of all teams. Error:
// ErrNotFound at the end.
func (r *Reader) RequeueRange(after string, rows int) (upto string, err error) {
	var last sql.NullString
	err = r.Row(`SELECT max(e_open.id) FROM (SELECT id FROM emails WHERE id > ? ORDER BY id LIMIT ?) AS e_open`, []any{after, rows}, &last)
	if err == nil && !last.Valid {
		err = ErrNotFound
	}
	return last.String, err
}

// RequeueCandidate is an email that can be sent again.
type RequeueCandidate struct{ ID, TeamID string }

// RequeueCandidates returns the emails with ids after after, up to upto, that have a
// failed, bounced or captured recipient.
func (r *Reader) RequeueCandidates(in *RequeueScope, after, upto string) ([]RequeueCandidate, error) {
	scan := func(s scanner) (c RequeueCandidate, err error) { return c, s.Scan(&c.ID, &c.TeamID) }
	if in.Captured {
		return list(r, scan, `SELECT e.id, e.team_id FROM emails AS e WHERE e.id > ? AND e.id <= ? AND e.relay = ?
			AND (CAST(?4 AS text) IS NULL OR e.team_id = ?4) AND EXISTS (SELECT 1 FROM captures AS c WHERE c.email_id = e.id) ORDER BY e.id`,
			after, upto, app.CaptureRegion, nullText(in.TeamID))
	}
	return list(r, scan, `SELECT e.id, e.team_id FROM emails AS e WHERE e.id > ?1 AND e.id <= ?2
		AND e.last_event IN ('failed', 'bounced', 'suppressed', 'complained') AND (CAST(?3 AS text) IS NULL OR e.team_id = ?3) AND (CAST(?4 AS text) IS NULL OR e.relay = ?4)
		AND EXISTS (SELECT 1 FROM recipients AS p WHERE p.email_id = e.id AND p.state IN ('failed', 'bounced')) ORDER BY e.id`,
		after, upto, nullText(in.TeamID), nullText(in.Relay))
}

// RecipientState is a recipient of an email with its state.
type RecipientState struct {
	Address string
	State   app.LastEvent
}

// RecipientStates returns the envelope of an email with the state of each recipient.
func (r *Reader) RecipientStates(emailID string) ([]RecipientState, error) {
	return list(r, func(s scanner) (v RecipientState, err error) { return v, s.Scan(&v.Address, &v.State) },
		`SELECT address, state FROM recipients WHERE email_id = ? ORDER BY n`, emailID)
}

// HasContent returns nil if the content of an email is stored, else ErrNotFound.
func (r *Reader) HasContent(emailID string) error {
	return r.Exists(`SELECT 1 FROM emails AS e JOIN contents AS c ON c.email_id = e.id WHERE e.id = ? AND e.content_deleted_at IS NULL`, emailID)
}

// RequeueRecipient makes a recipient wait again, in the queue of its unit. Error: ErrNotFound if its state is not
// the given one.
func (tx *Tx) RequeueRecipient(emailID string, was RecipientState) error {
	return tx.WriteOne(`UPDATE recipients SET state = 'queued', queue = NULL WHERE email_id = ? AND address = ? AND state = ?`, emailID, was.Address, string(was.State))
}

// RequeueEmail resets the last event of an email and moves it to a relay.
func (tx *Tx) RequeueEmail(emailID, relay string) error {
	err := tx.Write(`UPDATE emails SET last_event = 'queued', relay = ? WHERE id = ?`, relay, emailID)
	return err
}

// RequeueBroadcastRecipient makes a failed or refused recipient of a broadcast wait again
// and reopens the broadcast. Error: ErrNotFound in any other state.
func (tx *Tx) RequeueBroadcastRecipient(broadcastID, emailID string) error {
	ended := int64(app.SeenEnded &^ (app.SeenFailed | app.SeenBounced))
	var seen int64
	err := tx.Row(`SELECT seen FROM broadcast_recipients WHERE id = ? AND seen & ? = 0 AND seen & ? <> 0`, []any{emailID, ended, int64(app.SeenFailed | app.SeenBounced)}, &seen)
	if err != nil {
		return err
	}
	if err := tx.Write(`UPDATE broadcast_recipients SET seen = seen & ? WHERE id = ?`, ^int64(app.SeenFailed|app.SeenBounced), emailID); err != nil {
		return err
	}
	has, err := tx.hasLanguages(broadcastID)
	if err != nil {
		return err
	}
	if has {
		fewer := map[app.Seen]int64{}
		for _, bit := range []app.Seen{app.SeenFailed, app.SeenBounced} {
			if app.Seen(seen)&bit != 0 {
				fewer[bit] = -1
			}
		}
		if err := tx.addToLanguage(broadcastID, emailID, fewer); err != nil {
			return err
		}
	}
	return tx.WriteOne(`UPDATE broadcasts SET status = 'queued', sent_at = NULL, open = open + 1,
		failed = failed - CASE WHEN CAST(?1 AS bigint) & 256 <> 0 THEN 1 ELSE 0 END, bounced = bounced - CASE WHEN ?1 & 32 <> 0 THEN 1 ELSE 0 END
		WHERE id = ?2 AND status IN ('queued', 'sent')`, seen, broadcastID)
}

// FailedRecipients returns at most limit broadcast emails after an id that failed or were
// refused, in id order.
func (r *Reader) FailedRecipients(mails, after string, limit int) ([]string, error) {
	return list(r, scanText, `SELECT id FROM broadcast_recipients WHERE id > ? AND id > ? AND id < ? AND seen & ? <> 0 ORDER BY id LIMIT ?`,
		after, mails, mails+lastID, int64(app.SeenFailed|app.SeenBounced), limit)
}
