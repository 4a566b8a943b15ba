package teams

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// RenameTeam changes the name of a team. Names follow the rules of CreateTeam. Errors:
// CodeValidation, CodeNotFound, CodeConflict for a name that another team has.
func (s *Service) RenameTeam(ctx context.Context, team *app.Team, name string) (app.Team, error) {
	name, err := teamName(name)
	if err != nil {
		return app.Team{}, err
	}
	err = s.DB.Write(ctx, func(tx *db.Tx) error { return s.RenameInTx(ctx, tx, team.ID, name, true) })
	renamed := *team
	renamed.Name = name
	return renamed, base.Lookup("team", err)
}

// RenameInTx is RenameTeam inside a Write, for a name that CheckName returned. unique refuses a
// name that another team has. It is for operators only: a team that renames itself must not learn
// the names of other teams.
func (s *Service) RenameInTx(ctx context.Context, tx *db.Tx, teamID, name string, unique bool) error {
	before, err := tx.TeamName(teamID)
	if err != nil || before == name {
		return err
	}
	if unique {
		if err := checkNameFree(&tx.Reader, name); err != nil {
			return err
		}
	}
	if err := tx.RenameTeam(teamID, name); err != nil {
		return err
	}
	tx.AfterCommit(s.keys.Clear) // cached keys hold the name
	return base.Audit(ctx, tx, teamID, "team.rename", teamID, map[string]any{"name": before}, map[string]any{"name": name})
}
