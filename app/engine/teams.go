package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"mailer/app"
	"mailer/db"
)

// CreateTeam adds a team; a name has 1 to 100 characters. Errors: CodeConflict
// for a name that exists.
func (e *Engine) CreateTeam(ctx context.Context, name string) (app.Team, error) {
	name = strings.TrimSpace(name)
	if n := len([]rune(name)); n < 1 || n > 100 {
		return app.Team{}, app.Invalid("name", "must be 1 to 100 characters long")
	}
	t := app.Team{ID: app.NewID(), Name: name, CreatedAt: time.Now()}
	err := e.db.Write(ctx, func(tx *db.Tx) error { return tx.InsertTeam(t) })
	if errors.Is(err, db.ErrConflict) {
		return app.Team{}, app.Errorf(app.CodeConflict, "A team named %q exists already", name)
	}
	return t, unavailable(err)
}

// ListTeams gives all teams, oldest first.
func (e *Engine) ListTeams(ctx context.Context) (teams []app.Team, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		teams, err = r.ListTeams()
		return err
	})
	return teams, unavailable(err)
}

// FindTeam gives the team of that name or id; "" is the first team.
func (e *Engine) FindTeam(ctx context.Context, nameOrID string) (team app.Team, err error) {
	err = e.db.Read(ctx, func(r *db.Reader) error {
		team, err = r.FindTeam(nameOrID)
		return err
	})
	return team, lookup("team", err)
}
