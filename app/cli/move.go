package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"mailer/app/server"
)

func move(c *Store) *cobra.Command {
	var to string
	var undo bool
	cmd := newCommand("move", "Move the database from a file to PostgreSQL or back (stop the server first). The target must be empty", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		switch {
		case undo && to != "", !undo && to == "":
			return errors.New("name the target database with --to, or use --undo")
		case undo:
			return undoMove(c, cmd)
		}
		bar := Progress(cmd.Context(), "move", 0)
		done, err := server.Move(cmd.Context(), c.flags.DB, to, c.Schema, bar.At)
		bar.Done()
		if err != nil {
			return err
		}
		if c.asJSON {
			err = PrintJSON(os.Stdout, done)
		} else {
			t := Table{Head: []string{"TABLE", "ROWS", "SUM"}}
			for _, m := range done.Tables {
				t.Rows = append(t.Rows, Row{Cells: []string{m.Table, strconv.FormatInt(m.Rows, 10), m.Sum[:16]}})
			}
			err = Print(os.Stdout, false, t)
		}
		printMoved(c.flags, done.To, done.Rows, to)
		return err
	})
	cmd.Flags().StringVar(&to, "to", "", "target database: a new file, or the URL of an empty PostgreSQL database (postgres://…)")
	cmd.Flags().BoolVar(&undo, "undo", false, "reactivate a database that was moved; use only if no server ever ran on the target, because mail queued in both is sent twice")
	return c.jsonFlag(cmd)
}

func undoMove(c *Store, cmd *cobra.Command) error {
	to, err := server.UndoMove(cmd.Context(), c.flags.DB, c.Schema)
	if err != nil {
		return err
	}
	name := server.DatabaseName(c.flags.DB)
	return c.printDone(map[string]string{"database": name, "moved_to": to}, fmt.Sprintf("%s works again; never start %s", name, to))
}

// printMoved prints on standard error how to continue.
func printMoved(f StoreFlags, to string, rows int64, flag string) {
	fmt.Fprintf(os.Stderr, "mailer: %d rows are in %s, read again and alike; %s is as it was and is not started any more\n", rows, to, server.DatabaseName(f.DB))
	switch key, found := server.MovedKey(f.DB, f.MasterKey, flag); {
	case found:
		fmt.Fprintf(os.Stderr, "mailer: start mailer serve --db %s; its master key is in %s\n", to, key)
	case key == "":
		fmt.Fprintf(os.Stderr, "mailer: start mailer serve --db %s, with --master-key-file and the file of the master key that this database had, or put that file at %s.key\n", to, to)
	case server.RequireFile(flag) == nil:
		fmt.Fprintf(os.Stderr, "mailer: start mailer serve --db %s --master-key-file %s, or move that file to %s.key; without the master key nothing is signed or sent\n", to, key, to)
	default:
		fmt.Fprintf(os.Stderr, "mailer: start mailer serve --db %s --master-key-file %s, with the password in its URL; every server needs that file, since without the master key nothing is signed or sent\n", to, key)
	}
}
