package mail

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/mergetags"
	"mailer/db"
)

// CreateTemplate adds a template as a draft. Errors: CodeValidation, also for a team with
// base.CapTemplates templates; CodeConflict for an alias of another template.
func (s *Templates) CreateTemplate(ctx context.Context, key *app.Key, in app.TemplateInput) (app.Template, error) {
	t, err := in.Validate(clock.Now())
	if err != nil {
		return app.Template{}, err
	}
	t.TeamID = key.TeamID
	for range MaxEditRetries {
		made, err := s.checkAndInsert(ctx, t)
		if !errors.Is(err, ErrChanged) {
			return made, err
		}
	}
	return app.Template{}, errKeepsChanging("template")
}

func errKeepsChanging(kind string) error {
	return app.Errorf(app.CodeConflict, "The %s is being changed by other requests at the same time; try again", kind)
}

// checkAndInsert checks the texts of a new template with its saved blocks and adds it. Error: ErrChanged
// if a block was changed meanwhile.
func (s *Templates) checkAndInsert(ctx context.Context, t app.Template) (app.Template, error) {
	blocks, err := s.service.BlocksOf(ctx, t.TeamID, t.Syntax, t.Parts())
	if err == nil {
		err = base.CheckTemplate(&t.TemplateContent, blocks)
	}
	if err != nil {
		return app.Template{}, err
	}
	return s.insertTemplate(ctx, t, blocks)
}

func (s *Templates) insertTemplate(ctx context.Context, t app.Template, blocks app.Blocks) (app.Template, error) {
	t.ID, t.CurrentID = app.NewID(), app.NewID()
	err := s.service.DB.Write(ctx, func(tx *db.Tx) error {
		if err := CheckBlocks(&tx.Reader, t.TeamID, blocks); err != nil {
			return err
		}
		if err := base.CapTemplates.Check(&tx.Reader, t.TeamID); err != nil {
			return err
		}
		t.CreatedAt, t.UpdatedAt = tx.Now, tx.Now
		return wrapAliasConflict(tx.InsertTemplate(&t))
	})
	return t, base.Unavailable(err)
}

// wrapAliasConflict turns the conflict of an alias into an *app.Error.
func wrapAliasConflict(err error) error {
	if errors.Is(err, db.ErrConflict) {
		return app.Errorf(app.CodeConflict, "A template with this alias exists already")
	}
	return err
}

