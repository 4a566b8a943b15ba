package db

import "time"

// TOTP is the second factor of a person that makes one-time passwords (RFC 6238).
type TOTP struct {
	Sealed    []byte // the secret
	Step      int64  // the latest that was used
	Confirmed bool   // in force
	Wrong     WrongCodes
}

// WrongCodes are the wrong one-time passwords that were tried for a person lately.
type WrongCodes struct {
	Since          time.Time // when the first of them came
	Known, Unknown int       // in browsers that the person signed in with before, and in others
}

// Factors tells which second factors of a person are in force: a one-time password, and
// passkeys.
func (r *Reader) Factors(userID string) (totp, passkey bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM totp WHERE user_id = ?1 AND confirmed_at IS NOT NULL),
		EXISTS (SELECT 1 FROM passkeys WHERE user_id = ?1)`, []any{userID}, &totp, &passkey)
	return totp, passkey, err
}

// TOTP returns the one-time passwords of a person, in force or not yet.
func (r *Reader) TOTP(userID string) (t TOTP, err error) {
	var since int64
	err = r.Row(`SELECT sealed, step, confirmed_at IS NOT NULL, wrong, wrong_known, wrong_since FROM totp WHERE user_id = ?`, []any{userID},
		&t.Sealed, &t.Step, &t.Confirmed, &t.Wrong.Unknown, &t.Wrong.Known, &since)
	t.Wrong.Since = fromMilli(since)
	return t, err
}

// PutTOTP keeps a secret that is not in force yet, in place of another such one. Error:
// ErrConflict where one is in force.
func (tx *Tx) PutTOTP(userID string, sealed []byte) error {
	n, err := tx.Exec(`INSERT INTO totp (user_id, sealed, step) VALUES (?, ?, 0)
		ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed, step = 0 WHERE totp.confirmed_at IS NULL`, userID, sealed)
	return oneRow(n, err, ErrConflict)
}

// ConfirmTOTP puts one-time passwords in force. Error: ErrNotFound.
func (tx *Tx) ConfirmTOTP(userID string) error {
	return tx.WriteOne(`UPDATE totp SET confirmed_at = ? WHERE user_id = ?`, milli(tx.Now), userID)
}

// UseTOTP notes that the password of a step was used, so that neither it nor one before
// counts again. Error: ErrConflict where one of it or behind was.
func (tx *Tx) UseTOTP(userID string, step int64) error {
	n, err := tx.Exec(`UPDATE totp SET step = ?1 WHERE user_id = ?2 AND step < ?1`, step, userID)
	return oneRow(n, err, ErrConflict)
}

// SetWrongCodes writes down the wrong one-time passwords of a person; nothing where the
// person has none to guess at.
func (tx *Tx) SetWrongCodes(userID string, w WrongCodes) error {
	return tx.Write(`UPDATE totp SET wrong = ?, wrong_known = ?, wrong_since = ? WHERE user_id = ?`, w.Unknown, w.Known, milli(w.Since), userID)
}

// DropTOTP ends the one-time passwords of a person. Error: ErrNotFound.
func (tx *Tx) DropTOTP(userID string) error {
	return tx.WriteOne(`DELETE FROM totp WHERE user_id = ?`, userID)
}

// CountRecoveryCodes returns how many recovery codes of a person are left.
func (r *Reader) CountRecoveryCodes(userID string) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM recovery_codes WHERE user_id = ?`, []any{userID}, &n)
	return n, err
}

// SetRecoveryCodes keeps the hashes of recovery codes in place of all others.
func (tx *Tx) SetRecoveryCodes(userID string, hashes [][]byte) error {
	if err := tx.Write(`DELETE FROM recovery_codes WHERE user_id = ?`, userID); err != nil {
		return err
	}
	for _, hash := range hashes {
		if err := tx.Write(`INSERT INTO recovery_codes (user_id, hash) VALUES (?, ?)`, userID, hash); err != nil {
			return err
		}
	}
	return nil
}

// UseRecoveryCode ends a recovery code. Error: ErrNotFound.
func (tx *Tx) UseRecoveryCode(userID string, hash []byte) error {
	return tx.WriteOne(`DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?`, userID, hash)
}

// DropSecondFactors ends all second factors of a person, and reports whether there was one.
func (tx *Tx) DropSecondFactors(userID string) (had bool, err error) {
	for _, statement := range []string{
		`DELETE FROM totp WHERE user_id = ?`, `DELETE FROM passkeys WHERE user_id = ?`, `DELETE FROM recovery_codes WHERE user_id = ?`,
	} {
		n, err := tx.Exec(statement, userID)
		if err != nil {
			return false, err
		}
		had = had || n > 0
	}
	return had, nil
}
