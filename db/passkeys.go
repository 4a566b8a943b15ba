package db

import (
	"database/sql"
	"time"
)

// Passkey is a WebAuthn credential of a person.
type Passkey struct {
	ID           string
	UserID       string
	CredentialID []byte
	Name         string
	Credential   string // JSON of the WebAuthn library, with a public key
	CreatedAt    time.Time
	LastUsedAt   time.Time // zero: never
}

const passkeyColumns = `id, user_id, credential_id, name, credential, created_at, last_used_at`

func scanPasskey(s scanner) (p Passkey, err error) {
	var created int64
	var used sql.NullInt64
	err = s.Scan(&p.ID, &p.UserID, &p.CredentialID, &p.Name, &p.Credential, &created, &used)
	p.CreatedAt, p.LastUsedAt = fromMilli(created), fromMilli(used.Int64)
	return p, err
}

// MaxPasskeys is the number of passkeys a person can have.
const MaxPasskeys = 20

// Passkeys returns the passkeys of a person, newest first.
func (r *Reader) Passkeys(userID string) ([]Passkey, error) {
	return list(r, scanPasskey, `SELECT `+passkeyColumns+` FROM passkeys WHERE user_id = ? ORDER BY id DESC LIMIT ?`, userID, MaxPasskeys)
}

// InsertPasskey adds a passkey. Error: ErrConflict if the credential exists.
func (tx *Tx) InsertPasskey(p *Passkey) error {
	n, err := tx.Exec(`INSERT INTO passkeys (id, user_id, credential_id, name, credential, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (credential_id) DO NOTHING`, p.ID, p.UserID, p.CredentialID, p.Name, p.Credential, milli(p.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// UsePasskey stores the changed credential after a sign-in that was requested at asked, in
// milliseconds. A request older than the last use is rejected, so that each response works
// once, on any server. Error: ErrNotFound, also for a rejected request.
func (tx *Tx) UsePasskey(userID string, credentialID []byte, credential string, asked time.Time) error {
	used := max(milli(tx.Now), milli(asked)+1)
	return tx.WriteOne(`UPDATE passkeys SET credential = ?, last_used_at = ? WHERE user_id = ? AND credential_id = ? AND (last_used_at IS NULL OR last_used_at <= ?)`,
		credential, used, userID, credentialID, milli(asked))
}

// DeletePasskey removes a passkey of a person. Error: ErrNotFound.
func (tx *Tx) DeletePasskey(userID, id string) error {
	return tx.WriteOne(`DELETE FROM passkeys WHERE user_id = ? AND id = ?`, userID, id)
}
