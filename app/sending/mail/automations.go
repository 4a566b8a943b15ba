package mail

import (
	"context"

	"mailer/app"
	"mailer/db"
)

// StepTemplates are the templates that were read for the emails of some steps of a team. Each is read once.
type StepTemplates map[string]*app.TemplateContent

// PrepareStep makes the email of a step of an automation, from a template, without storing it: a Write that
// accepts it does no rendering. Marketing gets an unsubscribe link, with or without a topic. Errors: those of
// SendEmail before the check of the from-domain.
func (s *Service) PrepareStep(ctx context.Context, teamID string, in *app.EmailInput, automated app.Automated, templates StepTemplates) (*app.Email, error) {
	key := &app.Key{TeamID: teamID, Permission: app.FullAccess, Role: app.RoleOwner, Via: SourceAPI}
	in = s.withCompat(in)
	r := s.NewRenderer(key)
	defer r.Close()
	r.templates = templates
	email, err := r.email(ctx, in)
	if err != nil {
		return nil, err
	}
	email.Automated = automated
	if automated == app.AutomatedMarketing && email.Unsubscribe == "" {
		return email, s.setPageLink(email)
	}
	return email, nil
}

// blockedRecipients returns the recipients of an email that is to be accepted that are blocked, and why.
func (s *Service) blockedRecipients(r *db.Reader, email *app.Email, recipients []string) (app.Blocked, error) {
	if email.Automated == app.AutomatedMarketing {
		return s.audience.BlockedForMarketing(r, email.TeamID, email.TopicID, recipients)
	}
	return s.audience.BlockedRecipients(r, email.TeamID, email.TopicID, recipients)
}
