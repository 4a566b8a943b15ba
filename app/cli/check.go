package cli

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app/operate/health"
	"mailer/app/server"
)

// ErrDamage means that the check found damage, and printed it.
var ErrDamage = errors.New("the database is damaged")

func (c *Store) check() *cobra.Command {
	cmd := newCommand("check", "Check the database for corruption. Exits 2 if any is found", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		bar := Progress(cmd.Context(), "check", 0)
		checks, err := server.CheckDatabase(cmd.Context(), c.flags.DB)
		bar.Done()
		if err != nil {
			return err
		}
		ok := health.AllOK(checks)
		if c.asJSON {
			err = PrintJSON(os.Stdout, map[string]any{"ok": ok, "checks": checks})
		} else {
			err = printFindings(os.Stdout, checks)
		}
		if err != nil || ok {
			return err
		}
		return ErrDamage
	})
	cmd.Flags().StringVar(&c.flags.DB, "db", "mailer.db", "database file")
	return JSONFlag(cmd, &c.asJSON)
}

// printFindings is printChecks with each finding on its own line: there may be a hundred.
func printFindings(w io.Writer, checks []health.Check) error {
	lines := slices.Clone(checks)
	for i := range lines {
		lines[i].Found = strings.ReplaceAll(lines[i].Found, "; ", "\n\t")
	}
	return printChecks(w, lines)
}
