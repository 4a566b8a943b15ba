package db

import (
	"database/sql"

	"mailer/app"
)

const customEventColumns = `e.id, e.team_id, e.name, e.fields, e.created_at, e.updated_at`

func scanCustomEvent(s scanner) (app.CustomEvent, error) {
	var e app.CustomEvent
	var fields sql.NullString
	var created int64
	var updated sql.NullInt64
	err := s.Scan(&e.ID, &e.TeamID, &e.Name, &fields, &created, &updated)
	if err == nil {
		err = fromJSON(fields, &e.Schema)
	}
	e.CreatedAt, e.UpdatedAt = fromMilli(created), fromMilli(updated.Int64)
	return e, err
}

// eventFields returns the column of a schema; NULL for none.
func eventFields(e *app.CustomEvent) (any, error) {
	if e.Schema == nil {
		return nil, nil
	}
	return jsonText(e.Schema)
}

// InsertCustomEvent adds a custom event. Error: ErrConflict if the team has one of that name.
func (tx *Tx) InsertCustomEvent(e *app.CustomEvent) error {
	fields, err := eventFields(e)
	if err != nil {
		return err
	}
	n, err := tx.Exec(`INSERT INTO custom_events (id, team_id, name, fields, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, name) DO NOTHING`,
		e.ID, e.TeamID, e.Name, fields, milli(e.CreatedAt), nullTime(e.UpdatedAt))
	return oneRow(n, err, ErrConflict)
}

// UpdateCustomEvent stores the schema of a custom event. Error: ErrNotFound.
func (tx *Tx) UpdateCustomEvent(e *app.CustomEvent) error {
	fields, err := eventFields(e)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE custom_events SET fields = ?, updated_at = ? WHERE team_id = ? AND id = ?`, fields, nullTime(e.UpdatedAt), e.TeamID, e.ID)
}

// DeleteCustomEvent deletes a custom event. Error: ErrNotFound.
func (tx *Tx) DeleteCustomEvent(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM custom_events WHERE team_id = ? AND id = ?`, teamID, id)
}

// CustomEvent returns a custom event of a team. Error: ErrNotFound.
func (r *Reader) CustomEvent(teamID, id string) (app.CustomEvent, error) {
	return one(r, scanCustomEvent, `SELECT `+customEventColumns+` FROM custom_events AS e WHERE e.team_id = ? AND e.id = ?`, teamID, id)
}

// CustomEventNamed returns the custom event of a team with a name. Error: ErrNotFound.
func (r *Reader) CustomEventNamed(teamID, name string) (app.CustomEvent, error) {
	return one(r, scanCustomEvent, `SELECT `+customEventColumns+` FROM custom_events AS e WHERE e.team_id = ? AND e.name = ?`, teamID, name)
}

// ListCustomEvents returns a page of a team's custom events, newest first. Error: ErrNotFound for an
// unknown cursor.
func (r *Reader) ListCustomEvents(teamID string, page app.Page) ([]app.CustomEvent, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.CustomEvent(teamID, cursor)) }, scanCustomEvent,
		`SELECT `+customEventColumns+` FROM custom_events AS e WHERE e.team_id = ? AND e.id < ? ORDER BY e.id DESC LIMIT ?`,
		`SELECT `+customEventColumns+` FROM custom_events AS e WHERE e.team_id = ? AND e.id > ? ORDER BY e.id LIMIT ?`, teamID)
}

// CustomEventsAfter returns at most limit custom events of a team after an id, in id order.
func (r *Reader) CustomEventsAfter(teamID, after string, limit int) ([]app.CustomEvent, error) {
	return list(r, scanCustomEvent, `SELECT `+customEventColumns+` FROM custom_events AS e WHERE e.team_id = ? AND e.id > ? ORDER BY e.id LIMIT ?`, teamID, after, limit)
}

// CountCustomEvents returns how many custom events a team has, at most limit.
func (r *Reader) CountCustomEvents(teamID string, limit int) (n int, err error) {
	err = r.Row(`SELECT count(*) FROM (SELECT 1 FROM custom_events WHERE team_id = ? LIMIT ?) AS rows_open`, []any{teamID, limit}, &n)
	return n, err
}
