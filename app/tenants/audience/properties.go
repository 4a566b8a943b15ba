package audience

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// CreateProperty declares a property of the team's contacts. Existing values of another type stay,
// and only new values must have the type: checking a million contacts would make others wait, and a
// refusal because of one forgotten contact would help nobody. Errors: CodeValidation, CodeConflict
// for a key that is declared already.
func (s *Properties) CreateProperty(ctx context.Context, key *app.Key, in app.PropertyInput) (app.Property, error) {
	if err := in.Validate(); err != nil {
		return app.Property{}, err
	}
	p := app.Property{ID: app.NewID(), TeamID: key.TeamID, Key: in.Key, Type: in.Type, Fallback: in.Fallback}
	err := s.service.DB.Write(ctx, func(tx *db.Tx) error {
		pending, err := tx.HasLeftovers(key.TeamID, in.Key)
		if err != nil {
			return err
		}
		if pending {
			return app.Errorf(app.CodeConflict, "A contact property with this key was deleted a moment ago and is still being removed from contacts; try again later")
		}
		p.CreatedAt = tx.Now
		return tx.InsertProperty(&p)
	})
	if errors.Is(err, db.ErrConflict) {
		return app.Property{}, app.Errorf(app.CodeConflict, "A contact property with this key exists already")
	}
	return p, base.Unavailable(err)
}

// ListProperties returns a page of the team's declared properties, newest first, and whether there
// are more. Errors: CodeValidation for an unknown cursor.
func (s *Properties) ListProperties(ctx context.Context, key *app.Key, page app.Page) (rows []app.Property, more bool, err error) {
	rows, more, err = db.GetPage(ctx, s.service.DB, func(r *db.Reader) ([]app.Property, bool, error) { return r.ListProperties(key.TeamID, page) })
	return rows, more, base.Cursor(page, err)
}

// GetProperty returns one declared property. Errors: CodeNotFound.
func (s *Properties) GetProperty(ctx context.Context, key *app.Key, id string) (p app.Property, err error) {
	p, err = db.Get(ctx, s.service.DB, func(r *db.Reader) (app.Property, error) { return r.Property(key.TeamID, id) })
	return p, base.Lookup("contact property", err)
}

// UpdateProperty changes the fallback and returns the changed property. Errors: CodeNotFound,
// CodeValidation, also for another key or type.
func (s *Properties) UpdateProperty(ctx context.Context, key *app.Key, id string, patch app.PropertyPatch) (p app.Property, err error) {
	err = s.service.DB.Write(ctx, func(tx *db.Tx) error {
		if p, err = tx.Property(key.TeamID, id); err != nil {
			return err
		}
		if p, err = patch.Apply(p); err != nil {
			return err
		}
		return tx.SetFallback(key.TeamID, id, p.Fallback)
	})
	return p, base.Lookup("contact property", err)
}

// propertyWait is how long DeleteProperty waits for the removal of values from contacts. The rest
// is removed in the background.
const propertyWait = 5 * time.Second

// DeleteProperty deletes a declaration, and the property's values from all contacts. Errors:
// CodeNotFound.
func (s *Properties) DeleteProperty(ctx context.Context, key *app.Key, id string) error {
	err := s.service.DB.Write(ctx, func(tx *db.Tx) error { return tx.DeleteProperty(key.TeamID, id, app.NewID()) })
	if err != nil {
		return base.Lookup("contact property", err)
	}
	ctx, cancel := context.WithTimeout(ctx, propertyWait)
	defer cancel()
	if err := s.service.PurgeLeftovers(ctx); err != nil && ctx.Err() == nil {
		s.service.Log.Error("remove the values of a property; the next clean-up goes on", "err", err)
	}
	return nil
}
