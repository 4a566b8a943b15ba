package teams

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/service"
	"mailer/db"
)

// RenameTeam changes the name of a team, by the rules of CreateTeam. Errors:
// CodeValidation, CodeNotFound, CodeConflict for a name that another team has.
func (s *Service) RenameTeam(ctx context.Context, team *app.Team, name string) (app.Team, error) {
	name, err := teamName(name)
	if err != nil {
		return app.Team{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		before, err := tx.TeamName(team.ID)
		if err != nil || before == name {
			return err
		}
		if err := tx.RenameTeam(team.ID, name); err != nil {
			return err
		}
		tx.AfterCommit(s.keys.Clear) // they know its name
		return service.Audit(ctx, tx, team.ID, "team.rename", team.ID, map[string]any{"name": before}, map[string]any{"name": name})
	})
	if errors.Is(err, db.ErrConflict) {
		return app.Team{}, nameTaken(name)
	}
	renamed := *team
	renamed.Name = name
	return renamed, service.Lookup("team", err)
}
