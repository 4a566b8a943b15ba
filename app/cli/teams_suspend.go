package cli

import (
	"context"

	"github.com/spf13/cobra"

	"mailer/app"
	"mailer/app/server"
	"mailer/app/tenants/teams"
)

func (c *Store) suspendTeam() *cobra.Command {
	reason := ""
	cmd := newCommand("suspend TEAM", "Stop delivery for a team and reject its new mail until the team is resumed", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			out, err := e.Teams.SuspendTeam(ctx, args[0], reason)
			if err != nil {
				return err
			}
			return c.printDone(suspendedObject(&out), out.Team.Name+" is suspended since "+app.FormatTime(out.Since)+": its queued mail stays queued, and new mail is rejected until mailer teams resume")
		})
	})
	cmd.Flags().StringVar(&reason, "reason", "", "reason, shown in the error of each rejected send")
	return c.jsonFlag(cmd)
}

func (c *Store) resumeTeam() *cobra.Command {
	return c.jsonFlag(newCommand("resume TEAM", "Resume delivery for a suspended team", cobra.ExactArgs(1), func(cmd *cobra.Command, args []string) error {
		return c.with(cmd, false, func(ctx context.Context, e *server.Server) error {
			out, err := e.Teams.ResumeTeam(ctx, args[0])
			if err != nil {
				return err
			}
			msg := out.Team.Name + " was not suspended"
			if out.Changed {
				msg = out.Team.Name + " is resumed: its queued mail is sent now"
			}
			return c.printDone(suspendedObject(&out), msg)
		})
	}))
}

func suspendedObject(s *teams.Suspension) map[string]any {
	out := map[string]any{"object": "team", "id": s.Team.ID, "name": s.Team.Name, "suspended_at": nil, "reason": nil}
	if !s.Since.IsZero() {
		out["suspended_at"], out["reason"] = app.FormatTime(s.Since), s.Reason
	}
	return out
}
