package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/sending/providerevents"
	"mailer/app/server"
)

func (c *Store) ingest() *cobra.Command {
	cmd := newCommand("ingest", "Show the secret URLs to which providers report bounces and complaints", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			endpoints, err := e.ProviderEvents.IngestEndpoints(ctx)
			if err != nil {
				return err
			}
			warnUnserved(e, noBaseURL)
			return Print(os.Stdout, c.asJSON, IngestEndpoints(endpoints))
		})
	})
	cmd.AddCommand(c.rotateIngest())
	return c.jsonFlag(cmd)
}

const noBaseURL = "the URLs are incomplete: --base-url of mailer serve is not known"

func (c *Store) rotateIngest() *cobra.Command {
	in := providerevents.IngestRotation{}
	cmd := newCommand("rotate", "Create new secrets for these URLs; the old ones work for a while", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			endpoints, until, err := e.ProviderEvents.RotateIngest(ctx, in)
			if err != nil {
				return err
			}
			warnUnserved(e, noBaseURL)
			fmt.Fprintf(os.Stderr, "mailer: the addresses from before work until %s; give the providers the new ones\n", app.FormatTime(until))
			return Print(os.Stdout, c.asJSON, IngestEndpoints(endpoints))
		})
	})
	cmd.Flags().StringVar(&in.Source, "source", "", "provider whose secret is replaced (default: all)")
	cmd.Flags().DurationVar(&in.Overlap, "overlap", providerevents.DefaultIngestOverlap, "how long the old secrets work, at most 720h")
	return c.jsonFlag(cmd)
}

// IngestEndpoints is the list of the URLs for provider events.
func IngestEndpoints(endpoints []providerevents.IngestEndpoint) Table {
	t := Table{Head: []string{"PROVIDER", "URL"}}
	for _, d := range endpoints {
		t.Rows = append(t.Rows, Row{Object: map[string]any{"provider": d.Source, "url": d.URL}, Cells: []string{d.Source, d.URL}})
	}
	return t
}
