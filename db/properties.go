package db

import (
	"database/sql"

	"mailer/app"
)

const propertyColumns = `id, team_id, key, type, fallback, created_at`

func scanProperty(s scanner) (app.Property, error) {
	var p app.Property
	var fallback sql.NullString
	var created int64
	if err := s.Scan(&p.ID, &p.TeamID, &p.Key, &p.Type, &fallback, &created); err != nil {
		return p, err
	}
	p.CreatedAt = fromMilli(created)
	if !fallback.Valid {
		return p, nil
	}
	v := app.PropertyValue{Type: p.Type}
	dest := any(&v.Text)
	if p.Type == app.NumberProperty {
		dest = &v.Number
	}
	p.Fallback = &v
	return p, fromJSON(fallback, dest)
}

func fallbackColumn(v *app.PropertyValue) (any, error) {
	switch {
	case v == nil:
		return nil, nil
	case v.Type == app.NumberProperty:
		return jsonText(v.Number)
	}
	return jsonText(v.Text)
}

// InsertProperty declares a property. Error: ErrConflict if the team has already declared
// the key.
func (tx *Tx) InsertProperty(p *app.Property) error {
	fallback, err := fallbackColumn(p.Fallback)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`INSERT INTO properties (id, team_id, key, type, fallback, created_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (team_id, key) DO NOTHING`, p.ID, p.TeamID, p.Key, string(p.Type), fallback, milli(p.CreatedAt))
	return oneRow(n, err, ErrConflict)
}

// SetFallback changes the fallback, the only editable field of a property.
func (tx *Tx) SetFallback(teamID, id string, v *app.PropertyValue) error {
	fallback, err := fallbackColumn(v)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE properties SET fallback = ? WHERE team_id = ? AND id = ?`, fallback, teamID, id)
}

// DeleteProperty deletes the declaration. PurgeLeftovers deletes the values of contacts,
// under jobID: a new id, which is higher than the ids of existing contacts.
func (tx *Tx) DeleteProperty(teamID, id, jobID string) error {
	p, err := tx.Property(teamID, id)
	if err != nil {
		return err
	}
	if err := tx.Write(`DELETE FROM properties WHERE team_id = ? AND id = ?`, teamID, id); err != nil {
		return err
	}
	return tx.addLeftover(teamID, jobID, p.Key)
}

// Property returns one declared property of a team.
func (r *Reader) Property(teamID, id string) (app.Property, error) {
	return one(r, scanProperty, `SELECT `+propertyColumns+` FROM properties WHERE team_id = ? AND id = ?`, teamID, id)
}

// PropertyTypes returns the types of a team's declared properties by key.
func (r *Reader) PropertyTypes(teamID string) (map[string]app.PropertyType, error) {
	all, err := list(r, scanProperty, `SELECT `+propertyColumns+` FROM properties WHERE team_id = ?`, teamID)
	if err != nil {
		return nil, err
	}
	out := make(map[string]app.PropertyType, len(all))
	for _, p := range all {
		out[p.Key] = p.Type
	}
	return out, nil
}

// FreezeProperties sets the fallbacks and the types of a team's properties in a snapshot.
func (r *Reader) FreezeProperties(teamID string, f *app.BroadcastSnapshot) error {
	all, err := list(r, scanProperty, `SELECT `+propertyColumns+` FROM properties WHERE team_id = ?`, teamID)
	f.Fallbacks, f.Numbers = make(map[string]string, len(all)), map[string]bool{}
	for _, p := range all {
		if p.Fallback != nil {
			f.Fallbacks[p.Key] = p.Fallback.String()
		}
		if p.Type == app.NumberProperty {
			f.Numbers[p.Key] = true
		}
	}
	return err
}

// ListProperties returns a page of a team's declared properties, newest first. Error:
// ErrNotFound for an unknown cursor.
func (r *Reader) ListProperties(teamID string, page app.Page) ([]app.Property, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Property(teamID, cursor)) }, scanProperty,
		`SELECT `+propertyColumns+` FROM properties WHERE team_id = ? AND id < ? ORDER BY id DESC LIMIT ?`,
		`SELECT `+propertyColumns+` FROM properties WHERE team_id = ? AND id > ? ORDER BY id LIMIT ?`, teamID)
}
