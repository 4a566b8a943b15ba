package cli

import (
	"context"

	"github.com/spf13/cobra"

	"mailer/app/server"
	"mailer/app/tenants/accounts"
)

// users returns the commands for people who can sign in.
func (c *Store) users() *cobra.Command {
	a := accountStore{c}
	return group("users", "User accounts", c.usersSetup(), a.list(), a.create(),
		a.signInLink("link EMAIL", "Print a sign-in link for a user (single use, expires in 30 minutes)", (*accounts.Service).NewLink),
		a.signInLink("reset EMAIL", "Remove a user's password, second factor and sessions, and print a new sign-in link", (*accounts.Service).Reset),
		a.role(), a.remove(), a.sessions())
}

func (c *Store) usersSetup() *cobra.Command {
	return c.jsonFlag(newCommand("setup", "Print a link to create the first account (single use, expires in 30 minutes)", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			link, err := e.Accounts.SetupLink(ctx)
			if err != nil {
				return err
			}
			return c.printDone(map[string]string{"object": "setup_link", "url": link}, link)
		})
	}))
}
