package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/tenants/accounts"
)

// accountStore has the commands for accounts.
type accountStore struct{ *Store }

func (c accountStore) list() *cobra.Command {
	return c.jsonFlag(newCommand("list", "List user accounts", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			t := Table{Head: []string{"EMAIL", "NAME", "OPERATOR", "TEAMS", "SECOND FACTOR", "LAST SEEN"}}
			if err := e.Accounts.Accounts(ctx, func(a accounts.Account) { t.Rows = append(t.Rows, accountRow(&a)) }); err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, t)
		})
	}))
}

func accountRow(a *accounts.Account) Row {
	teams, msg := []map[string]any{}, []string{}
	for _, m := range a.Teams {
		teams = append(teams, map[string]any{"id": m.TeamID, "name": m.TeamName, "role": m.Role})
		msg = append(msg, m.TeamName+" ("+string(m.Role)+")")
	}
	yes := map[bool]string{true: "yes", false: "no"}
	seen := app.FormatTimePtr(a.SeenAt)
	return Row{
		Object: map[string]any{"id": a.ID, "email": a.Address, "name": a.Name, "operator": a.Operator, "teams": teams,
			"second_factor": a.Factor, "last_seen_at": seen, "created_at": app.FormatTime(a.JoinedAt)},
		Cells: []string{a.Address, orDash(a.Name), yes[a.Operator], orDash(strings.Join(msg, ", ")), yes[a.Factor], orDash(deref(seen))},
	}
}

func (c accountStore) create() *cobra.Command {
	var role app.Role
	var operator bool
	cmd := newCommand("create EMAIL", "Create an account and print a sign-in link (single use, expires in 30 minutes)", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			u, link, err := e.Accounts.CreateAccount(ctx, args[0], team.ID, role, operator)
			if err != nil {
				return err
			}
			return c.printDone(map[string]string{"object": "user", "id": u.ID, "email": u.Address, "url": link}, link)
		})
	})
	cmd.Flags().StringVar((*string)(&role), "role", "", "owner, admin or member (required)")
	cmd.Flags().BoolVar(&operator, "operator", false, "also make the user an operator, with access to server settings and all teams")
	return c.teamFlag(c.jsonFlag(required(cmd, "--role member")))
}

// signInLink makes a command that prints a sign-in link.
func (c accountStore) signInLink(use, short string, link func(s *accounts.Service, ctx context.Context, address string) (string, error)) *cobra.Command {
	return c.jsonFlag(newCommand(use, short, cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			url, err := link(e.Accounts, ctx, args[0])
			if err != nil {
				return err
			}
			return c.printDone(map[string]string{"object": "sign_in_link", "email": args[0], "url": url}, url)
		})
	}))
}

func (c accountStore) role() *cobra.Command {
	return c.teamFlag(c.jsonFlag(newCommand("role EMAIL owner|admin|member", "Set a user's role in a team, and add the user to the team if needed", cobra.ExactArgs(2), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			if err := e.Accounts.AssignRole(ctx, args[0], team.ID, app.Role(args[1])); err != nil {
				return err
			}
			return c.printDone(map[string]string{"object": "member", "email": args[0], "team": team.Name, "role": args[1]}, fmt.Sprintf("%s is %s of %s", args[0], args[1], team.Name))
		})
	})))
}

func (c accountStore) remove() *cobra.Command {
	cmd := newCommand("remove EMAIL", "Remove a user from a team, or delete the account", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			if c.team == "" {
				left, err := e.Accounts.RemoveAccount(ctx, args[0])
				if err != nil {
					return err
				}
				return c.printDone(map[string]any{"object": "user", "email": args[0], "deleted": true, "keys": keyObjects(left)}, "removed the account "+args[0]+keysText(left))
			}
			team, err := e.Teams.FindTeam(ctx, c.team)
			if err != nil {
				return err
			}
			left, err := e.Accounts.LeaveTeam(ctx, args[0], team.ID)
			if err != nil {
				return err
			}
			return c.printDone(map[string]any{"object": "member", "email": args[0], "team": team.Name, "deleted": true, "keys": keyObjects(left)}, fmt.Sprintf("removed %s from %s", args[0], team.Name)+keysText(left))
		})
	})
	cmd.Flags().StringVar(&c.team, "team", "", "only remove from this team, by name or id (default: delete the account)")
	return c.jsonFlag(cmd)
}

// keyObjects returns the API keys of a removed person that still work.
func keyObjects(left []app.Key) []map[string]any {
	out := make([]map[string]any, len(left))
	for i, k := range left {
		out[i] = map[string]any{"id": k.ID, "name": k.Name, "team": k.TeamName}
	}
	return out
}

func keysText(left []app.Key) string {
	if len(left) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nAPI keys that this user created still work; revoke one with `mailer keys revoke ID`:")
	for _, k := range left {
		fmt.Fprintf(&b, "\n  %s  %s (%s, %s)", k.ID, k.Name, k.TeamName, k.Role)
	}
	return b.String()
}

func (c accountStore) sessions() *cobra.Command {
	return group("sessions", "Sessions of users", c.jsonFlag(newCommand("end EMAIL", "End all sessions of a user", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			n, err := e.Accounts.EndAllSessions(ctx, args[0])
			if err != nil {
				return err
			}
			return c.printDone(map[string]any{"object": "session", "email": args[0], "ended": n}, fmt.Sprintf("ended %d sessions of %s", n, args[0]))
		})
	})))
}
