package retention

import (
	"context"
	"fmt"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Service deletes what is too old.
type Service struct {
	*base.Base
	pace pace
}

// New makes the service.
func New(copied *base.Base) *Service { return &Service{Base: copied, pace: newPace()} }

// Team returns what a team keeps of its own, and what counts for it. Error:
// CodeNotFound.
func (s *Service) Team(ctx context.Context, teamID string) (own app.TeamRetention, kept app.Retention, err error) {
	own, err = db.Get(ctx, s.DB, func(r *db.Reader) (app.TeamRetention, error) { return r.Retention(teamID) })
	return own, own.Over(s.Settings.Rules().Keep), base.Lookup("team", err)
}

// Change is what is to be changed about what a team keeps: nil leaves it as it is.
type Change struct{ Content, Emails, Broadcasts *Choice }

// Choice is how long a team keeps something, or as long as the server does.
type Choice struct {
	Value  time.Duration // 0: no limit
	Server bool
}

// ParseChoice reads what ParseRetention does, and "server", or nothing, for what the server
// keeps.
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

// SetTeam changes what a team keeps. A server obeys within a minute. Error:
// CodeNotFound.
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

// describe is what a team keeps as the audit log has it.
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
