package db

import "time"

// TOTP is a person's time-based one-time password (RFC 6238).
type TOTP struct {
	Sealed    []byte // the secret
	Step      int64  // the last step that was used
	Confirmed bool   // in use
	Wrong     WrongCodes
}

// WrongCodes counts the recent wrong one-time passwords of a person.
type WrongCodes struct {
	Since          time.Time // time of the first
	Known, Unknown int       // from known browsers, and from others
}

// Factors reports which second factors of a person are in use: one-time passwords and
// passkeys.
func (r *Reader) Factors(userID string) (totp, passkey bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM totp WHERE user_id = ?1 AND confirmed_at IS NOT NULL),
		EXISTS (SELECT 1 FROM passkeys WHERE user_id = ?1)`, []any{userID}, &totp, &passkey)
	return totp, passkey, err
}

// TOTP returns the one-time password of a person, confirmed or not.
func (r *Reader) TOTP(userID string) (t TOTP, err error) {
	var since int64
	err = r.Row(`SELECT sealed, step, confirmed_at IS NOT NULL, wrong, wrong_known, wrong_since FROM totp WHERE user_id = ?`, []any{userID},
		&t.Sealed, &t.Step, &t.Confirmed, &t.Wrong.Unknown, &t.Wrong.Known, &since)
	t.Wrong.Since = fromMilli(since)
	return t, err
}

// PutTOTP stores an unconfirmed secret and replaces another unconfirmed one. Error:
// ErrConflict if a secret is confirmed.
func (tx *Tx) PutTOTP(userID string, sealed []byte) error {
	n, err := tx.Exec(`INSERT INTO totp (user_id, sealed, step) VALUES (?, ?, 0)
		ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed, step = 0 WHERE totp.confirmed_at IS NULL`, userID, sealed)
	return oneRow(n, err, ErrConflict)
}

// ConfirmTOTP confirms the secret. Error: ErrNotFound.
func (tx *Tx) ConfirmTOTP(userID string) error {
	return tx.WriteOne(`UPDATE totp SET confirmed_at = ? WHERE user_id = ?`, milli(tx.Now), userID)
}

// UseTOTP records the use of a step, so that this step and earlier ones are rejected
// later. Error: ErrConflict if this step or a later one was used.
func (tx *Tx) UseTOTP(userID string, step int64) error {
	n, err := tx.Exec(`UPDATE totp SET step = ?1 WHERE user_id = ?2 AND step < ?1`, step, userID)
	return oneRow(n, err, ErrConflict)
}

// SetWrongCodes stores the wrong one-time passwords of a person. It does nothing if the
// person has no secret.
func (tx *Tx) SetWrongCodes(userID string, w WrongCodes) error {
	return tx.Write(`UPDATE totp SET wrong = ?, wrong_known = ?, wrong_since = ? WHERE user_id = ?`, w.Unknown, w.Known, milli(w.Since), userID)
}

// DropTOTP deletes the one-time password of a person. Error: ErrNotFound.
func (tx *Tx) DropTOTP(userID string) error {
	return tx.WriteOne(`DELETE FROM totp WHERE user_id = ?`, userID)
}

// CountRecoveryCodes returns the number of unused recovery codes of a person.
func (r *Reader) CountRecoveryCodes(userID string) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM recovery_codes WHERE user_id = ?`, []any{userID}, &n)
	return n, err
}

// SetRecoveryCodes replaces all recovery codes of a person by the given hashes.
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

// UseRecoveryCode deletes a recovery code. Error: ErrNotFound.
func (tx *Tx) UseRecoveryCode(userID string, hash []byte) error {
	return tx.WriteOne(`DELETE FROM recovery_codes WHERE user_id = ? AND hash = ?`, userID, hash)
}

// DropSecondFactors deletes all second factors of a person, and reports whether there was
// one.
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
