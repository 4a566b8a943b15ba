package cli

import "github.com/spf13/cobra"

func (c *Store) restore() *cobra.Command {
	return c.jsonFlag(newCommand("restore FILE", "Put a backup in the place of the database", cobra.ExactArgs(1), func(*cobra.Command, []string) error { return nil }))
}
