package db

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"mailer/app"
)

const templateColumns = `t.id, t.team_id, t.name, coalesce(t.alias, ''), t.current_id, coalesce(t.published_id, ''),
	coalesce(t.published_at, 0), t.created_at, t.updated_at`

func scanTemplate(s scanner) (app.Template, error) {
	var t app.Template
	var published, created, updated int64
	err := s.Scan(&t.ID, &t.TeamID, &t.Name, &t.Alias, &t.CurrentID, &t.PublishedID, &published, &created, &updated)
	t.CreatedAt, t.UpdatedAt = fromMilli(created), fromMilli(updated)
	if t.PublishedID != "" {
		t.PublishedAt = fromMilli(published)
	}
	return t, err
}

// InsertTemplate adds a template with its current version. Error: ErrConflict if another
// template of the team has the alias.
func (tx *Tx) InsertTemplate(t *app.Template) error {
	n, err := tx.Exec(`INSERT INTO templates (id, team_id, name, alias, current_id, published_id, published_at, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team_id, alias) DO NOTHING`,
		t.ID, t.TeamID, t.Name, nullText(t.Alias), t.CurrentID, nullText(t.PublishedID), nullTime(t.PublishedAt), milli(t.CreatedAt), milli(t.UpdatedAt))
	if err := oneRow(n, err, ErrConflict); err != nil {
		return err
	}
	return tx.InsertTemplateVersion(t)
}

// UpdateTemplate stores name, alias, and current and published version. Errors:
// ErrNotFound; ErrConflict if another template has the alias.
func (tx *Tx) UpdateTemplate(t *app.Template) error {
	var taken bool
	err := tx.Row(`SELECT EXISTS (SELECT 1 FROM templates WHERE team_id = ? AND alias = ? AND id <> ?)`, []any{t.TeamID, t.Alias, t.ID}, &taken)
	if err != nil {
		return err
	}
	if taken {
		return ErrConflict
	}
	return tx.WriteOne(`UPDATE templates SET name = ?, alias = ?, current_id = ?, published_id = ?, published_at = ?, updated_at = ?
		WHERE team_id = ? AND id = ?`, t.Name, nullText(t.Alias), t.CurrentID, nullText(t.PublishedID), nullTime(t.PublishedAt),
		milli(t.UpdatedAt), t.TeamID, t.ID)
}

// DeleteTemplate deletes a template with its versions.
func (tx *Tx) DeleteTemplate(teamID, id string) error {
	n, err := tx.Exec(`DELETE FROM templates WHERE team_id = ? AND id = ?`, teamID, id)
	if err := oneRow(n, err, ErrNotFound); err != nil {
		return err
	}
	return tx.deleteVersions(id)
}

