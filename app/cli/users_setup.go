package cli

import (
	"context"

	"github.com/spf13/cobra"

	"mailer/app/server"
)

func (c *Store) usersSetup() *cobra.Command {
	return c.jsonFlag(newCommand("setup", "Print a link that makes the first account, once, within 30 minutes", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			link, err := e.People.SetupLink(ctx)
			if err != nil {
				return err
			}
			return c.done(map[string]string{"object": "setup_link", "url": link}, link)
		})
	}))
}
