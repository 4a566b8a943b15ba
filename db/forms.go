package db

import (
	"database/sql"
	"fmt"
	"time"

	"mailer/app"
)

const formColumns = `f.id, f.team_id, f.name, f.version, f.confirm, f.definition, f.requested, f.confirmed, f.refused, f.stopped, f.alerted_at, f.created_at, f.updated_at`

func scanForm(s scanner) (app.Form, error) {
	var f app.Form
	var definition sql.NullString
	var alerted sql.NullInt64
	var created, updated int64
	var confirm app.Confirmation
	err := s.Scan(&f.ID, &f.TeamID, &f.Name, &f.Version, &confirm, &definition, &f.Requested, &f.Confirmed, &f.Refused, &f.Stopped, &alerted, &created, &updated)
	if err == nil {
		err = fromJSON(definition, &f.FormDefinition)
	}
	f.Confirm, f.AlertedAt, f.CreatedAt, f.UpdatedAt = confirm, fromMilli(alerted.Int64), fromMilli(created), fromMilli(updated)
	return f, err
}

// formDomain returns the domain of the sender of a form; empty for a text that is no address.
func formDomain(f *app.Form) string {
	from, err := app.ParseAddress(f.From)
	if err != nil {
		return ""
	}
	return from.Domain
}

// InsertForm adds a form.
func (tx *Tx) InsertForm(f *app.Form) error {
	definition, err := jsonText(&f.FormDefinition)
	if err != nil {
		return err
	}
	return tx.Write(`INSERT INTO forms (id, team_id, name, version, confirm, domain, definition, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		f.ID, f.TeamID, f.Name, f.Version, string(f.Confirm), formDomain(f), definition, milli(f.CreatedAt), milli(f.UpdatedAt))
}

// UpdateForm stores what the team decides about a form, and its version. Error: ErrNotFound.
func (tx *Tx) UpdateForm(f *app.Form) error {
	definition, err := jsonText(&f.FormDefinition)
	if err != nil {
		return err
	}
	return tx.WriteOne(`UPDATE forms SET name = ?, version = ?, confirm = ?, domain = ?, definition = ?, updated_at = ? WHERE team_id = ? AND id = ?`,
		f.Name, f.Version, string(f.Confirm), formDomain(f), definition, milli(f.UpdatedAt), f.TeamID, f.ID)
}

// DeleteForm deletes a form. Its opt-ins stay. Error: ErrNotFound.
func (tx *Tx) DeleteForm(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM forms WHERE team_id = ? AND id = ?`, teamID, id)
}

// Form returns one form of a team.
func (r *Reader) Form(teamID, id string) (app.Form, error) {
	return one(r, scanForm, `SELECT `+formColumns+` FROM forms AS f WHERE f.team_id = ? AND f.id = ?`, teamID, id)
}

// PublicForm returns a form by its id alone, for its public page. The forms of a team that is being
// deleted are not found.
func (r *Reader) PublicForm(id string) (app.Form, error) {
	return one(r, scanForm, `SELECT `+formColumns+` FROM forms AS f JOIN teams AS t ON t.id = f.team_id WHERE f.id = ? AND t.deleted_at IS NULL`, id)
}

// ListForms returns a page of a team's forms, newest first, and whether there are more. Error:
// ErrNotFound for an unknown cursor.
func (r *Reader) ListForms(teamID string, page app.Page) ([]app.Form, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Form(teamID, cursor)) }, scanForm,
		`SELECT `+formColumns+` FROM forms AS f WHERE f.team_id = ? AND f.id < ? ORDER BY f.id DESC LIMIT ?`,
		`SELECT `+formColumns+` FROM forms AS f WHERE f.team_id = ? AND f.id > ? ORDER BY f.id LIMIT ?`, teamID)
}

// FormsAfter returns at most limit forms of a team after an id, in id order.
func (r *Reader) FormsAfter(teamID, after string, limit int) ([]app.Form, error) {
	return list(r, scanForm, `SELECT `+formColumns+` FROM forms AS f WHERE f.team_id = ? AND f.id > ? ORDER BY f.id LIMIT ?`, teamID, after, limit)
}

// FormCounts are additions to the numbers of a form.
type FormCounts struct{ Requested, Confirmed, Refused, Stopped int64 }

// CountForm adds to the numbers of a form. A form that was deleted is ignored.
func (tx *Tx) CountForm(teamID, id string, n FormCounts) error {
	if id == "" {
		return nil
	}
	err := tx.Write(`UPDATE forms SET requested = requested + ?, confirmed = confirmed + ?, refused = refused + ?, stopped = stopped + ? WHERE team_id = ? AND id = ?`,
		n.Requested, n.Confirmed, n.Refused, n.Stopped, teamID, id)
	if err != nil {
		return fmt.Errorf("count a form: %w", err)
	}
	return nil
}

// SetFormAlerted stores when the owner was told that confirmations of a form are above its limits.
func (tx *Tx) SetFormAlerted(teamID, id string, at time.Time) error {
	return tx.Write(`UPDATE forms SET alerted_at = ? WHERE team_id = ? AND id = ?`, milli(at), teamID, id)
}
