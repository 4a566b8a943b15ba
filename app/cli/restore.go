package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/backup"
	"mailer/app/server"
)

func (c *Store) restore() *cobra.Command {
	cmd := newCommand("restore FILE", "Replace the database with a backup (stop the server first). Queued mail is put on hold", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		key := &server.KeyFile{Path: backup.KeyFile(c.flags.DB, c.flags.MasterKey), Database: args[0]}
		done, err := backup.Restore(app.WithActor(cmd.Context(), operator), backup.Restoring{File: args[0], Database: c.flags.DB, Schema: c.Schema, Fits: key.Fits})
		if err != nil {
			return err
		}
		sayRestored(&done)
		return c.done(done, fmt.Sprintf("restored %s as of %s; set aside: %s; held: %d",
			done.Database, orDash(deref(done.BackupAt)), orDash(deref(done.SetAside)), done.Held))
	})
	return c.jsonFlag(cmd)
}

// sayRestored says on standard error what is to be decided now.
func sayRestored(done *backup.Restored) {
	if done.Held > 0 {
		fmt.Fprintf(os.Stderr, "mailer: %d messages waited in the backup and may have left since: they are held; mailer queue list --state held shows them, mailer queue release --restored or drop --restored decides\n", done.Held)
	}
	fmt.Fprintln(os.Stderr, "mailer: opt-outs, suppressions, keys and contacts of the time since the backup are missing, and webhook events that were pending then are sent again under their ids")
}
