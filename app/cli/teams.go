package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"mailer/app/engine"
)

func (c *Store) teams() *cobra.Command {
	create := newCommand("create NAME", "Add a team", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, true, func(ctx context.Context, e *engine.Engine) error {
			team, err := e.CreateTeam(ctx, args[0])
			if err != nil {
				return err
			}
			return c.done(map[string]string{"object": "team", "id": team.ID, "name": team.Name}, team.ID)
		})
	})
	list := newCommand("list", "List all teams", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *engine.Engine) error {
			teams, err := e.ListTeams(ctx)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Teams(teams))
		})
	})
	return group("teams", "Teams, which never see each other's data", c.jsonFlag(create), c.jsonFlag(list))
}
