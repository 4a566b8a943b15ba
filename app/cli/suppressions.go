package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
)

func (c *Store) suppressions() *cobra.Command {
	return group("suppressions", "Manage the suppression list", c.suppressionsList(), c.suppressionsAdd(), c.suppressionsRemove())
}

// byOperator returns a key with which the operator acts as the team's owner.
func byOperator(team *app.Team) *app.Key {
	return &app.Key{TeamID: team.ID, TeamName: team.Name, Permission: app.FullAccess, Role: app.RoleOwner}
}

func (c *Store) suppressionsList() *cobra.Command {
	var origin string
	cmd := newCommand("list", "List the suppressed addresses of a team, newest first", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			all, err := allPages(func(page app.Page) ([]app.Suppression, bool, error) {
				return e.Suppressions.ListSuppressions(ctx, byOperator(&team), app.SuppressionOrigin(origin), page)
			}, func(s *app.Suppression) string { return s.ID })
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Suppressions(all))
		})
	})
	cmd.Flags().StringVar(&origin, "origin", "", "only addresses of this origin: bounce, complaint, manual or unsubscribe")
	return c.teamFlag(c.jsonFlag(cmd))
}

// allPages reads every page of a list.
func allPages[T any](read func(app.Page) (rows []T, more bool, err error), id func(*T) string) (all []T, err error) {
	page := app.Page{Limit: app.MaxLimit}
	for more := true; more; {
		var rows []T
		if rows, more, err = read(page); err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			break
		}
		all, page.After = append(all, rows...), id(&rows[len(rows)-1])
	}
	return all, nil
}

func (c *Store) suppressionsAdd() *cobra.Command {
	cmd := newCommand("add ADDRESS", "Suppress an address: the team can no longer send to it", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			s, err := e.Suppressions.AddSuppression(ctx, byOperator(&team), app.SuppressionInput{Email: args[0]})
			if err != nil {
				return err
			}
			object := suppressionObject(&s)
			object["object"] = "suppression"
			return c.printDone(object, fmt.Sprintf("%s is suppressed for %s since %s (%s)", args[0], team.Name, app.FormatTime(s.CreatedAt), s.Origin))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

func (c *Store) suppressionsRemove() *cobra.Command {
	cmd := newCommand("remove ADDRESS|ID", "Remove an address from the list: the team can send to it again", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			id, err := e.Suppressions.RemoveSuppression(ctx, byOperator(&team), args[0])
			if err != nil {
				return notFound(err, "suppression of", args[0], "suppressions list")
			}
			return c.printDone(map[string]any{"object": "suppression", "id": id, "deleted": true}, fmt.Sprintf("%s is no longer suppressed for %s", args[0], team.Name))
		})
	})
	return c.teamFlag(c.jsonFlag(cmd))
}

// Suppressions is a list of suppressed addresses.
func Suppressions(all []app.Suppression) Table {
	t := Table{Head: []string{"ID", "ADDRESS", "ORIGIN", "SOURCE", "CREATED"}}
	for i := range all {
		s := &all[i]
		t.Rows = append(t.Rows, Row{Object: suppressionObject(s), Cells: []string{s.ID, s.Email, string(s.Origin), orDash(s.SourceID), app.FormatTime(s.CreatedAt)}})
	}
	return t
}

func suppressionObject(s *app.Suppression) map[string]any {
	return map[string]any{"id": s.ID, "email": s.Email, "origin": s.Origin, "source_id": orNull(s.SourceID), "created_at": app.FormatTime(s.CreatedAt)}
}
