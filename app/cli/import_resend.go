package cli

import (
	"context"

	"github.com/spf13/cobra"

	"mailer/app/moving/resend"
	"mailer/app/rules/archive"
)

func (i *importCommand) fromResend() *cobra.Command {
	var file, base string
	cmd := i.command("resend", "Import from a Resend account through its API", cobra.NoArgs, func([]string) (source, error) {
		key, err := secretFile("api-key-file", file)
		if err != nil {
			return source{}, err
		}
		return i.remote(archive.SourceResend, base+" "+key, func(ctx context.Context, w *archive.Writer, cursor string, bar *Bar) (int, error) {
			return 0, resend.Read(ctx, resend.Options{APIKey: key, KeyFile: file, BaseURL: base}, w, cursor, steps(bar))
		}), nil
	})
	i.imageFlags(cmd)
	cmd.Flags().StringVar(&file, "api-key-file", "", "file with an API key that has full access")
	cmd.Flags().StringVar(&base, "base-url", "", "address of the API (default: "+resend.BaseURL+")")
	typed(cmd.Flags().Lookup("base-url")) // MAILER_BASE_URL is this server's URL
	return cmd
}
