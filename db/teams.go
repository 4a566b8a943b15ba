package db

import (
	"database/sql"
	"errors"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/db/engine"
)

// InsertTeam adds a team. Error: ErrConflict if the id exists.
func (tx *Tx) InsertTeam(t app.Team) error {
	tx.Changed(engine.Control)
	n, err := tx.Exec(`INSERT INTO teams (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`, t.ID, t.Name, milli(t.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// HasTeamNamed reports whether a team has the name.
func (r *Reader) HasTeamNamed(name string) (has bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM teams WHERE name = ? AND deleted_at IS NULL)`, []any{name}, &has)
	return has, err
}

// FindTeam returns the team with an id or name, or the first team for "". Teams that are
// being deleted are not found. An id takes precedence over a name. Errors: ErrNotFound; an
// *app.Error if several teams have the name.
func (r *Reader) FindTeam(nameOrID string) (app.Team, error) {
	if nameOrID == "" {
		return one(r, scanTeam, `SELECT id, name, created_at FROM teams WHERE deleted_at IS NULL ORDER BY id LIMIT 1`)
	}
	t, err := one(r, scanTeam, `SELECT id, name, created_at FROM teams WHERE id = ? AND deleted_at IS NULL`, nameOrID)
	if !errors.Is(err, ErrNotFound) {
		return t, err
	}
	found, err := list(r, scanTeam, `SELECT id, name, created_at FROM teams WHERE name = ? AND deleted_at IS NULL LIMIT 2`, nameOrID)
	switch {
	case err != nil:
		return app.Team{}, err
	case len(found) == 0:
		return app.Team{}, ErrNotFound
	case len(found) == 1:
		return found[0], nil
	}
	return app.Team{}, app.Errorf(app.CodeConflict, "Several teams are named %q; give the id of one, as `mailer teams list` shows it", nameOrID)
}

// TeamName returns the name of a team by its id.
func (r *Reader) TeamName(id string) (name string, err error) {
	err = r.Row(`SELECT name FROM teams WHERE id = ?`, []any{id}, &name)
	return name, err
}

// RenameTeam changes the name of a team. Error: ErrNotFound.
func (tx *Tx) RenameTeam(id, name string) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`UPDATE teams SET name = ? WHERE id = ? AND deleted_at IS NULL`, name, id)
}

func scanTeam(s scanner) (app.Team, error) {
	var t app.Team
	var created int64
	err := s.Scan(&t.ID, &t.Name, &created)
	t.CreatedAt = fromMilli(created)
	return t, err
}

// ListTeams returns all teams that are not being deleted, oldest first.
func (r *Reader) ListTeams() ([]app.Team, error) {
	return list(r, scanTeam, `SELECT id, name, created_at FROM teams WHERE deleted_at IS NULL ORDER BY id`)
}

// SeveralTeams reports whether there are at least two teams.
func (r *Reader) SeveralTeams() (several bool, err error) {
	err = r.Row(`SELECT EXISTS (SELECT 1 FROM teams ORDER BY id LIMIT 1 OFFSET 1)`, nil, &several)
	return several, err
}

// CountTeams returns the number of teams.
func (r *Reader) CountTeams() (n int64, err error) {
	err = r.Row(`SELECT count(*) FROM teams`, nil, &n)
	return n, err
}

// TeamState is a team with its plan and whether it is suspended.
type TeamState struct {
	app.Team
	Suspension
	Plan plan.Plan // the free plan if none was set
}

const (
	stateColumns = `t.id, t.name, t.created_at, t.suspended_at, coalesce(t.suspended, ''), coalesce(p.name, 'free'), coalesce(p.included, 0), coalesce(p.overage, 0), coalesce(p.since, 0)`
	stateTables  = `teams t LEFT JOIN team_plans p ON p.team_id = t.id`
)

// TeamState returns one team that is not being deleted. Error: ErrNotFound.
func (r *Reader) TeamState(id string) (TeamState, error) {
	return one(r, scanTeamState, `SELECT `+stateColumns+` FROM `+stateTables+` WHERE t.id = ? AND t.deleted_at IS NULL`, id)
}

// TeamStates returns a page of the teams that are not being deleted, newest first, and
// whether there are more. Error: ErrNotFound for an unknown cursor.
func (r *Reader) TeamStates(page app.Page) ([]TeamState, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.TeamState(cursor)) }, scanTeamState,
		`SELECT `+stateColumns+` FROM `+stateTables+` WHERE t.deleted_at IS NULL AND t.id < ? ORDER BY t.id DESC LIMIT ?`,
		`SELECT `+stateColumns+` FROM `+stateTables+` WHERE t.deleted_at IS NULL AND t.id > ? ORDER BY t.id LIMIT ?`)
}

func scanTeamState(s scanner) (t TeamState, err error) {
	var created, since int64
	var suspended sql.NullInt64
	err = s.Scan(&t.ID, &t.Name, &created, &suspended, &t.Reason, &t.Plan.Name, &t.Plan.Volume, &t.Plan.Overage, &since)
	t.CreatedAt, t.Suspension.Since, t.Plan.Since = fromMilli(created), fromMilli(suspended.Int64), fromMilli(since)
	return t, err
}

// TeamSettings are the settings of a team.
type TeamSettings struct {
	app.Team
	LogoURL      string // of a logo on another server; empty: none
	Page         string // of brand.Brand
	SecondFactor bool   // members need a second factor
	TimeZone     string // IANA name, of contacts that have none; empty: UTC
	// ReplyAddresses: mail without reply_to from a domain that receives gets a reply address of its own.
	ReplyAddresses bool
}

// TeamSettings returns the settings of a team.
func (r *Reader) TeamSettings(id string) (TeamSettings, error) {
	return one(r, func(s scanner) (t TeamSettings, err error) {
		var logo sql.NullString
		var created int64
		err = s.Scan(&t.ID, &t.Name, &logo, &t.Page, &t.SecondFactor, &t.TimeZone, &t.ReplyAddresses, &created)
		t.LogoURL, t.CreatedAt = logo.String, fromMilli(created)
		return t, err
	}, `SELECT id, name, logo_url, coalesce(page, ''), second_factor, coalesce(time_zone, ''), coalesce(reply_addresses, 0), created_at FROM teams WHERE id = ? AND deleted_at IS NULL`, id)
}

// SetTeamSettings stores the page, whether members need a second factor, the time zone, and reply addresses.
// RenameTeam and SetBrand store the other settings.
func (tx *Tx) SetTeamSettings(t *TeamSettings) error {
	tx.Changed(engine.Control)
	return tx.WriteOne(`UPDATE teams SET page = ?, second_factor = ?, time_zone = ?, reply_addresses = ? WHERE id = ? AND deleted_at IS NULL`, nullText(t.Page), t.SecondFactor, nullText(t.TimeZone), trueOrNull(t.ReplyAddresses), t.ID)
}

// TeamTimeZone returns the name of the time zone of contacts of a team that have none; empty: UTC.
func (r *Reader) TeamTimeZone(id string) (zone string, err error) {
	err = r.Row(`SELECT coalesce(time_zone, '') FROM teams WHERE id = ?`, []any{id}, &zone)
	return zone, err
}

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
