package cli

import (
	"github.com/spf13/cobra"

	"mailer/app/people"
)

// users are the people who can sign in.
func (c *Store) users() *cobra.Command {
	a := accounts{c}
	return group("users", "People who sign in", c.usersSetup(), a.list(), a.create(),
		a.signInLink("link EMAIL", "Print a link that signs a person in, once, within 30 minutes", (*people.Service).NewLink),
		a.signInLink("reset EMAIL", "End password, second factor and sessions of a person, and print a new link", (*people.Service).Reset),
		a.role(), a.remove(), a.sessions())
}
