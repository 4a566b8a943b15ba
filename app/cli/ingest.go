package cli

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"mailer/app/reports"
	"mailer/app/server"
)

func (c *Store) ingest() *cobra.Command {
	cmd := newCommand("ingest", "Show the addresses that providers report bounces and complaints to; they hold secrets", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(_ context.Context, e *server.Server) error {
			warnUnserved(e, "the addresses lack the --base-url of mailer serve")
			return Print(os.Stdout, c.asJSON, Doors(e.Reports.IngestDoors()))
		})
	})
	return c.jsonFlag(cmd)
}

// Doors is a list of the addresses that providers report to.
func Doors(doors []reports.IngestDoor) Table {
	t := Table{Head: []string{"PROVIDER", "URL"}}
	for _, d := range doors {
		t.Rows = append(t.Rows, Row{Object: map[string]any{"provider": d.Source, "url": d.URL}, Cells: []string{d.Source, d.URL}})
	}
	return t
}
