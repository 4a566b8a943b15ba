package db

// Factors tells which second factors of a person are in force: a one-time password, and
// passkeys.
func (r *Reader) Factors(userID string) (totp, passkey bool, err error) {
	err = r.row(`SELECT EXISTS (SELECT 1 FROM totp WHERE user_id = ?1 AND confirmed_at IS NOT NULL),
		EXISTS (SELECT 1 FROM passkeys WHERE user_id = ?1)`, []any{userID}, &totp, &passkey)
	return totp, passkey, err
}

// CountRecoveryCodes returns how many recovery codes of a person are left.
func (r *Reader) CountRecoveryCodes(userID string) (n int, err error) {
	err = r.row(`SELECT count(*) FROM recovery_codes WHERE user_id = ?`, []any{userID}, &n)
	return n, err
}
