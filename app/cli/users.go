package cli

import (
	"context"

	"github.com/spf13/cobra"

	"mailer/app/people"
	"mailer/app/server"
)

// users are the people who can sign in.
func (c *Store) users() *cobra.Command {
	a := accounts{c}
	return group("users", "People who sign in", c.usersSetup(), a.list(), a.create(),
		a.signInLink("link EMAIL", "Print a link that signs a person in, once, within 30 minutes", (*people.Service).NewLink),
		a.signInLink("reset EMAIL", "End password, second factor and sessions of a person, and print a new link", (*people.Service).Reset),
		a.role(), a.remove(), a.sessions())
}

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
