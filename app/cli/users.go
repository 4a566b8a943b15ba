package cli

import "github.com/spf13/cobra"

// users are the people who can sign in.
func (c *Store) users() *cobra.Command {
	return group("users", "People who sign in", c.usersSetup())
}
