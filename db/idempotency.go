package db

import "time"

// IdempotencyKey identifies a stored response: team, scope, operation and the caller's
// key.
type IdempotencyKey struct {
	TeamID string
	Scope  string // the id of a sending-only API key; empty: all other callers of the team
	Route  string
	Key    string
}

// IdempotentAnswer returns the request hash and the stored response of a key, if it was
// stored at or after since.
func (r *Reader) IdempotentAnswer(k IdempotencyKey, since time.Time) (hash []byte, response string, err error) {
	var created int64
	err = r.Row(`SELECT hash, response, created_at FROM idempotency WHERE team_id = ? AND scope = ? AND route = ? AND key = ?`,
		[]any{k.TeamID, k.Scope, k.Route, k.Key}, &hash, &response, &created)
	if err == nil && created <= milli(since) {
		return nil, "", ErrNotFound
	}
	return hash, response, err
}

// KeepAnswer stores the response to a send and replaces one stored before since. Error:
// ErrNotFound if another process stored a newer one.
func (tx *Tx) KeepAnswer(k IdempotencyKey, hash []byte, response string, since time.Time) error {
	return tx.WriteOne(`INSERT INTO idempotency (team_id, scope, route, key, hash, response, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, scope, route, key) DO UPDATE SET hash = excluded.hash, response = excluded.response, created_at = excluded.created_at
			WHERE idempotency.created_at <= ?`,
		k.TeamID, k.Scope, k.Route, k.Key, hash, response, milli(tx.Now), milli(since))
}

// PurgeAnswers deletes up to limit responses stored before a time and returns their
// number.
func (tx *Tx) PurgeAnswers(before time.Time, limit int) (int64, error) {
	return tx.Exec(`DELETE FROM idempotency WHERE (team_id, scope, route, key) IN
		(SELECT team_id, scope, route, key FROM idempotency WHERE created_at <= ? LIMIT ?)`, milli(before), limit)
}
