package db

import (
	"database/sql"

	"mailer/app"
	"mailer/db/engine"
)

// InsertKey adds an API key.
func (tx *Tx) InsertKey(k app.Key) error {
	tx.Changed(engine.Control)
	allowed, err := asJSON(k.AllowedIPs)
	if err != nil {
		return err
	}
	err = tx.Write(`INSERT INTO keys (id, team_id, name, permission, role, domain_id, public, hash, expires_at, allowed_ips, made_by, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.TeamID, k.Name, string(k.Permission), string(k.Role), nullText(k.DomainID), k.Public, k.Hash, nullTime(k.ExpiresAt), allowed, nullText(k.CreatedBy), milli(k.CreatedAt))
	return err
}

const (
	keyColumns = `k.id, k.team_id, t.name, k.name, k.permission, k.role, k.domain_id, d.name, k.public, k.hash, k.expires_at, k.allowed_ips, k.made_by, k.created_at, k.last_used_at`
	keyTables  = `keys AS k JOIN teams AS t ON t.id = k.team_id LEFT JOIN domains AS d ON d.id = k.domain_id`
)

// FindKey returns the key with a public part.
func (r *Reader) FindKey(public string) (app.Key, error) {
	return one(r, scanKey, `SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.public = ?`, public)
}

// Key returns one key of a team.
func (r *Reader) Key(teamID, id string) (app.Key, error) {
	return one(r, scanKey, `SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.team_id = ? AND k.id = ?`, teamID, id)
}

// AnyKey returns the key of any team with an id, for the operator's command line.
func (r *Reader) AnyKey(id string) (app.Key, error) {
	return one(r, scanKey, `SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.id = ?`, id)
}

// AllKeys returns the keys of a team, newest first, for the operator's command line.
func (r *Reader) AllKeys(teamID string) ([]app.Key, error) {
	return list(r, scanKey, `SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.team_id = ? ORDER BY k.id DESC`, teamID)
}

// KeysMadeBy returns the keys that a person created, oldest first, in one team or, for "",
// in all teams.
func (r *Reader) KeysMadeBy(userID, teamID string) ([]app.Key, error) {
	return list(r, scanKey, `SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.made_by = ?1 AND (?2 = '' OR k.team_id = ?2) ORDER BY k.id`, userID, teamID)
}

// KeysOfDomain returns the keys of a team that are restricted to a domain.
func (r *Reader) KeysOfDomain(teamID, domainID string) ([]app.Key, error) {
	return list(r, scanKey, `SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.team_id = ? AND k.domain_id = ? ORDER BY k.id`, teamID, domainID)
}

// ListKeys returns a page of a team's keys, newest first, and whether there are more.
// Error: ErrNotFound for an unknown cursor.
func (r *Reader) ListKeys(teamID string, page app.Page) ([]app.Key, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Key(teamID, cursor)) }, scanKey,
		`SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.team_id = ? AND k.id < ? ORDER BY k.id DESC LIMIT ?`,
		`SELECT `+keyColumns+` FROM `+keyTables+` WHERE k.team_id = ? AND k.id > ? ORDER BY k.id LIMIT ?`, teamID)
}

// UpdateKey stores the editable fields of a team's key: name, expiry and allowed IP
// ranges.
func (tx *Tx) UpdateKey(k *app.Key) error {
	tx.Changed(engine.Control)
	allowed, err := asJSON(k.AllowedIPs)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE keys SET name = ?, expires_at = ?, allowed_ips = ? WHERE team_id = ? AND id = ?`, k.Name, nullTime(k.ExpiresAt), allowed, k.TeamID, k.ID)
}

// DeleteTeamKey deletes a key of a team.
func (tx *Tx) DeleteTeamKey(teamID, id string) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`DELETE FROM keys WHERE team_id = ? AND id = ?`, teamID, id)
}

// TouchKey records the last use of a key, at most once a minute.
func (tx *Tx) TouchKey(id string, ms int64) error {
	err := tx.Write(`UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)`, ms, id, ms-60_000)
	return err
}

func scanKey(s scanner) (app.Key, error) {
	var k app.Key
	var domainID, domainName, allowed, maker sql.NullString
	var created int64
	var expires, used sql.NullInt64
	err := s.Scan(&k.ID, &k.TeamID, &k.TeamName, &k.Name, &k.Permission, &k.Role, &domainID, &domainName, &k.Public, &k.Hash, &expires, &allowed, &maker, &created, &used)
	if err != nil {
		return k, err
	}
	k.DomainID, k.DomainName, k.CreatedBy = domainID.String, domainName.String, maker.String
	k.ExpiresAt, k.CreatedAt, k.LastUsedAt = fromMilli(expires.Int64), fromMilli(created), fromMilli(used.Int64)
	return k, fromJSON(allowed, &k.AllowedIPs)
}
