package signup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
)

// CreateForm creates a form. Errors: CodeValidation; CodeForbidden if the key may not create it.
func (s *Service) CreateForm(ctx context.Context, key *app.Key, in app.FormInput) (form app.Form, err error) {
	f, err := in.Validate()
	if err != nil {
		return form, err
	}
	if err := mayDecide(key, &f, nil); err != nil {
		return form, err
	}
	f.ID, f.TeamID = app.NewID(), key.TeamID
	if err := s.checkTemplates(ctx, key, &f); err != nil {
		return form, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := base.CapForms.Check(&tx.Reader, key.TeamID); err != nil {
			return err
		}
		if err := s.checkParts(&tx.Reader, &f); err != nil {
			return err
		}
		f.CreatedAt, f.UpdatedAt = tx.Now, tx.Now
		if err := tx.InsertForm(&f); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "form.create", f.ID, nil, auditedForm(&f))
	})
	if err != nil {
		return form, s.mail.Explain(ctx, base.Unavailable(err))
	}
	return f, nil
}

// mayDecide returns nil if a key may give a form its definition, which was another one before; nil: none.
// Errors: CodeForbidden.
func mayDecide(key *app.Key, f, before *app.Form) error {
	if key.Role.Manages() {
		return nil
	}
	switch {
	case f.Confirm == app.SingleOptIn || before != nil && before.Confirm == app.SingleOptIn:
		return app.Errorf(app.CodeForbidden, "A form with `confirm` single needs the role owner or admin: it adds contacts that confirmed nothing")
	case before == nil && f.MaxPerDay != 0, before != nil && f.MaxPerDay != before.MaxPerDay:
		return app.Errorf(app.CodeForbidden, "Setting `max_confirmations_per_day` needs the role owner or admin")
	}
	return nil
}

// auditedForm is what the audit log shows of a form.
func auditedForm(f *app.Form) map[string]any {
	return map[string]any{"name": f.Name, "version": f.Version, "confirm": f.Confirm, "definition": f.FormDefinition}
}

// GetForm returns a form of the key's team. Error: CodeNotFound.
func (s *Service) GetForm(ctx context.Context, key *app.Key, id string) (form app.Form, err error) {
	form, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Form, error) { return r.Form(key.TeamID, id) })
	return form, base.Lookup("form", err)
}

// ListForms returns a page of forms, newest first, and whether there are more. Errors: CodeValidation for
// an unknown cursor.
func (s *Service) ListForms(ctx context.Context, key *app.Key, page app.Page) (rows []app.Form, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Form, bool, error) { return r.ListForms(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// UpdateForm changes a form. Errors: CodeNotFound, and those of CreateForm.
func (s *Service) UpdateForm(ctx context.Context, key *app.Key, id string, patch app.FormPatch) (form app.Form, err error) {
	old, err := s.GetForm(ctx, key, id)
	if err != nil {
		return form, err
	}
	next, err := patch.Apply(old)
	if err != nil {
		return form, err
	}
	if err := s.checkTemplates(ctx, key, &next); err != nil { // outside of Write, which does no rendering
		return form, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		old, err := tx.Form(key.TeamID, id)
		if err != nil {
			return err
		}
		if form, err = patch.Apply(old); err != nil {
			return err
		}
		if form.ConfirmationTemplate != next.ConfirmationTemplate || form.WelcomeTemplate != next.WelcomeTemplate {
			return app.Errorf(app.CodeConflict, "Another request changed the templates of this form at the same time; try again")
		}
		if err := mayDecide(key, &form, &old); err != nil {
			return err
		}
		if err := s.checkParts(&tx.Reader, &form); err != nil {
			return err
		}
		form.UpdatedAt = tx.Now
		if err := tx.UpdateForm(&form); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "form.update", id, auditedForm(&old), auditedForm(&form))
	})
	if err != nil {
		return app.Form{}, s.mail.Explain(ctx, base.Lookup("form", err))
	}
	s.rest(db.DueForm{TeamID: form.TeamID, FormID: form.ID}, form.UpdatedAt) // its limits may be higher now
	return form, nil
}

// DeleteForm deletes a form. Its opt-ins stay. Errors: CodeNotFound; CodeForbidden for a form without
// confirmation.
func (s *Service) DeleteForm(ctx context.Context, key *app.Key, id string) error {
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		f, err := tx.Form(key.TeamID, id)
		if err != nil {
			return err
		}
		if err := mayDecide(key, &f, &f); err != nil {
			return err
		}
		if err := tx.DeleteForm(key.TeamID, id); err != nil {
			return err
		}
		return base.Audit(ctx, tx, key.TeamID, "form.delete", id, auditedForm(&f), nil)
	})
	return base.Lookup("form", err)
}

// FormURL returns the address of the page of a form; empty if no host serves it.
func (s *Service) FormURL(ctx context.Context, form *app.Form) (string, error) {
	at, err := s.Hosts.BaseOf(ctx, form.TeamID)
	if err != nil || at == "" {
		return "", err
	}
	return at + "/f/" + form.ID, nil
}

