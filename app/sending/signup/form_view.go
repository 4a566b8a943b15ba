package signup

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// ViewForm returns a form of the key's team with what its page shows. Error: CodeNotFound.
func (s *Service) ViewForm(ctx context.Context, key *app.Key, id string) (*FormView, error) {
	view, err := db.Get(ctx, s.DB, func(r *db.Reader) (*FormView, error) {
		f, err := r.Form(key.TeamID, id)
		if err != nil {
			return nil, err
		}
		return formView(r, f)
	})
	return view, base.Lookup("form", err)
}
