package teams

import (
	"context"
	"errors"
	"strings"

	"mailer/app"
	"mailer/app/clock"
	"mailer/app/service"
	"mailer/db"
)

// CreateTeam adds a team; a name has 1 to 100 characters. Errors: CodeConflict
// for a name that exists.
func (s *Service) CreateTeam(ctx context.Context, name string) (app.Team, error) {
	name, err := teamName(name)
	if err != nil {
		return app.Team{}, err
	}
	t := app.Team{ID: app.NewID(), Name: name, CreatedAt: clock.Now()}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := tx.InsertTeam(t); err != nil {
			return err
		}
		return service.Audit(ctx, tx, t.ID, "team.create", t.ID, nil, map[string]any{"name": name})
	})
	if errors.Is(err, db.ErrConflict) {
		return app.Team{}, nameTaken(name)
	}
	return t, service.Unavailable(err)
}

func teamName(name string) (string, error) { return CheckName("name", name) }

// MaxName is how long the name of a team may be, in characters.
const MaxName = 100

// CheckName returns the name of a team as it is kept. Errors: CodeValidation, which names
// the field.
func CheckName(field, name string) (string, error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n < 1 || n > MaxName {
		return "", app.Invalid(field, "must be 1 to %d characters long", MaxName)
	}
	return name, nil
}

func nameTaken(name string) error {
	return app.Errorf(app.CodeConflict, "A team named %q exists already", name)
}

// ListTeams returns all teams, oldest first.
func (s *Service) ListTeams(ctx context.Context) (teams []app.Team, err error) {
	teams, err = db.Get(ctx, s.DB, (*db.Reader).ListTeams)
	return teams, service.Unavailable(err)
}

// FindTeam returns the team of that name or id; "" is the first team.
func (s *Service) FindTeam(ctx context.Context, nameOrID string) (team app.Team, err error) {
	team, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.Team, error) { return r.FindTeam(nameOrID) })
	if errors.Is(err, db.ErrNotFound) {
		return team, app.Errorf(app.CodeNotFound, "There is no team %q; `mailer teams list` names them", nameOrID)
	}
	return team, service.Unavailable(err)
}
