package db

// EmailIDs returns at most limit ids of a team's emails after an id.
func (r *Reader) EmailIDs(teamID, after string, limit int) ([]string, error) {
	return list(r, scanText, `SELECT id FROM emails WHERE team_id = ? AND id > ? ORDER BY id LIMIT ?`, teamID, after, limit)
}

// ContentSize returns the approximate content size of an email in bytes without reading
// the content.
func (r *Reader) ContentSize(emailID string) (bytes int64, err error) {
	err = r.Row(`SELECT coalesce((SELECT coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.plain), 0) + coalesce(octet_length(c.headers), 0) + coalesce(c.raw, 0) FROM contents AS c WHERE c.email_id = ?1), 0)
		+ coalesce((SELECT sum(a.size) FROM attachments AS a WHERE a.email_id = ?1), 0)
		+ coalesce((SELECT octet_length(m.message) FROM captures AS m WHERE m.email_id = ?1), 0)`, []any{emailID}, &bytes)
	return bytes, err
}

// TeamRows returns the approximate number of a team's broadcast recipients and the number
// of its contacts.
func (r *Reader) TeamRows(teamID string) (recipients, contacts int64, err error) {
	err = r.Row(`SELECT (SELECT coalesce(sum(b.written), 0) FROM broadcasts AS b WHERE b.team_id = t.id AND b.aged = 0), t.contacts FROM teams AS t WHERE t.id = ?`,
		[]any{teamID}, &recipients, &contacts)
	return recipients, contacts, err
}
