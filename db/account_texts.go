package db

// InsertAccountText keeps what an email of Mailer's own to a person says, sealed.
func (tx *Tx) InsertAccountText(emailID string, sealed []byte) error {
	return tx.Write(`INSERT INTO account_texts (email_id, sealed) VALUES (?, ?)`, emailID, sealed)
}

// AccountText returns what an email of Mailer's own to a person says, sealed. Error:
// ErrNotFound where its content is gone, or was erased.
func (r *Reader) AccountText(emailID string) (sealed []byte, err error) {
	err = r.Row(`SELECT sealed FROM account_texts WHERE email_id = ?`, []any{emailID}, &sealed)
	return sealed, err
}

// IsAccountMail reports whether an email is one of Mailer's own to a person.
func (r *Reader) IsAccountMail(emailID string) (is bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM emails WHERE id = ? AND source = 'account')`, []any{emailID}, &is)
	return is, err
}
