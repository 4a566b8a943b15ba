package db

// EnvelopeNumbers gives the recipients of an email by their number; empty for an email
// that is not there (any more). Its team is not asked for: the id comes out of a
// return path that this server signed.
func (r *Reader) EnvelopeNumbers(emailID string) (map[int]string, error) {
	type recipient struct {
		n       int
		address string
	}
	rows, err := list(&r.session, func(s scanner) (x recipient, err error) {
		err = s.Scan(&x.n, &x.address)
		return x, err
	}, `SELECT n, address FROM recipients WHERE email_id = ? ORDER BY n`, emailID)
	envelope := make(map[int]string, len(rows))
	for _, x := range rows {
		envelope[x.n] = x.address
	}
	return envelope, err
}

// RecipientNumber gives the number of an address in the envelope of an email.
// Error: ErrNotFound.
func (r *Reader) RecipientNumber(emailID, address string) (n int, err error) {
	err = r.row(`SELECT n FROM recipients WHERE email_id = ? AND address = ?`, []any{emailID, address}, &n)
	return n, err
}
