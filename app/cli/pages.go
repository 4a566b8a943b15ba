package cli

import (
	"context"

	"github.com/spf13/cobra"

	"mailer/app/server"
)

func (c *Store) pages() *cobra.Command {
	return group("pages", "Manage what teams publish on the web", c.removePage())
}

func (c *Store) removePage() *cobra.Command {
	return c.jsonFlag(newCommand("remove URL", "Remove an issue from the archive of a topic, or a whole archive, by its URL", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			out, err := e.Archive.RemovePage(ctx, args[0])
			if err != nil {
				return err
			}
			done := "The archive of the topic " + out.Topic.Name + " is gone, with all of its issues"
			if out.Issue != "" {
				done = "The issue " + out.Subject + " is removed from the archive of the topic " + out.Topic.Name
			}
			return c.printDone(map[string]any{"object": "page", "team_id": out.Topic.TeamID, "topic_id": out.Topic.ID, "issue_id": out.Issue, "deleted": true}, done)
		})
	}))
}
