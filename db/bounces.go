package db

// RecipientNumber gives the number of an address in the envelope of an email.
// Error: ErrNotFound.
func (r *Reader) RecipientNumber(emailID, address string) (n int, err error) {
	err = r.row(`SELECT n FROM recipients WHERE email_id = ? AND address = ?`, []any{emailID, address}, &n)
	return n, err
}
