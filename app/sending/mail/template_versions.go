package mail

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// ListTemplateVersions returns a page of the earlier versions of a template, named by id or alias,
// newest first, and whether there are more. Errors: CodeNotFound, CodeValidation.
func (s *Templates) ListTemplateVersions(ctx context.Context, key *app.Key, name string, page app.Page) ([]base.Version, bool, error) {
	rows, err := db.Get(ctx, s.service.DB, func(r *db.Reader) ([]base.Version, error) {
		t, err := r.Template(key.TeamID, name)
		if err != nil {
			return nil, err
		}
		return r.Versions(key.TeamID, t.ID)
	})
	if err != nil {
		return nil, false, base.Lookup("template", err)
	}
	return base.Paginate(rows, page, func(v *base.Version) string { return v.ID })
}

// ReadTemplateVersion returns an earlier version of a template, named by id or alias, by number or
// id. Errors: CodeNotFound.
func (s *Templates) ReadTemplateVersion(ctx context.Context, key *app.Key, name, version string) (v base.Version, content app.TemplateContent, err error) {
	findOwner := func(r *db.Reader) (string, error) {
		t, err := r.Template(key.TeamID, name)
		return t.ID, err
	}
	v, err = base.ReadVersion(ctx, s.service.DB, key.TeamID, version, findOwner, &content)
	return v, content, base.Lookup("template", err)
}

// RestoreTemplateVersion copies a version, named by number or id, to the edited content of a
// template. The previous edited content becomes a version; the published content stays. Errors:
// CodeNotFound.
func (s *Templates) RestoreTemplateVersion(ctx context.Context, key *app.Key, name, version string) (app.Template, error) {
	var content app.TemplateContent
	var id string
	findOwner := func(r *db.Reader) (string, error) {
		t, err := r.Template(key.TeamID, name)
		id = t.ID
		return id, err
	}
	_, err := base.ReadVersion(ctx, s.service.DB, key.TeamID, version, findOwner, &content)
	if err != nil {
		return app.Template{}, base.Lookup("template", err)
	}
	text := func(s string) app.Change[string] { return app.Change[string]{Set: true, Null: s == "", Value: s} }
	patch := &app.TemplatePatch{HTML: content.HTML, Design: text(content.Design), Subject: text(content.Subject), Text: app.Change[string]{Set: true, Null: content.Text == nil},
		Variables: app.Change[[]app.TemplateVariable]{Set: true, Null: len(content.Variables) == 0, Value: content.Variables},
		Syntax:    content.Syntax.String(), Variants: app.ReplaceVariants(content.Variants)}
	if content.Text != nil {
		patch.Text.Value = *content.Text
	}
	if _, err := app.ParseAddress(content.From); err == nil || content.From == "" { // otherwise the address was erased
		patch.From = text(content.From)
	}
	for _, a := range content.ReplyTo {
		if _, err := app.ParseAddress(a); err == nil {
			patch.ReplyTo.Value = append(patch.ReplyTo.Value, a)
		}
	}
	patch.ReplyTo.Set, patch.ReplyTo.Null = true, len(patch.ReplyTo.Value) == 0
	return s.changeTemplate(ctx, key, id, patch, true)
}
