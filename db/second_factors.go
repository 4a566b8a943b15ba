package db

import (
	"database/sql"
	"time"
)

// TOTP is the second factor of a person that makes one-time passwords (RFC 6238).
type TOTP struct {
	Sealed    []byte // the secret
	Step      int64  // the latest that was used
	Confirmed bool   // in force
}

// Factors tells which second factors of a person are in force: a one-time password, and
// passkeys.
func (r *Reader) Factors(userID string) (totp, passkey bool, err error) {
	err = r.row(`SELECT EXISTS (SELECT 1 FROM totp WHERE user_id = ?1 AND confirmed_at IS NOT NULL),
		EXISTS (SELECT 1 FROM passkeys WHERE user_id = ?1)`, []any{userID}, &totp, &passkey)
	return totp, passkey, err
}

// TOTP returns the one-time passwords of a person, in force or not yet.
func (r *Reader) TOTP(userID string) (t TOTP, err error) {
	err = r.row(`SELECT sealed, step, confirmed_at IS NOT NULL FROM totp WHERE user_id = ?`, []any{userID}, &t.Sealed, &t.Step, &t.Confirmed)
	return t, err
}

// PutTOTP keeps a secret that is not in force yet, in place of another such one. Error:
// ErrConflict where one is in force.
func (tx *Tx) PutTOTP(userID string, sealed []byte) error {
	n, err := tx.exec(`INSERT INTO totp (user_id, sealed, step) VALUES (?, ?, 0)
		ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed, step = 0 WHERE totp.confirmed_at IS NULL`, userID, sealed)
	return oneRow(n, err, ErrConflict)
}

// ConfirmTOTP puts one-time passwords in force. Error: ErrNotFound.
func (tx *Tx) ConfirmTOTP(userID string) error {
	n, err := tx.exec(`UPDATE totp SET confirmed_at = ? WHERE user_id = ?`, milli(tx.Now), userID)
	return oneRow(n, err, ErrNotFound)
}

// UseTOTP notes that the password of a step was used, so that neither it nor one before
// counts again. Error: ErrConflict where one of it or behind was.
func (tx *Tx) UseTOTP(userID string, step int64) error {
	n, err := tx.exec(`UPDATE totp SET step = ?1 WHERE user_id = ?2 AND step < ?1`, step, userID)
	return oneRow(n, err, ErrConflict)
}

// DropTOTP ends the one-time passwords of a person. Error: ErrNotFound.
func (tx *Tx) DropTOTP(userID string) error {
	n, err := tx.exec(`DELETE FROM totp WHERE user_id = ?`, userID)
	return oneRow(n, err, ErrNotFound)
}

// CountRecoveryCodes returns how many recovery codes of a person are left.
func (r *Reader) CountRecoveryCodes(userID string) (n int, err error) {
	err = r.row(`SELECT count(*) FROM recovery_codes WHERE user_id = ?`, []any{userID}, &n)
	return n, err
}

// SetRecoveryCodes keeps the hashes of recovery codes in place of all others.
func (tx *Tx) SetRecoveryCodes(userID string, hashes [][]byte) error {
	if _, err := tx.exec(`DELETE FROM recovery_codes WHERE user_id = ?`, userID); err != nil {
		return err
	}
	for _, hash := range hashes {
		if _, err := tx.exec(`INSERT INTO recovery_codes (user_id, hash) VALUES (?, ?)`, userID, hash); err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode ends a recovery code. Error: ErrNotFound.
func (tx *Tx) UseRecoveryCode(userID string, hash []byte) error {
	n, err := tx.exec(`DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?`, userID, hash)
	return oneRow(n, err, ErrNotFound)
}

// DropSecondFactors ends all second factors of a person, and reports whether there was one.
func (tx *Tx) DropSecondFactors(userID string) (had bool, err error) {
	for _, statement := range []string{
		`DELETE FROM totp WHERE user_id = ?`, `DELETE FROM passkeys WHERE user_id = ?`, `DELETE FROM recovery_codes WHERE user_id = ?`,
	} {
		n, err := tx.exec(statement, userID)
		if err != nil {
			return false, err
		}
		had = had || n > 0
	}
	return had, nil
}

// Passkey is a key of a person's device (WebAuthn).
type Passkey struct {
	ID           string
	UserID       string
	CredentialID []byte
	Name         string
	Credential   string // JSON, the library's own; a public key
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

// MaxPasskeys is how many passkeys a person can have.
const MaxPasskeys = 20

// Passkeys returns the passkeys of a person, newest first.
func (r *Reader) Passkeys(userID string) ([]Passkey, error) {
	return list(&r.session, scanPasskey, `SELECT `+passkeyColumns+` FROM passkeys WHERE user_id = ? ORDER BY id DESC LIMIT ?`, userID, MaxPasskeys)
}

// InsertPasskey adds a passkey. Errors: ErrConflict for one that somebody has.
func (tx *Tx) InsertPasskey(p *Passkey) error {
	n, err := tx.exec(`INSERT INTO passkeys (id, user_id, credential_id, name, credential, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (credential_id) DO NOTHING`, p.ID, p.UserID, p.CredentialID, p.Name, p.Credential, milli(p.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// UsePasskey keeps what changed of a passkey with its use. Error: ErrNotFound.
func (tx *Tx) UsePasskey(userID string, credentialID []byte, credential string) error {
	n, err := tx.exec(`UPDATE passkeys SET credential = ?, last_used_at = ? WHERE user_id = ? AND credential_id = ?`, credential, milli(tx.Now), userID, credentialID)
	return oneRow(n, err, ErrNotFound)
}

// DeletePasskey removes a passkey of a person. Error: ErrNotFound.
func (tx *Tx) DeletePasskey(userID, id string) error {
	n, err := tx.exec(`DELETE FROM passkeys WHERE user_id = ? AND id = ?`, userID, id)
	return oneRow(n, err, ErrNotFound)
}
