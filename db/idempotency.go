package db

import "time"

// IdempotentAnswer returns the hash and the answer kept for a key of a team and
// route, when it is not older than since.
func (r *Reader) IdempotentAnswer(teamID, route, key string, since time.Time) (hash []byte, response string, err error) {
	err = r.row(`SELECT hash, response FROM idempotency WHERE team_id = ? AND route = ? AND key = ? AND created_at > ?`,
		[]any{teamID, route, key, milli(since)}, &hash, &response)
	return hash, response, err
}

// KeepAnswer stores the answer to a send under its Idempotency-Key; one that is
// out of date is replaced.
func (tx *Tx) KeepAnswer(teamID, route, key string, hash []byte, response string) error {
	_, err := tx.exec(`INSERT INTO idempotency (team_id, route, key, hash, response, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, route, key) DO UPDATE SET hash = excluded.hash, response = excluded.response, created_at = excluded.created_at`,
		teamID, route, key, hash, response, milli(tx.Now))
	return err
}

// PurgeAnswers drops up to limit answers from before a time and says how many.
func (tx *Tx) PurgeAnswers(before time.Time, limit int) (int64, error) {
	return tx.exec(`DELETE FROM idempotency WHERE (team_id, route, key) IN
		(SELECT team_id, route, key FROM idempotency WHERE created_at <= ? LIMIT ?)`, milli(before), limit)
}
