package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/archive"
	"mailer/db"
)

func (x *export) forms() error {
	return x.walk(func(after string) (string, error) {
		var all []app.Form
		return x.rows(func(r *db.Reader) (n int, err error) {
			all, err = r.FormsAfter(x.team.ID, after, batchRows)
			return len(all), err
		}, func(i int) string { return all[i].ID }, func(i int) error {
			f := &all[i]
			return x.put(archive.Forms, &archive.Form{ID: f.ID, Name: f.Name, Version: f.Version, Confirm: f.Confirm, From: f.From, ReplyTo: f.ReplyTo, Topics: f.Topics, Segments: f.Segments,
				Fields: f.Fields, ConfirmationTemplate: f.ConfirmationTemplate, WelcomeTemplate: f.WelcomeTemplate, Language: f.Language, RedirectURL: f.RedirectURL,
				AllowedOrigins: f.AllowedOrigins, RejectDisposable: f.RejectDisposable, MaxPerDay: f.MaxPerDay,
				Requested: f.Requested, Confirmed: f.Confirmed, Refused: f.Refused, Stopped: f.Stopped, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt})
		})
	})
}

// formsIn creates missing forms. One with the same id, or of another service the same name, is the same, and is not
// changed.
func (m *importer) formsIn(ctx context.Context) error {
	all, err := db.Get(ctx, m.s.DB, func(r *db.Reader) ([]app.Form, error) {
		return eachItem(func(p app.Page) ([]app.Form, bool, error) { return r.ListForms(m.team.ID, p) }, func(f *app.Form) string { return f.ID })
	})
	if err != nil {
		return fmt.Errorf("read forms: %w", err)
	}
	there := map[string]string{}
	for i := range all {
		there[all[i].ID], there[formMark(all[i].Name, all[i].CreatedAt.UnixMilli())] = all[i].ID, all[i].ID
	}
	done := 0
	var in archive.Form
	return m.r.Each(archive.Forms, &in, func(int) error {
		done++
		id := there[in.ID]
		if id == "" {
			id = there[formMark(in.Name, in.CreatedAt.UnixMilli())]
		}
		if id != "" {
			m.report.Forms = append(m.report.Forms, Thing{Name: in.Name})
		} else if id, err = m.form(ctx, &in); err != nil || id == "" {
			return err
		}
		m.formIDs[in.ID] = id
		if err := m.moved(archive.Forms, in.ID, id); err != nil {
			return err
		}
		return m.progress(archive.Forms, done)
	})
}

// formMark identifies a form whose id could not be kept.
func formMark(name string, createdAt int64) string { return fmt.Sprintf("%d %s", createdAt, name) }

// form creates a form; an empty id: it can't be created. Parts that are not in this team are left out.
func (m *importer) form(ctx context.Context, in *archive.Form) (id string, err error) {
	what := fmt.Sprintf("form %q", in.Name)
	input := app.FormInput{Name: in.Name, FormDefinition: app.FormDefinition{Confirm: in.Confirm, From: in.From, ReplyTo: in.ReplyTo, Language: in.Language,
		AllowedOrigins: in.AllowedOrigins, RejectDisposable: in.RejectDisposable, MaxPerDay: in.MaxPerDay, RedirectURL: in.RedirectURL}}
	lacks := m.formParts(in, &input.FormDefinition)
	f, err := input.Validate()
	if err != nil {
		m.unmovable(what, err.Error())
		return "", nil
	}
	if err := m.checkForm(ctx, what, &f); err != nil {
		return "", err
	}
	id = m.id(in.ID)
	added, err := m.add(ctx, &m.report.Forms, what, Thing{Name: f.Name}, func(tx *db.Tx) (err error) {
		if err := base.CapForms.Check(&tx.Reader, m.team.ID); err != nil {
			return err
		}
		if id, err = freeID(tx.FormIDTaken, id); err != nil {
			return err
		}
		f.ID, f.TeamID, f.Version, f.CreatedAt = id, m.team.ID, max(1, in.Version), orDefault(in.CreatedAt, tx.Now)
		f.UpdatedAt = orDefault(in.UpdatedAt, f.CreatedAt)
		if err := tx.InsertForm(&f); err != nil {
			return err
		}
		return tx.CountForm(m.team.ID, id, db.FormCounts{Requested: max(0, in.Requested), Confirmed: max(0, in.Confirmed), Refused: max(0, in.Refused), Stopped: max(0, in.Stopped)})
	})
	if err != nil || !added {
		return "", err
	}
	for _, lack := range lacks {
		m.unmovable(what, lack)
	}
	return id, nil
}

