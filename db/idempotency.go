package db

import "time"

// IdempotencyKey is what an answer is kept under: whose key it is, and of which
// operation.
type IdempotencyKey struct {
	TeamID string
	Scope  string // the id of a sending-only API key; empty: all others of the team
	Route  string
	Key    string
}

// IdempotentAnswer returns the hash and the answer kept for a key, when it is not
// older than since.
func (r *Reader) IdempotentAnswer(k IdempotencyKey, since time.Time) (hash []byte, response string, err error) {
	err = r.Row(`SELECT hash, response FROM idempotency WHERE team_id = ? AND scope = ? AND route = ? AND key = ? AND created_at > ?`,
		[]any{k.TeamID, k.Scope, k.Route, k.Key, milli(since)}, &hash, &response)
	return hash, response, err
}

// KeepAnswer stores the answer to a send under its Idempotency-Key; one that is not newer than
// since is replaced. Error: ErrNotFound where there is a newer one, of another process.
func (tx *Tx) KeepAnswer(k IdempotencyKey, hash []byte, response string, since time.Time) error {
	return tx.WriteOne(`INSERT INTO idempotency (team_id, scope, route, key, hash, response, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, scope, route, key) DO UPDATE SET hash = excluded.hash, response = excluded.response, created_at = excluded.created_at
			WHERE idempotency.created_at <= ?`,
		k.TeamID, k.Scope, k.Route, k.Key, hash, response, milli(tx.Now), milli(since))
}

// PurgeAnswers drops up to limit answers from before a time and says how many.
func (tx *Tx) PurgeAnswers(before time.Time, limit int) (int64, error) {
	return tx.Exec(`DELETE FROM idempotency WHERE (team_id, scope, route, key) IN
		(SELECT team_id, scope, route, key FROM idempotency WHERE created_at <= ? LIMIT ?)`, milli(before), limit)
}
