package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/kit/clock"
	"mailer/app/server"
)

// maxAudited bounds the entries of one `mailer audit list`.
const maxAudited = 100_000

func (c *Store) audit() *cobra.Command {
	var limit int
	var since time.Duration
	cmd := newCommand("list", "List changes with author and time, newest first", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if limit < 1 || limit > maxAudited {
			return fmt.Errorf("--limit must be a number from 1 to %d, is %d", maxAudited, limit)
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			var teamID string
			if c.team != "" {
				team, err := e.Teams.FindTeam(ctx, c.team)
				if app.CodeOf(err) == app.CodeNotFound { // the log of a deleted team is kept
					team, err = app.Team{ID: c.team}, nil
				}
				if err != nil {
					return err
				}
				teamID = team.ID
			}
			from := time.Unix(0, 0)
			if since > 0 {
				from = clock.Now().Add(-since)
			}
			entries, err := e.Teams.AuditLog(ctx, teamID, from, limit)
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, audited(entries))
		})
	})
	cmd.Flags().StringVar(&c.team, "team", "", "only changes of this team, by name or id; a deleted team by id (default: all teams and the server)")
	cmd.Flags().DurationVar(&since, "since", 0, "only changes within this time, like 24h (default: all)")
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of entries")
	return group("audit", "Audit log: changes to keys, domains, webhooks, relays, plans and the queue", c.jsonFlag(cmd))
}

func audited(entries []app.AuditEntry) Table {
	t := Table{Head: []string{"WHEN", "WHO", "ADDRESS", "WHAT", "TARGET", "TEAM", "BEFORE", "AFTER"}}
	for i := range entries {
		e := &entries[i]
		t.Rows = append(t.Rows, Row{
			Object: map[string]any{"id": e.ID, "created_at": app.FormatTime(e.CreatedAt), "team_id": orNull(e.TeamID), "actor_type": e.Actor.Type, "actor": e.Actor.Name, "actor_name": orNull(e.ActorName),
				"address": orNull(e.Actor.Address), "action": e.Action, "target": orNull(e.Target), "before": rawOrNull(e.Before), "after": rawOrNull(e.After)},
			Cells: []string{app.FormatTime(e.CreatedAt), strings.TrimSpace(string(e.Actor.Type) + " " + cmp.Or(e.ActorName, e.Actor.Name)), orDash(e.Actor.Address), e.Action, orDash(e.Target),
				orDash(e.TeamID), orDash(e.Before), orDash(e.After)},
		})
	}
	return t
}

// rawOrNull returns stored JSON, or null.
func rawOrNull(text string) jsontext.Value {
	if text == "" {
		return jsontext.Value("null")
	}
	return jsontext.Value(text)
}
