package db

import (
	"database/sql"
	"errors"

	"mailer/app"
)

// InsertTeam adds a team. Error: ErrConflict for a name that exists.
func (tx *Tx) InsertTeam(t app.Team) error {
	n, err := tx.exec(`INSERT INTO teams (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING`,
		t.ID, t.Name, milli(t.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// FindTeam returns the team with that name or id; the first team for "". One that is being
// deleted is none.
func (r *Reader) FindTeam(nameOrID string) (app.Team, error) {
	if nameOrID == "" {
		return one(&r.session, scanTeam, `SELECT id, name, created_at FROM teams WHERE deleted_at IS NULL ORDER BY id LIMIT 1`)
	}
	return one(&r.session, scanTeam, `SELECT id, name, created_at FROM teams WHERE (name = ? OR id = ?) AND deleted_at IS NULL`, nameOrID, nameOrID)
}

// TeamName returns the name of a team by its id.
func (r *Reader) TeamName(id string) (name string, err error) {
	err = r.row(`SELECT name FROM teams WHERE id = ?`, []any{id}, &name)
	return name, err
}

// RenameTeam changes the name of a team. Errors: ErrNotFound, ErrConflict for a name that
// another team has.
func (tx *Tx) RenameTeam(id, name string) error {
	if err := tx.exists(`SELECT 1 FROM teams WHERE name = ? AND id <> ?`, name, id); err == nil {
		return ErrConflict
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	n, err := tx.exec(`UPDATE teams SET name = ? WHERE id = ? AND deleted_at IS NULL`, name, id)
	return oneRow(n, err, ErrNotFound)
}

func scanTeam(s scanner) (app.Team, error) {
	var t app.Team
	var created int64
	err := s.Scan(&t.ID, &t.Name, &created)
	t.CreatedAt = fromMilli(created)
	return t, err
}

// ListTeams returns all teams but those that are being deleted, oldest first.
func (r *Reader) ListTeams() ([]app.Team, error) {
	return list(&r.session, scanTeam, `SELECT id, name, created_at FROM teams WHERE deleted_at IS NULL ORDER BY id`)
}

// SeveralTeams reports whether there is more than one team.
func (r *Reader) SeveralTeams() (several bool, err error) {
	err = r.row(`SELECT EXISTS (SELECT 1 FROM teams ORDER BY id LIMIT 1 OFFSET 1)`, nil, &several)
	return several, err
}

// CountTeams returns how many teams there are.
func (r *Reader) CountTeams() (n int64, err error) {
	err = r.row(`SELECT count(*) FROM teams`, nil, &n)
	return n, err
}

// TeamSettings is what a team says of itself.
type TeamSettings struct {
	app.Team
	LogoURL      string // empty: none
	SecondFactor bool   // people reach it only with a second factor
}

// TeamSettings returns what a team says of itself.
func (r *Reader) TeamSettings(id string) (TeamSettings, error) {
	return one(&r.session, func(s scanner) (t TeamSettings, err error) {
		var logo sql.NullString
		var created int64
		err = s.Scan(&t.ID, &t.Name, &logo, &t.SecondFactor, &created)
		t.LogoURL, t.CreatedAt = logo.String, fromMilli(created)
		return t, err
	}, `SELECT id, name, logo_url, second_factor, created_at FROM teams WHERE id = ? AND deleted_at IS NULL`, id)
}

// SetTeamSettings writes what a team says of itself, but for its name.
func (tx *Tx) SetTeamSettings(t *TeamSettings) error {
	n, err := tx.exec(`UPDATE teams SET logo_url = ?, second_factor = ? WHERE id = ? AND deleted_at IS NULL`, nullText(t.LogoURL), t.SecondFactor, t.ID)
	return oneRow(n, err, ErrNotFound)
}