// formParts sets the parts of a form that refer to other objects, and returns what it left out.
func (m *importer) formParts(in *archive.Form, d *app.FormDefinition) (lacks []string) {
	for _, t := range in.Topics {
		if id := m.topics[t.ID]; id != "" {
			d.Topics = append(d.Topics, app.FormTopic{ID: id, Preselected: t.Preselected})
		} else {
			lacks = append(lacks, "a topic that it offers can't be taken")
		}
	}
	for _, segment := range in.Segments {
		if id := m.segments[segment]; id != "" {
			d.Segments = append(d.Segments, id)
		} else {
			lacks = append(lacks, "a segment that its contacts join can't be taken")
		}
	}
	for _, field := range in.Fields {
		if app.IsFormInput(field.Property) {
			lacks = append(lacks, fmt.Sprintf("its field %q has the name of another input", field.Property))
			continue
		}
		if _, declared := m.types[field.Property]; declared || field.Property == app.FirstNameField || field.Property == app.LastNameField {
			d.Fields = append(d.Fields, field)
		} else {
			lacks = append(lacks, fmt.Sprintf("its field %q is no property of this team", field.Property))
		}
	}
	for _, t := range []struct {
		from string
		to   *string
		name string
	}{{in.ConfirmationTemplate, &d.ConfirmationTemplate, "confirmation"}, {in.WelcomeTemplate, &d.WelcomeTemplate, "welcome mail"}} {
		if *t.to = m.templateIDs[t.from]; t.from != "" && *t.to == "" {
			lacks = append(lacks, "the template of its "+t.name+" can't be taken")
		}
	}
	return lacks
}

// checkForm checks what the form refers to in the database, and leaves out what it can't have.
func (m *importer) checkForm(ctx context.Context, what string, f *app.Form) error {
	return m.s.DB.Read(ctx, func(r *db.Reader) error {
		if f.ConfirmationTemplate != "" && m.Apply {
			if err := m.checkConfirmation(r, f.ConfirmationTemplate); err != nil {
				words, ok := refusalWords(err)
				if !ok {
					return err
				}
				m.unmovable(what, words+"; it sends the built-in confirmation")
				f.ConfirmationTemplate = ""
			}
		}
		allowed, err := m.mayLink(r, f)
		if err == nil && !allowed {
			m.unmovable(what, "its link leads to a domain that is not verified here; set `redirect_url` again once it is")
			f.RedirectURL = ""
		}
		return err
	})
}

// checkConfirmation checks that a template of the team is published and fit for confirmations. Errors:
// CodeValidation.
func (m *importer) checkConfirmation(r *db.Reader, id string) error {
	t, err := r.Template(m.team.ID, id)
	if err != nil {
		return fmt.Errorf("read a template: %w", err)
	}
	if t.PublishedID == "" {
		return app.Invalid("confirmation_template", "names a template that is not published")
	}
	c, err := r.TemplateContent(m.team.ID, t.PublishedID)
	if err != nil {
		return fmt.Errorf("read a template: %w", err)
	}
	return c.CheckConfirmation("confirmation_template")
}

// mayLink reports whether the link of a form leads to an allowed origin or a verified domain.
func (m *importer) mayLink(r *db.Reader, f *app.Form) (bool, error) {
	if f.RedirectURL == "" {
		return true, nil
	}
	host, allowed := f.RedirectsToOrigin()
	if allowed {
		return true, nil
	}
	for name, verified := range m.verified { // of a dry run, too
		if verified && (host == name || strings.HasSuffix(host, "."+name)) {
			return true, nil
		}
	}
	return r.VerifiedAbove(m.team.ID, host)
}

// notFound reports whether an error says that a row does not exist.
func notFound(err error) bool { return errors.Is(err, db.ErrNotFound) }
