package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/plan"
	"mailer/app/server"
)

func (c *Store) teams() *cobra.Command {
	create := newCommand("create NAME", "Add a team", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, true, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.CreateTeam(ctx, args[0])
			if err != nil {
				return err
			}
			return c.done(map[string]string{"object": "team", "id": team.ID, "name": team.Name}, team.ID)
		})
	})
	list := newCommand("list", "List all teams", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			teams, err := e.Teams.ListTeams(ctx)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Teams(teams))
		})
	})
	var in plan.Input
	plan := newCommand("set-plan TEAM free|starter|pro|scale", "Give a team a plan, which a server in cloud mode goes by", cobra.ExactArgs(2), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.FindTeam(ctx, args[0])
			if err != nil {
				return err
			}
			in.Name = plan.Name(args[1])
			p, err := e.Teams.SetPlan(ctx, team.ID, in)
			if err != nil {
				return err
			}
			return c.done(planObject(&team, &p), planWords(&team, &p))
		})
	})
	plan.Flags().Int64Var(&in.Included, "included", 0, "recipients that a period of a monthly plan includes (default: the plan's own)")
	plan.Flags().BoolVar(&in.Overage, "overage", false, "a monthly plan goes on above what is included, up to five times as much")
	return group("teams", "Teams, which never see each other's data", c.jsonFlag(create), c.jsonFlag(list), c.jsonFlag(plan), c.suspendTeam(), c.resumeTeam())
}

func planObject(team *app.Team, p *plan.Plan) map[string]any {
	out := map[string]any{"object": "team", "id": team.ID, "name": team.Name, "plan": p.Name}
	if !p.Daily() {
		out["included"], out["overage"], out["since"] = p.Included(), p.Overage, app.FormatTime(p.Since)
	}
	return out
}

func planWords(team *app.Team, p *plan.Plan) string {
	if p.Daily() {
		return fmt.Sprintf("%s is on the plan %s: %d emails a day", team.Name, p.Name, p.Terms().PerDay)
	}
	words := fmt.Sprintf("%s is on the plan %s: %d emails a month are included", team.Name, p.Name, p.Included())
	if p.Overage {
		words += fmt.Sprintf(", and with overage %d are the most", p.Most())
	}
	return words
}
