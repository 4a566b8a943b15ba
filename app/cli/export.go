package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/kit/build"
	"mailer/app/moving/transfer"
	"mailer/app/rules/archive"
	"mailer/app/server"
)

func (c *Store) export() *cobra.Command {
	opts := transfer.ExportOptions{Version: build.Version()}
	cmd := newCommand("export DIR", "Export a team as JSON and CSV to a new or empty directory. Safe while the server is running", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.withTeam(cmd, false, func(ctx context.Context, e *server.Server, team app.Team) error {
			bar := Progress(ctx, "export", 0)
			defer bar.Done()
			opts.Progress = bar.At
			opts.Begin = func() error { return e.Teams.AuditExport(ctx, team.ID, "mailer export", exportNote(&opts)) }
			made, err := e.Exports.Export(ctx, team, args[0], opts)
			bar.Done()
			if err != nil {
				return err
			}
			return c.printDone(exportObject(&made), exportText(&team, &made, opts.NoSecrets))
		})
	})
	cmd.Flags().BoolVar(&opts.Emails, "emails", false, "include past emails with their events and attachments")
	cmd.Flags().BoolVar(&opts.NoSecrets, "no-secrets", false, "leave out DKIM keys, webhook signing secrets and API key hashes")
	return c.teamFlag(c.jsonFlag(cmd))
}

// exportNote describes an export in the audit log.
func exportNote(opts *transfer.ExportOptions) map[string]string {
	return map[string]string{"emails": strconv.FormatBool(opts.Emails), "secrets": strconv.FormatBool(!opts.NoSecrets)}
}

func exportObject(made *transfer.Exported) map[string]any {
	return map[string]any{"object": "export", "dir": made.Dir, "counts": made.Counts, "cannot": made.Cannot}
}

// exportText describes what was exported, what was not, and what is secret.
func exportText(team *app.Team, made *transfer.Exported, noSecrets bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is in %s:", team.Name, made.Dir)
	for _, kind := range archive.Kinds() {
		if n := made.Counts[string(kind)]; n > 0 && kind != archive.Secrets {
			fmt.Fprintf(&b, "\n  %d %s", n, kind)
		}
	}
	for _, lack := range made.Cannot {
		fmt.Fprintf(&b, "\nnot in it: %s: %s", lack.Item, lack.Reason)
	}
	if !noSecrets && made.Counts[string(archive.Secrets)] > 0 {
		fmt.Fprintf(&b, "\n%s contains unencrypted DKIM keys and webhook secrets: anyone who has it can sign mail as your domains. Protect it like the master key, and delete it when it is no longer needed", filepath.Join(made.Dir, "secrets.json"))
	}
	return b.String()
}
