package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"mailer/app"
	"mailer/app/rules/plan"
	"mailer/app/server"
	"mailer/app/tenants/teams"
)

func (c *Store) teams() *cobra.Command {
	create := newCommand("create NAME", "Create a team", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, true, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.CreateTeam(ctx, args[0])
			if err != nil {
				return err
			}
			return c.printDone(map[string]string{"object": "team", "id": team.ID, "name": team.Name}, team.ID)
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
	plan := newCommand("set-plan TEAM free|starter|pro|scale", "Set a team's plan; only a server in cloud mode uses plans", cobra.ExactArgs(2), func(cmd *cobra.Command, args []string) error {
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
			return c.printDone(planObject(&team, &p), planText(&team, &p))
		})
	})
	plan.Flags().Int64Var(&in.Included, "included", 0, "recipients included per period of a monthly plan (default: the plan's number)")
	plan.Flags().BoolVar(&in.Overage, "overage", false, "allow a monthly plan up to five times the included recipients")
	return group("teams", "Teams; each has its own data", c.jsonFlag(create), c.jsonFlag(list), c.teamsRename(), c.setTimeZone(), c.jsonFlag(plan), c.setRetention(), c.setBrand(), c.suspendTeam(), c.resumeTeam(), c.teamsDelete())
}

func (c *Store) teamsRename() *cobra.Command {
	return c.jsonFlag(newCommand("rename TEAM NAME", "Rename a team", cobra.ExactArgs(2), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.FindTeam(ctx, args[0])
			if err != nil {
				return err
			}
			renamed, err := e.Teams.RenameTeam(ctx, &team, args[1])
			if err != nil {
				return err
			}
			return c.printDone(map[string]string{"object": "team", "id": team.ID, "name": renamed.Name}, fmt.Sprintf("%s is called %s now", team.Name, renamed.Name))
		})
	}))
}

func (c *Store) setTimeZone() *cobra.Command {
	return c.jsonFlag(newCommand("set-time-zone TEAM ZONE", "Set the time zone of a team's contacts that have none and of its schedules, like Europe/Berlin; '': UTC", cobra.ExactArgs(2), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.FindTeam(ctx, args[0])
			if err != nil {
				return err
			}
			if err := e.Teams.SetTimeZone(ctx, team.ID, args[1]); err != nil {
				return err
			}
			zone := cmp.Or(args[1], "UTC")
			return c.printDone(map[string]string{"object": "team", "id": team.ID, "name": team.Name, "time_zone": zone}, fmt.Sprintf("the time zone of %s is %s now", team.Name, zone))
		})
	}))
}

func (c *Store) teamsDelete() *cobra.Command {
	var yes bool
	cmd := newCommand("delete TEAM", "Delete a team and all its data; its queued mail is not sent", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.FindTeam(ctx, args[0])
			if err != nil {
				return err
			}
			d, err := e.Teams.PlanDeletion(ctx, team)
			if err != nil {
				return err
			}
			if err := confirmName(yes, team.Name, deletionText(&d)); err != nil {
				return err
			}
			if d, err = e.Teams.BeginDeletion(ctx, team); err != nil {
				return err
			}
			bar := Progress(ctx, "delete "+team.Name, d.Rows())
			err = e.Teams.FinishDeletion(ctx, &d, c.InUse(c.flags.DB), bar.At)
			bar.Done()
			if err != nil {
				return fmt.Errorf("%s is deleted and its name is free; the server deletes the remaining data, also after a restart: %w", team.Name, err)
			}
			return c.printDone(map[string]any{"object": "team", "id": team.ID, "name": team.Name, "deleted": true,
				"emails": d.Size.Emails, "contacts": d.Size.Contacts, "dropped": d.Dropped()},
				fmt.Sprintf("deleted %s with %d emails and %d contacts; queued emails not sent: %d", team.Name, d.Size.Emails, d.Size.Contacts, d.Dropped()))
		})
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "don't ask for confirmation")
	return c.jsonFlag(cmd)
}

func deletionText(d *teams.Deletion) string {
	return fmt.Sprintf("The team %s has %d emails and %d contacts. All of it is deleted permanently, its API keys are revoked immediately, and %d queued emails are not sent.",
		d.Team.Name, d.Size.Emails, d.Size.Contacts, d.Dropped())
}

// confirmName makes the operator type a name before an action that can't be undone.
func confirmName(yes bool, name, msg string) error {
	if yes {
		return nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New(msg + " There is no terminal for confirmation: add --yes to delete it")
	}
	fmt.Fprintf(os.Stderr, "%s\nType its name to confirm: ", printableLines(msg))
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(line) != name {
		return errors.New("the name does not match; nothing was changed")
	}
	return nil
}

func planObject(team *app.Team, p *plan.Plan) map[string]any {
	out := map[string]any{"object": "team", "id": team.ID, "name": team.Name, "plan": p.Name}
	if !p.Daily() {
		out["included"], out["overage"], out["since"] = p.Included(), p.Overage, app.FormatTime(p.Since)
	}
	return out
}

func planText(team *app.Team, p *plan.Plan) string {
	if p.Daily() {
		return fmt.Sprintf("%s is on the plan %s: %d emails a day", team.Name, p.Name, p.Terms().PerDay)
	}
	msg := fmt.Sprintf("%s is on the plan %s: %d emails per month included", team.Name, p.Name, p.Included())
	if p.Overage {
		msg += fmt.Sprintf(", at most %d with overage", p.PeriodMax())
	}
	return msg
}