// checkParts checks what a form names: sender, topics, segments, properties and link. It runs inside
// Write. Errors: CodeValidation.
func (s *Service) checkParts(r *db.Reader, f *app.Form) error {
	from, err := app.ParseAddress(f.From)
	if err != nil {
		return app.Invalid("from", "%s", err)
	}
	if _, _, err := s.mail.SendingRegion(r, f.TeamID, from.Domain); err != nil {
		return err
	}
	for i, t := range f.Topics {
		if err := missing(r.TopicExists(f.TeamID, t.ID), fmt.Sprintf("topics[%d].id", i), "topic"); err != nil {
			return err
		}
	}
	for i, id := range f.Segments {
		_, err := r.Segment(f.TeamID, id)
		if err := missing(err, fmt.Sprintf("segments[%d]", i), "segment"); err != nil {
			return err
		}
	}
	types, err := r.PropertyTypes(f.TeamID)
	if err != nil {
		return fmt.Errorf("read properties: %w", err)
	}
	for i, field := range f.Fields {
		if _, declared := types[field.Property]; !declared && field.Property != app.FirstNameField && field.Property != app.LastNameField {
			return app.Invalid(fmt.Sprintf("fields[%d].property", i), "must be first_name, last_name or a property of this team")
		}
	}
	return checkRedirect(r, f)
}

// missing returns an error that names a field, if the object that it names was not found.
func missing(err error, field, kind string) error {
	if errors.Is(err, db.ErrNotFound) {
		return app.Invalid(field, "is not the id of a %s of this team", kind)
	}
	return err
}

// checkRedirect checks that the link of the last page leads to an allowed origin or a verified domain.
func checkRedirect(r *db.Reader, f *app.Form) error {
	if f.RedirectURL == "" {
		return nil
	}
	name, ok := f.RedirectsToOrigin()
	if ok {
		return nil
	}
	ok, err := r.VerifiedAbove(f.TeamID, name)
	if err == nil && !ok {
		err = app.Invalid("redirect_url", "must be on a host of `allowed_origins`, or on a verified domain of this team or below it")
	}
	return err
}

// Sample links of a check of templates.
const (
	sampleConfirm = "https://confirm.example/check-of-a-template"
	sampleRefuse  = "https://refuse.example/check-of-a-template"
)

// checkTemplates checks the templates of a form, by rendering them. Errors: CodeValidation.
func (s *Service) checkTemplates(ctx context.Context, key *app.Key, f *app.Form) error {
	if f.ConfirmationTemplate != "" {
		if err := s.checkConfirmationTemplate(ctx, key, f); err != nil {
			return err
		}
	}
	if f.WelcomeTemplate == "" {
		return nil
	}
	c, err := s.publishedTemplate(ctx, key, "welcome_template", f.WelcomeTemplate)
	if err != nil {
		return err
	}
	for _, v := range c.Variables {
		if v.Fallback == nil && v.Key != app.ViewKey && !asksFor(f, v.Key) {
			return app.Invalid("welcome_template", "names a template with the variable %s, which has no fallback and is no field of the form", v.Key)
		}
	}
	return nil
}

// asksFor reports whether a form has a required field for a variable of a welcome mail.
func asksFor(f *app.Form, key string) bool {
	for _, field := range f.Fields {
		if field.Property == key && field.Required {
			return true
		}
	}
	return false
}

// checkConfirmationTemplate checks that the template of confirmations has both links in all of its
// languages, and nothing of the visitor.
func (s *Service) checkConfirmationTemplate(ctx context.Context, key *app.Key, f *app.Form) error {
	const field = "confirmation_template"
	c, err := s.publishedTemplate(ctx, key, field, f.ConfirmationTemplate)
	if err != nil {
		return err
	}
	if err := c.CheckConfirmation(field); err != nil {
		return err
	}
	for _, language := range append([]string{""}, c.Variants.Languages()...) {
		use := app.TemplateUse{ID: f.ConfirmationTemplate, Language: language, Variables: confirmationValues(c, sampleConfirm, sampleRefuse, f.Name)}
		out, err := s.mail.Templates.RenderTemplate(ctx, key, use, true)
		if err != nil {
			return err
		}
		for _, text := range []string{out.HTML, *out.Text} {
			if !strings.Contains(text, sampleConfirm) || !strings.Contains(text, sampleRefuse) {
				return app.Invalid(field, "must name a template with both links, %s and %s, in its HTML and its text", app.ConfirmKey, app.RefuseKey)
			}
		}
		if strings.Contains(out.HTML+*out.Text, mail.PreviewPage) {
			return app.Invalid(field, "must name a template without an unsubscribe link: there is nothing to unsubscribe from yet")
		}
	}
	return nil
}

// confirmationValues returns the values of a confirmation for the variables that its template declares.
func confirmationValues(c *app.TemplateContent, confirm, refuse, form string) map[string]app.PropertyValue {
	all := map[string]string{app.ConfirmKey: confirm, app.RefuseKey: refuse, app.FormNameKey: form}
	out := map[string]app.PropertyValue{}
	for _, v := range c.Variables {
		if text, ok := all[v.Key]; ok {
			out[v.Key] = app.PropertyValue{Type: app.StringProperty, Text: text}
		}
	}
	return out
}

// publishedTemplate returns the published content of a template. Errors: CodeValidation for the field.
func (s *Service) publishedTemplate(ctx context.Context, key *app.Key, field, id string) (*app.TemplateContent, error) {
	c, err := db.Get(ctx, s.DB, func(r *db.Reader) (*app.TemplateContent, error) {
		t, err := r.Template(key.TeamID, id)
		if err != nil {
			return nil, missing(err, field, "template")
		}
		if t.PublishedID == "" {
			return nil, app.Invalid(field, "names a template that is not published; publish it first")
		}
		c, err := r.TemplateContent(key.TeamID, t.PublishedID)
		return &c, err
	})
	return c, base.Unavailable(err)
}
