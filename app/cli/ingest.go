package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/rules/feedback"
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
	cmd.AddCommand(c.rotateIngest(), c.ingestKey())
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
	cmd.Flags().StringVar(&in.Source, "source", "", "provider whose secret is replaced: "+strings.Join(feedback.Sources(), ", ")+" (default: all)")
	cmd.Flags().DurationVar(&in.Overlap, "overlap", providerevents.DefaultIngestOverlap, "how long the old secrets work, at most 720h")
	return c.jsonFlag(cmd)
}

func (c *Store) ingestKey() *cobra.Command {
	source, file := "", ""
	cmd := newCommand("key", "Store the key that verifies a provider's signatures", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if source == "" || file == "" {
			return errors.New("--source and --key-file are required: a provider that signs, and a file with its key")
		}
		key, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("--key-file: %w", err)
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			endpoints, err := e.ProviderEvents.SetIngestKey(ctx, source, string(key))
			if err != nil {
				return err
			}
			warnUnserved(e, noBaseURL)
			return Print(os.Stdout, c.asJSON, IngestEndpoints(endpoints))
		})
	})
	cmd.Flags().StringVar(&source, "source", "", "provider that signs: "+strings.Join(signing(), " or "))
	cmd.Flags().StringVar(&file, "key-file", "", "file with the key: of postal its /.well-known/jwks.json, of lettermint the secret of the webhook")
	return c.jsonFlag(cmd)
}

// signing returns the sources that sign their reports with a key.
func signing() (sources []string) {
	for _, p := range feedback.Providers() {
		if p.Proof == feedback.ProofSignature {
			sources = append(sources, p.Source)
		}
	}
	return sources
}

// IngestEndpoints is the list of the URLs for provider events.
func IngestEndpoints(endpoints []providerevents.IngestEndpoint) Table {
	t := Table{Head: []string{"PROVIDER", "URL", "AUTHENTICATION"}}
	for _, d := range endpoints {
		object := map[string]any{"provider": d.Source, "url": d.URL, "authentication": d.Proof}
		proof := ""
		switch d.Proof {
		case feedback.ProofSNS:
			proof = "signature of Amazon"
		case feedback.ProofURL:
			proof = "only the secret in the URL"
		case feedback.ProofPassword:
			proof = "user and password in the URL"
			if d.Password != "" {
				proof = "user " + feedback.PasswordUser + ", password " + d.Password
				object["user"], object["password"] = feedback.PasswordUser, d.Password
			}
		case feedback.ProofSignature:
			proof = "signature; closed until mailer ingest key"
			if object["key_set"] = d.KeySet; d.KeySet {
				proof = "signature, its key is stored"
			}
		}
		t.Rows = append(t.Rows, Row{Object: object, Cells: []string{d.Source, d.URL, proof}})
	}
	return t
}
