package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"mailer/app/server"
)

func (c *Store) doubts() *cobra.Command {
	cmd := newCommand("doubts", "List deliveries with an unknown outcome (relay's reply was lost)", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			doubts, err := e.Delivery.ListDoubts(ctx, !c.InUse(c.flags.DB))
			if err != nil {
				return err
			}
			return Print(os.Stdout, c.asJSON, Doubts(doubts))
		})
	})
	return c.jsonFlag(cmd)
}
