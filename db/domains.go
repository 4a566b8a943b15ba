package db

import (
	"mailer/app"
)

const domainColumns = `id, team_id, name, status, region, return_path, selector, dkim_public, dkim_sealed, created_at`

// InsertDomain adds a domain. Error: ErrConflict when the team has it already.
func (tx *Tx) InsertDomain(d app.Domain) error {
	n, err := tx.exec(`INSERT INTO domains (id, team_id, name, status, region, return_path, selector, dkim_public, dkim_sealed, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, name) DO NOTHING`,
		d.ID, d.TeamID, d.Name, string(d.Status), d.Region, d.ReturnPath, d.Selector, d.DKIMPublic, d.DKIMSealed, milli(d.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// SetDomainStatus moves a domain's status.
func (tx *Tx) SetDomainStatus(teamID, id string, status app.DomainStatus) error {
	n, err := tx.exec(`UPDATE domains SET status = ? WHERE team_id = ? AND id = ?`, string(status), teamID, id)
	return oneRow(n, err, ErrNotFound)
}

// DomainByName gives the team's domain of that name.
func (r *Reader) DomainByName(teamID, name string) (app.Domain, error) {
	stmt, err := r.stmt(`SELECT ` + domainColumns + ` FROM domains WHERE team_id = ? AND name = ?`)
	if err != nil {
		return app.Domain{}, err
	}
	d, err := scanDomain(stmt.QueryRow(teamID, name))
	return d, notFound(err)
}

// DomainStatus gives region and status of the team's domain of that name.
func (r *Reader) DomainStatus(teamID, name string) (region string, status app.DomainStatus, err error) {
	err = r.row(`SELECT region, status FROM domains WHERE team_id = ? AND name = ?`, []any{teamID, name}, &region, &status)
	return region, status, err
}

// ListDomains gives the domains of a team, newest first.
func (r *Reader) ListDomains(teamID string) ([]app.Domain, error) {
	return list(&r.session, scanDomain, `SELECT `+domainColumns+` FROM domains WHERE team_id = ? ORDER BY id DESC`, teamID)
}

func scanDomain(s scanner) (app.Domain, error) {
	var d app.Domain
	var created int64
	err := s.Scan(&d.ID, &d.TeamID, &d.Name, &d.Status, &d.Region, &d.ReturnPath, &d.Selector, &d.DKIMPublic, &d.DKIMSealed, &created)
	d.CreatedAt = fromMilli(created)
	return d, err
}
