package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/operate/retention"
	"mailer/app/server"
)

// setRetention is the command that sets what a team keeps.
func (c *Store) setRetention() *cobra.Command {
	var content, emails, broadcasts string
	cmd := newCommand("set-retention TEAM", "Set how long a team's finished mail is kept", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		change, err := retentionChange(cmd, map[string]string{"keep-content": content, "keep-emails": emails, "keep-broadcasts": broadcasts})
		if err != nil {
			return err
		}
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			team, err := e.Teams.FindTeam(ctx, args[0])
			if err != nil {
				return err
			}
			own, err := e.Retention.SetTeam(ctx, team.ID, change)
			if err != nil {
				return err
			}
			return c.printDone(retentionObject(&team, &own), retentionText(&own, own.Over(e.Settings.Rules().Keep)))
		})
	})
	const kept = "like 30d; 0: no limit; server: use the server's setting (mailer serve --%s)"
	cmd.Flags().StringVar(&content, "keep-content", "", fmt.Sprintf("bodies, attachments and captured messages: "+kept, "keep-content"))
	cmd.Flags().StringVar(&emails, "keep-emails", "", fmt.Sprintf("emails: "+kept, "keep-emails"))
	cmd.Flags().StringVar(&broadcasts, "keep-broadcasts", "", fmt.Sprintf("recipients of broadcasts: "+kept, "keep-broadcasts"))
	return c.jsonFlag(cmd)
}

// retentionChange returns the change that the given flags ask for. Errors name the flag.
func retentionChange(cmd *cobra.Command, texts map[string]string) (change retention.Change, err error) {
	for name, to := range map[string]**retention.Choice{"keep-content": &change.Content, "keep-emails": &change.Emails, "keep-broadcasts": &change.Broadcasts} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if *to, err = retention.ParseChoice(texts[name]); err != nil {
			return change, fmt.Errorf("--%s: %w, nor server", name, err)
		}
	}
	if change == (retention.Change{}) {
		return change, errors.New("use --keep-content, --keep-emails or --keep-broadcasts")
	}
	return change, nil
}

func retentionObject(team *app.Team, own *app.TeamRetention) map[string]any {
	return map[string]any{"object": "team", "id": team.ID, "name": team.Name,
		"keep_content": keptOrNull(own.Content), "keep_emails": keptOrNull(own.Emails), "keep_broadcasts": keptOrNull(own.Broadcasts)}
}

func keptOrNull(d *time.Duration) *string {
	if d == nil {
		return nil
	}
	text := retention.FormatRetention(*d)
	return &text
}

func keptText(kept time.Duration) string {
	if kept == 0 {
		return "with no limit"
	}
	return retention.FormatRetention(kept)
}

func retentionText(own *app.TeamRetention, kept app.Retention) string {
	msg := func(own *time.Duration, kept time.Duration) string {
		text := keptText(kept)
		if own == nil {
			text += " (server setting)"
		}
		return text
	}
	return fmt.Sprintf("%s keeps contents %s, emails %s, recipients of broadcasts %s",
		own.Team, msg(own.Content, kept.Content), msg(own.Emails, kept.Emails), msg(own.Broadcasts, kept.Broadcasts))
}