// ListTemplates returns a page of the team's templates, newest first, without content, and whether
// there are more. Errors: CodeValidation for an unknown cursor.
func (s *Templates) ListTemplates(ctx context.Context, key *app.Key, page app.Page) (rows []app.Template, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.service.DB, func(r *db.Reader) ([]app.Template, bool, error) { return r.ListTemplates(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetTemplate returns one template, named by id or alias, with the edited version. Errors:
// CodeNotFound.
func (s *Templates) GetTemplate(ctx context.Context, key *app.Key, name string) (t app.Template, err error) {
	size := func(r *db.Reader) (int64, error) {
		t, err := r.Template(key.TeamID, name)
		if err != nil {
			return 0, err
		}
		bytes, err := r.TemplateSize(key.TeamID, t.CurrentID)
		return int64(bytes), err
	}
	t, err = base.GetWithinBudget(ctx, s.service.DB, size, func(r *db.Reader) (app.Template, error) {
		t, err := r.Template(key.TeamID, name)
		if err == nil {
			t.TemplateContent, err = r.TemplateContent(key.TeamID, t.CurrentID)
		}
		return t, err
	})
	return t, base.Lookup("template", err)
}

// ErrChanged: another request changed the resource since it was read.
var ErrChanged = errors.New("changed by another request")

// MaxEditRetries is how often an edit is tried because of concurrent edits.
const MaxEditRetries = 10

// UpdateTemplate changes a template, named by id or alias, and returns it. Content may be megabytes
// and is validated outside of Write. Changed content makes another version; sends keep using the
// published one. Errors: CodeNotFound, CodeValidation, CodeConflict for an alias of another
// template, and for a patch of another version than the edited one.
func (s *Templates) UpdateTemplate(ctx context.Context, key *app.Key, name string, patch app.TemplatePatch) (app.Template, error) {
	return s.changeTemplate(ctx, key, name, &patch, false)
}

// changeTemplate changes a template and saves its previous content as a version (base.SaveVersion).
func (s *Templates) changeTemplate(ctx context.Context, key *app.Key, name string, patch *app.TemplatePatch, always bool) (app.Template, error) {
	for range MaxEditRetries {
		t, err := s.editTemplate(ctx, key, name, patch, always)
		if !errors.Is(err, ErrChanged) {
			return t, err
		}
	}
	return app.Template{}, errKeepsChanging("template")
}

func (s *Templates) editTemplate(ctx context.Context, key *app.Key, name string, patch *app.TemplatePatch, always bool) (t app.Template, err error) {
	old, err := s.GetTemplate(ctx, key, name)
	if err != nil {
		return t, err
	}
	if patch.CurrentID != "" && patch.CurrentID != old.CurrentID {
		return t, app.Errorf(app.CodeConflict, "The template was changed since it was read; read it again")
	}
	content, err := patch.ApplyContent(old.TemplateContent, clock.Now())
	if err != nil {
		return t, err
	}
	blocks, err := s.service.BlocksOf(ctx, key.TeamID, content.Syntax, content.Parts())
	if err == nil {
		err = base.CheckTemplate(&content, blocks)
	}
	if err != nil {
		return t, err
	}
	version, edited := app.NewID(), !content.Equal(&old.TemplateContent)
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		current, err := tx.Template(key.TeamID, old.ID)
		if err != nil {
			return err
		}
		if current.CurrentID != old.CurrentID {
			return ErrChanged
		}
		if err := CheckBlocks(&tx.Reader, key.TeamID, blocks); err != nil {
			return err
		}
		if t, err = patch.ApplyHead(current); err != nil {
			return err
		}
		changed := edited || t.Name != current.Name || t.Alias != current.Alias
		t.TemplateContent = content
		if !changed {
			return nil
		}
		t.UpdatedAt = tx.Now
		if edited {
			t.CurrentID = version
			if err := base.SaveVersion(ctx, tx, key.TeamID, old.ID, &old.TemplateContent, always); err != nil {
				return err
			}
			if err := replaceVersion(tx, &current, &t); err != nil {
				return err
			}
		}
		return wrapAliasConflict(tx.UpdateTemplate(&t))
	})
	return t, base.Lookup("template", err)
}

// replaceVersion writes the edited version of t and deletes the previous one, unless it is
// published.
func replaceVersion(tx *db.Tx, old, t *app.Template) error {
	if old.Edited() {
		if err := tx.DeleteTemplateVersion(old.TeamID, old.CurrentID); err != nil {
			return err
		}
	}
	return tx.InsertTemplateVersion(t)
}

// DeleteTemplate deletes a template, named by id or alias, and returns its id. Sent mail stays.
// Errors: CodeNotFound, CodeConflict while a form or a route uses it.
func (s *Templates) DeleteTemplate(ctx context.Context, key *app.Key, name string) (id string, err error) {
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		t, err := tx.Template(key.TeamID, name)
		if err != nil {
			return err
		}
		id = t.ID
		if err := base.CheckNoForm(&tx.Reader, key.TeamID, "template", id); err != nil {
			return err
		}
		if err := base.CheckNoRoute(&tx.Reader, key.TeamID, id); err != nil {
			return err
		}
		return tx.DeleteTemplate(key.TeamID, id)
	})
	return id, base.Lookup("template", err)
}

// PublishTemplate publishes the edited version of a template, named by id or alias. Sends use it
// from then on. Publishing a published version changes nothing. Errors: CodeNotFound,
// CodeValidation for merge tags of other services in its content.
func (s *Templates) PublishTemplate(ctx context.Context, key *app.Key, name string) (t app.Template, err error) {
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		if t, err = tx.Template(key.TeamID, name); err != nil || !t.Edited() {
			return err
		}
		content, err := tx.TemplateContent(key.TeamID, t.CurrentID)
		if err != nil {
			return err
		}
		if err := refuseRawTags(&content); err != nil {
			return err
		}
		before := t.PublishedID
		t.PublishedID, t.PublishedAt, t.UpdatedAt = t.CurrentID, tx.Now, tx.Now
		if err := tx.UpdateTemplate(&t); err != nil || before == "" {
			return err
		}
		return tx.DeleteTemplateVersion(key.TeamID, before)
	})
	return t, base.Lookup("template", err)
}

// refuseRawTags refuses merge tags of other services in a template. Errors: CodeValidation.
func refuseRawTags(c *app.TemplateContent) error {
	if c.Syntax != app.PlainSyntax { // its own tags look like those
		return nil
	}
	return mergetags.RefuseRaw(mergetags.FindRaw(c.Parts()...))
}

// DuplicateTemplate makes a draft of the edited version of a template, named by id or alias, and
// returns it. Errors: CodeNotFound.
func (s *Templates) DuplicateTemplate(ctx context.Context, key *app.Key, name string) (app.Template, error) {
	t, err := s.GetTemplate(ctx, key, name)
	if err != nil {
		return app.Template{}, err
	}
	return s.insertTemplate(ctx, t.Copy(clock.Now()), nil)
}
