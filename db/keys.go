package db

import (
	"database/sql"

	"mailer/app"
)

// InsertKey adds an API key.
func (tx *Tx) InsertKey(k app.Key) error {
	_, err := tx.exec(`INSERT INTO keys (id, team_id, name, permission, role, domain_id, public, hash, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.TeamID, k.Name, string(k.Permission), string(k.Role), nullText(k.DomainID), k.Public, k.Hash, milli(k.CreatedAt))
	return err
}

// FindKey gives the key with that public part.
func (r *Reader) FindKey(public string) (app.Key, error) {
	stmt, err := r.stmt(`SELECT k.id, k.team_id, t.name, k.name, k.permission, k.role, k.domain_id, d.name, k.public, k.hash, k.created_at, k.last_used_at
		FROM keys AS k JOIN teams AS t ON t.id = k.team_id LEFT JOIN domains AS d ON d.id = k.domain_id
		WHERE k.public = ?`)
	if err != nil {
		return app.Key{}, err
	}
	k, err := scanKey(stmt.QueryRow(public))
	return k, notFound(err)
}

// ListKeys gives the keys of a team, newest first.
func (r *Reader) ListKeys(teamID string) ([]app.Key, error) {
	return list(&r.session, scanKey, `SELECT k.id, k.team_id, t.name, k.name, k.permission, k.role, k.domain_id, d.name, k.public, k.hash, k.created_at, k.last_used_at
		FROM keys AS k JOIN teams AS t ON t.id = k.team_id LEFT JOIN domains AS d ON d.id = k.domain_id
		WHERE k.team_id = ? ORDER BY k.id DESC`, teamID)
}

// DeleteKey revokes a key of any team: for the operator's command line.
func (tx *Tx) DeleteKey(id string) error {
	n, err := tx.exec(`DELETE FROM keys WHERE id = ?`, id)
	return oneRow(n, err, ErrNotFound)
}

// TouchKey notes when a key was last used, unless it was noted within the last
// minute: what the caller knows of that may be a second old.
func (tx *Tx) TouchKey(id string, ms int64) error {
	_, err := tx.exec(`UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)`, ms, id, ms-60_000)
	return err
}

func scanKey(s scanner) (app.Key, error) {
	var k app.Key
	var domainID, domainName sql.NullString
	var created int64
	var used sql.NullInt64
	err := s.Scan(&k.ID, &k.TeamID, &k.TeamName, &k.Name, &k.Permission, &k.Role, &domainID, &domainName, &k.Public, &k.Hash, &created, &used)
	k.DomainID, k.DomainName = domainID.String, domainName.String
	k.CreatedAt, k.LastUsedAt = fromMilli(created), fromMilli(used.Int64)
	return k, err
}
