package signup

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// FormPage returns what the page of a form shows. host is the Host header of the request. Error:
// CodeNotFound if there is no such form at the host.
func (s *Service) FormPage(ctx context.Context, host, formID string) (*FormView, error) {
	id, ok := app.ParseID(formID)
	if !ok {
		return nil, app.NotFound("form")
	}
	view, err := db.Get(ctx, s.DB, func(r *db.Reader) (*FormView, error) {
		f, err := r.PublicForm(id)
		if err != nil {
			return nil, err
		}
		return formView(r, f)
	})
	if err != nil {
		return nil, base.Lookup("form", err)
	}
	serves, err := s.Hosts.Serves(ctx, host, view.Form.TeamID)
	if err != nil {
		return nil, base.Unavailable(err)
	}
	if !serves {
		return nil, app.NotFound("form")
	}
	view.Opened = s.openedToken(view.Form.ID)
	return view, nil
}

// formView reads what the page of a form shows.
func formView(r *db.Reader, f app.Form) (*FormView, error) {
	v := &FormView{Form: f}
	var err error
	if v.Brand, err = r.Brand(f.TeamID); err != nil {
		return nil, err
	}
	v.Team = v.Brand.Team
	if v.Closed, err = r.IsSuspended(f.TeamID); err != nil {
		return nil, err
	}
	for _, t := range f.Topics {
		if v.Topics, err = addTopic(r, f.TeamID, t.ID, t.Preselected, v.Topics); err != nil {
			return nil, err
		}
	}
	v.Fields, err = formFields(r, &f)
	return v, err
}

// addTopic appends a topic of a team, unless it was deleted.
func addTopic(r *db.Reader, teamID, id string, chosen bool, to []FormTopic) ([]FormTopic, error) {
	t, err := r.Topic(teamID, id)
	if errors.Is(err, db.ErrNotFound) {
		return to, nil
	}
	return append(to, FormTopic{ID: t.ID, Name: t.Name, Description: t.Description, Preselected: chosen}), err
}

// formFields returns the fields of a form. Those whose property was deleted are left out.
func formFields(r *db.Reader, f *app.Form) (fields []FormField, err error) {
	if len(f.Fields) == 0 {
		return nil, nil
	}
	types, err := r.PropertyTypes(f.TeamID)
	if err != nil {
		return nil, fmt.Errorf("read properties: %w", err)
	}
	for _, field := range f.Fields {
		kind, declared := types[field.Property]
		if !declared && field.Property != app.FirstNameField && field.Property != app.LastNameField {
			continue
		}
		fields = append(fields, FormField{Name: field.Property, Label: field.Label, Required: field.Required, Number: declared && kind == app.NumberProperty})
	}
	return fields, nil
}
