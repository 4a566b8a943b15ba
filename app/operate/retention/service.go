package retention

import (
	"context"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Service deletes expired mail.
type Service struct {
	*base.Base
	pace      pace
	orphansAt time.Time // when pieces of received mail without an email were last looked for
}

// New returns the service.
func New(copied *base.Base) *Service { return &Service{Base: copied, pace: newPace()} }

// Team returns the retention that a team has set and the effective one. Error: CodeNotFound.
func (s *Service) Team(ctx context.Context, teamID string) (own app.TeamRetention, kept app.Retention, err error) {
	own, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.TeamRetention, error) { return r.Retention(teamID) })
	return own, own.Over(s.Settings.Rules().Keep), base.Lookup("team", err)
}

// Change is a change of a team's retention; nil: unchanged.
type Change struct{ Content, Emails, Broadcasts *Choice }

// Choice is a retention, or the choice to use the server's.
type Choice struct {
	Value  time.Duration // 0: no limit
	Server bool
}

// ParseChoice parses what ParseRetention does, and "server" or "" for the server's retention.
func ParseChoice(text string) (*Choice, error) {
	if text == "" || text == "server" {
		return &Choice{Server: true}, nil
	}
	kept, err := ParseRetention(text)
	return &Choice{Value: kept}, err
}

func (c *Choice) apply(to **time.Duration) {
	switch {
	case c == nil:
	case c.Server:
		*to = nil
	default:
		*to = &c.Value
	}
}

// SetTeam changes a team's retention. It takes effect within a minute. Error: CodeNotFound.
func (s *Service) SetTeam(ctx context.Context, teamID string, change Change) (own app.TeamRetention, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) (err error) {
		if own, err = tx.Retention(teamID); err != nil {
			return err
		}
		before := describe(&own)
		change.Content.apply(&own.Content)
		change.Emails.apply(&own.Emails)
		change.Broadcasts.apply(&own.Broadcasts)
		if err := tx.SetRetention(own); err != nil {
			return fmt.Errorf("set retention: %w", err)
		}
		return base.Audit(ctx, tx, teamID, "team.retention", own.Team, before, describe(&own))
	})
	return own, base.Lookup("team", err)
}

// describe returns a team's retention for the audit log.
func describe(t *app.TeamRetention) map[string]string {
	out := map[string]string{}
	for name, d := range map[string]*time.Duration{"keep_content": t.Content, "keep_emails": t.Emails, "keep_broadcasts": t.Broadcasts} {
		out[name] = "server"
		if d != nil {
			out[name] = FormatRetention(*d)
		}
	}
	return out
}
