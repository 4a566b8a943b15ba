package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/operate/backup"
	"mailer/app/server"
)

func (c *Store) restore() *cobra.Command {
	mark := false
	args := func(cmd *cobra.Command, args []string) error {
		if mark {
			return cobra.NoArgs(cmd, args)
		}
		return cobra.ExactArgs(1)(cmd, args)
	}
	cmd := newCommand("restore FILE", "Replace the database with a backup (stop the server first). Queued mail is put on hold", args, func(cmd *cobra.Command, args []string) error {
		if mark {
			return c.markRestored(cmd)
		}
		key := &server.KeyFile{Path: backup.KeyFile(c.flags.DB, c.flags.MasterKey), Database: args[0]}
		done, err := backup.Restore(app.WithActor(cmd.Context(), operator), backup.Restoring{File: args[0], Database: c.flags.DB, Schema: c.Schema, Fits: key.VerifyDatabase})
		if err != nil {
			return err
		}
		printRestored(&done)
		return c.printDone(done, fmt.Sprintf("restored %s as of %s; set aside: %s; held: %d",
			done.Database, orDash(deref(done.BackupAt)), orDash(deref(done.SetAside)), done.Held))
	})
	cmd.Flags().BoolVar(&mark, "mark", false, "the database was restored by other means, like pg_restore: hold what waited in it, and do nothing else")
	return c.jsonFlag(cmd)
}

// markRestored holds the waiting mail of the database.
func (c *Store) markRestored(cmd *cobra.Command) error {
	key := &server.KeyFile{Path: backup.KeyFile(c.flags.DB, c.flags.MasterKey), Database: c.flags.DB}
	done, err := backup.MarkRestored(app.WithActor(cmd.Context(), operator), backup.Restoring{Database: c.flags.DB, Schema: c.Schema, Fits: key.VerifyDatabase})
	if err != nil {
		return err
	}
	printRestored(&done)
	return c.printDone(done, fmt.Sprintf("%s is as of %s; held: %d", done.Database, orDash(deref(done.BackupAt)), done.Held))
}

// printRestored prints on standard error what to decide next.
func printRestored(done *backup.Restored) {
	if done.Held > 0 {
		fmt.Fprintf(os.Stderr, "mailer: %d messages waited in the backup and may have left since: they are held; mailer queue list --state held shows them, mailer queue release --restored or drop --restored decides\n", done.Held)
	}
	if done.Feeds > 0 {
		fmt.Fprintf(os.Stderr, "mailer: %d feeds are held: mailer queue release --restored lets them go on with what is published from then on, drop --restored pauses them\n", done.Feeds)
	}
	if done.Runs+done.Events+done.Automations > 0 {
		fmt.Fprintf(os.Stderr, "mailer: %d open runs of automations, %d of their events and the starts of %d automations by date or schedule are held: mailer queue release --restored lets them go on, drop --restored cancels the runs and drops the events\n",
			done.Runs, done.Events, done.Automations)
	}
	fmt.Fprintln(os.Stderr, "mailer: opt-outs, suppressions, keys and contacts of the time since the backup are missing, and webhook events that were pending then are sent again under their ids")
}
