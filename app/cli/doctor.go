package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mailer/app/operate/health"
	"mailer/app/server"
)

// errChecksFailed means that a check failed, and was printed with its remedy.
var errChecksFailed = errors.New("checks failed: see the ✗ lines above and how to fix each")

func (c *Store) doctor() *cobra.Command {
	cmd := newCommand("doctor", "Run diagnostics (works with or without a running server). Exits 0 only if all checks pass", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		checks, err := server.Doctor(cmd.Context(), c.flags.DB, c.flags.MasterKey, ShowsPassword(cmd), func() (*server.Server, func(), error) { return c.Open(cmd.Context(), c.flags, false) })
		if err != nil {
			return err
		}
		ok := health.AllOK(checks)
		if c.asJSON {
			err = PrintJSON(os.Stdout, map[string]any{"ok": ok, "checks": checks})
		} else {
			err = printChecks(os.Stdout, checks)
		}
		if err != nil || ok {
			return err
		}
		return errChecksFailed
	})
	return ResolverFlag(c.jsonFlag(cmd), &c.flags.Resolver)
}

// helpLines returns the remedy: a text, and a command to paste.
func helpLines(f *health.Finding) []string {
	lines := []string{"→ " + f.Fix}
	if f.Command != "" {
		lines = append(lines, "  "+f.Command)
	}
	return lines
}

// printChecks prints a line per check, and the remedy below each that failed.
func printChecks(w io.Writer, checks []health.Check) error {
	var lines strings.Builder
	tw := tabwriter.NewWriter(&lines, 0, 0, 2, ' ', 0)
	for _, check := range checks {
		fmt.Fprintf(tw, "%s %s\t%s\n", State(w, map[bool]string{true: "✓", false: "✗"}[check.OK]), check.Name, check.Found)
		switch {
		case check.Finding != nil:
			for _, line := range helpLines(check.Finding) {
				fmt.Fprintf(tw, "\t%s\n", line)
			}
		case check.Fix != "": // findings of mailer check
			fmt.Fprintf(tw, "\t→ %s\n", check.Fix)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, lines.String())
	return err
}
