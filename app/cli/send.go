package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/server"
)

func (c *Store) send() *cobra.Command {
	var in app.EmailInput
	var text, htmlFile string
	cmd := newCommand("send", "Send one email through the server's queue", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("text") {
			in.Text = &text
		}
		if htmlFile != "" {
			html, err := os.ReadFile(htmlFile)
			if err != nil {
				return err
			}
			in.HTML = string(html)
		}
		return c.withTeam(cmd, true, func(ctx context.Context, e *server.Server, team app.Team) error {
			id, err := e.Mail.SendEmail(ctx, &app.Key{TeamID: team.ID, Permission: app.FullAccess, Role: app.RoleOwner}, &in, mail.SendOptions{})
			if err != nil {
				return err
			}
			fmt.Println(id)
			if !c.InUse(c.flags.DB) {
				fmt.Fprintln(os.Stderr, "mailer: it is stored; it leaves when mailer serve runs on this database")
			}
			return nil
		})
	})
	f := cmd.Flags()
	f.StringVar(&in.From, "from", "", "sender (required)")
	f.StringArrayVar((*[]string)(&in.To), "to", nil, "recipient (required, repeatable)")
	f.StringVar(&in.Subject, "subject", "", "subject (required)")
	f.StringVar(&text, "text", "", "text part")
	f.StringVar(&htmlFile, "html-file", "", "file of the HTML part")
	return c.teamFlag(c.flags.Bind(required(cmd, "--from news@example.com", "--to you@example.com", "--subject Hello")))
}
