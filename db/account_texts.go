package db

// InsertAccountText stores the sealed content of an email that Mailer itself sends to a
// person.
func (tx *Tx) InsertAccountText(emailID string, sealed []byte) error {
	return tx.Write(`INSERT INTO account_texts (email_id, sealed) VALUES (?, ?)`, emailID, sealed)
}

// AccountText returns the sealed content of an email that Mailer itself sent to a person.
// Error: ErrNotFound if the content was deleted or erased.
func (r *Reader) AccountText(emailID string) (sealed []byte, err error) {
	err = r.Row(`SELECT sealed FROM account_texts WHERE email_id = ?`, []any{emailID}, &sealed)
	return sealed, err
}

// IsAccountMail reports whether Mailer itself sent an email to a person.
func (r *Reader) IsAccountMail(emailID string) (is bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM emails WHERE id = ? AND source = 'account')`, []any{emailID}, &is)
	return is, err
}
