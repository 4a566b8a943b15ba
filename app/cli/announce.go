package cli

import (
	"context"
	"fmt"
	"log/slog"

	"mailer/app"
	"mailer/app/sending/mail"
	"mailer/app/server"
)

// AnnounceDev prints what a first trial needs: a link that signs in, and a command that sends an
// email.
func AnnounceDev(ctx context.Context, log *slog.Logger, s *server.Server, baseURL string) error {
	token, err := s.Teams.DevKey(ctx)
	if err != nil {
		return err
	}
	link, err := s.Accounts.DevLink(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	if err := sendWelcome(ctx, s, token); err != nil { // no reason to stop
		log.Warn("the welcome email can't be sent", "err", err)
	}
	fmt.Printf("\nSign-in link (single use, expires in 30 min): %s\n", link)
	fmt.Printf("\nMailer is ready. Send an email (it is captured, not sent):\n\n"+
		"curl -sS %s/emails -H 'Authorization: Bearer %s' -H 'Content-Type: application/json' -d '%s'\n\n",
		baseURL, token, `{"from":"Mailer <hello@example.com>","to":"you@example.org","subject":"It works","text":"Hello from Mailer"}`)
	return nil
}

// sendWelcome sends a first email if there is none.
func sendWelcome(ctx context.Context, s *server.Server, token string) error {
	key, err := s.Teams.Authenticate(ctx, token)
	if err != nil {
		return err
	}
	emails, _, err := s.Mail.ListEmails(ctx, key, app.Page{Limit: 1})
	if err != nil || len(emails) > 0 {
		return err
	}
	text := "This email was captured, not sent.\n\nSend your own with the curl command that the server printed, or point your program at it.\n"
	_, err = s.Mail.SendEmail(ctx, key, &app.EmailInput{From: "Mailer <hello@example.com>", To: []string{"you@example.org"}, Subject: "Welcome to Mailer", Text: &text}, mail.SendOptions{})
	return err
}

// AnnounceSetup prints the link that creates the first account, while there is none. The log, which
// is kept and read by others, names only the command that prints another link.
func AnnounceSetup(ctx context.Context, log *slog.Logger, s *server.Server) error {
	needed, err := s.Accounts.NeedsSetup(ctx)
	if err != nil || !needed {
		return err
	}
	log.Info("no account yet: open the setup link on standard output, or print another with `mailer users setup`")
	link, err := s.Accounts.SetupLink(ctx)
	if err != nil {
		return s.IgnoreFull(err)
	}
	fmt.Printf("\nNo account yet. Create the first one (single use, expires in 30 min): %s\n\n", link)
	return nil
}
