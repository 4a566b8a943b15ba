package cli

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"mailer/app/server"
)

// ErrDamage: a check of the database found damage, and it was printed.
var ErrDamage = errors.New("the database is damaged")

func (c *Store) check() *cobra.Command {
	cmd := newCommand("check", "Look for damage in the database, beside a server or alone; exit code 2 where there is any", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		bar := Progress(cmd.Context(), "check", 0)
		checks, err := server.CheckDatabase(cmd.Context(), c.flags.DB)
		bar.Done()
		if err != nil {
			return err
		}
		ok, t := true, Table{Head: []string{"CHECK", "OK", "FOUND", "WHAT HELPS"}}
		for _, check := range checks {
			ok = ok && check.OK
			t.Rows = append(t.Rows, Row{Cells: []string{check.Name, map[bool]string{true: "yes", false: "NO"}[check.OK], check.Found, orDash(check.Fix)}})
		}
		if c.asJSON {
			err = PrintJSON(os.Stdout, map[string]any{"ok": ok, "checks": checks})
		} else {
			err = Print(os.Stdout, false, t)
		}
		if err != nil || ok {
			return err
		}
		return ErrDamage
	})
	cmd.Flags().StringVar(&c.flags.DB, "db", "mailer.db", "database file")
	return JSONFlag(cmd, &c.asJSON)
}