// InsertTemplateVersion adds the content of a template under its CurrentID.
func (tx *Tx) InsertTemplateVersion(t *app.Template) error {
	replyTo, err := asJSON(t.ReplyTo)
	if err != nil {
		return err
	}
	variables, err := asJSON(variableRows(t.Variables))
	if err != nil {
		return err
	}
	var plain any
	if t.Text != nil {
		plain = *t.Text
	}
	variants, err := variantsColumn(t.Variants)
	if err != nil {
		return err
	}
	html := t.HTML
	if t.Syntax != app.PlainSyntax {
		html = otherSyntax + html
	}
	err = tx.Write(`INSERT INTO template_versions (id, team_id, template_id, size, sender, reply_to, subject, html, plain, design, variables, template_syntax, template_variants)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, t.CurrentID, t.TeamID, t.ID, t.Size()-t.Variants.Size(), nullText(t.From), replyTo, nullText(t.Subject), html, plain, nullText(t.Design), variables,
		nullText(string(t.Syntax)), nullText(variants))
	if err != nil {
		return fmt.Errorf("insert template version: %w", err)
	}
	return errors.Join(tx.setTemplateBlocks(t), tx.useDocumentImages(t.TeamID, t.Parts(), t.Design, t.Variants))
}

// otherSyntax begins the stored HTML of a template that is not plain. Versions that know no syntax
// refuse to send it, because it is no placeholder.
const otherSyntax = "{{{%}}}"

// DeleteTemplateVersion deletes a version that is neither current nor published.
func (tx *Tx) DeleteTemplateVersion(teamID, id string) error {
	return tx.WriteOne(`DELETE FROM template_versions WHERE team_id = ? AND id = ?`, teamID, id)
}

// Template returns one template of a team without content, by id or else by alias.
func (r *Reader) Template(teamID, name string) (app.Template, error) {
	if id, ok := app.ParseID(name); ok {
		return one(r, scanTemplate, `SELECT `+templateColumns+` FROM templates AS t WHERE t.team_id = ? AND t.id = ?`, teamID, id)
	}
	return one(r, scanTemplate, `SELECT `+templateColumns+` FROM templates AS t WHERE t.team_id = ? AND t.alias = ?`, teamID, name)
}

// TemplateSize returns the bytes of all bodies and designs of a version without reading them.
func (r *Reader) TemplateSize(teamID, versionID string) (size int, err error) {
	err = r.Row(`SELECT size + coalesce(octet_length(design), 0) + coalesce(octet_length(template_variants), 0) FROM template_versions WHERE team_id = ? AND id = ?`, []any{teamID, versionID}, &size)
	return size, err
}

// TemplateContent returns a version of a template.
func (r *Reader) TemplateContent(teamID, versionID string) (app.TemplateContent, error) {
	var c app.TemplateContent
	var sender, replyTo, subject, plain, design, variables, syntax, variants sql.NullString
	err := r.Row(`SELECT sender, reply_to, subject, html, plain, design, variables, template_syntax, template_variants FROM template_versions WHERE team_id = ? AND id = ?`,
		[]any{teamID, versionID}, &sender, &replyTo, &subject, &c.HTML, &plain, &design, &variables, &syntax, &variants)
	if err != nil {
		return c, err
	}
	c.From, c.Subject, c.Design, c.Syntax = sender.String, subject.String, design.String, app.Syntax(syntax.String)
	if c.Syntax != app.PlainSyntax {
		c.HTML = strings.TrimPrefix(c.HTML, otherSyntax)
	}
	if plain.Valid {
		c.Text = &plain.String
	}
	var rows []variableRow
	if err := errors.Join(fromJSON(replyTo, &c.ReplyTo), fromJSON(variables, &rows), fromJSON(variants, &c.Variants)); err != nil {
		return c, fmt.Errorf("template version %s: %w", versionID, err)
	}
	for i := range rows {
		c.Variables = append(c.Variables, rows[i].variable())
	}
	return c, nil
}

// ListTemplates returns a page of a team's templates without content, newest first. Error:
// ErrNotFound for an unknown cursor.
func (r *Reader) ListTemplates(teamID string, page app.Page) ([]app.Template, bool, error) {
	return listPage(r, page, func(cursor string) error { return errorOf(r.Template(teamID, cursor)) }, scanTemplate,
		`SELECT `+templateColumns+` FROM templates AS t WHERE t.team_id = ? AND t.id < ? ORDER BY t.id DESC LIMIT ?`,
		`SELECT `+templateColumns+` FROM templates AS t WHERE t.team_id = ? AND t.id > ? ORDER BY t.id LIMIT ?`, teamID)
}

// variableRow is the JSON of a variable. Text and Number are its fallback; nil: none.
type variableRow struct {
	ID      string           `json:"id"`
	Key     string           `json:"key"`
	Type    app.PropertyType `json:"type"`
	Text    *string          `json:"text,omitzero"`
	Number  *float64         `json:"number,omitzero"`
	Created int64            `json:"created_at"`
	Updated int64            `json:"updated_at"`
}

func variableRows(variables []app.TemplateVariable) []variableRow {
	out := make([]variableRow, len(variables))
	for i, v := range variables {
		out[i] = variableRow{ID: v.ID, Key: v.Key, Type: v.Type, Created: milli(v.CreatedAt), Updated: milli(v.UpdatedAt)}
		switch f := v.Fallback; {
		case f == nil:
		case f.Type == app.NumberProperty:
			out[i].Number = &f.Number
		default:
			out[i].Text = &f.Text
		}
	}
	return out
}

func (r *variableRow) variable() app.TemplateVariable {
	v := app.TemplateVariable{ID: r.ID, Key: r.Key, Type: r.Type, CreatedAt: fromMilli(r.Created), UpdatedAt: fromMilli(r.Updated)}
	switch {
	case r.Number != nil:
		v.Fallback = &app.PropertyValue{Type: app.NumberProperty, Number: *r.Number}
	case r.Text != nil:
		v.Fallback = &app.PropertyValue{Type: r.Type, Text: *r.Text}
	}
	return v
}
