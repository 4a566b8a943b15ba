package mail

import (
	"context"

	"mailer/app"
)

// Prepare makes the email of a send of the server itself for a team, from a template or with its own
// texts, without storing it: a Write that accepts it does no rendering. optInID is the opt-in that it
// confirms, which hides the email from the team; empty: none. Errors: those of SendEmail before the
// check of the from-domain.
func (s *Service) Prepare(ctx context.Context, teamID, optInID string, in *app.EmailInput) (email *app.Email, err error) {
	key := &app.Key{TeamID: teamID, Permission: app.FullAccess, Role: app.RoleOwner, Via: SourceAPI}
	in = s.withCompat(in)
	if in.Template == nil {
		email, err = s.prepare(key, in)
	} else {
		r := s.NewRenderer(key)
		defer r.Close()
		email, err = r.email(ctx, in)
	}
	if err != nil {
		return nil, err
	}
	email.ForOptIn = optInID
	return email, nil
}
