package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app/operate/backup"
	"mailer/app/server"
)

func (c *Store) backup() *cobra.Command {
	cmd := newCommand("backup FILE|-", "Back up the database to a new file or to standard output. Safe while the server is running", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			bar := ProgressBytes(ctx, "backup", 1)
			if args[0] == "-" {
				made, err := e.Backup.Stream(ctx, os.Stdout, bar.At)
				bar.Done()
				c.printKeyNote(made)
				return err
			}
			made, err := e.Backup.Write(ctx, args[0], bar.At)
			bar.Done()
			if made.File == "" {
				return err
			}
			c.printKeyNote(made)
			if err != nil {
				return err
			}
			return c.printDone(made, fmt.Sprintf("%s: %d bytes, %d emails, as of %s; verified", made.File, made.Bytes, made.Emails, made.At))
		})
	})
	return c.jsonFlag(cmd)
}

// printKeyNote prints on standard error that a backup does not contain the master key.
func (c *Store) printKeyNote(made backup.Made) {
	if made.File == "" {
		return
	}
	fmt.Fprintf(os.Stderr, "mailer: this backup does not contain the master key; you can't restore without it: keep %s too, once, in another place\n", backup.KeyFile(c.flags.DB, c.flags.MasterKey))
}
