package mail

import (
	"context"
	"strings"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/render"
	"mailer/db"
)

// PreviewStep makes the email of a step of an automation as it would be accepted now, with links to pages that
// unsubscribe nobody. Nothing is stored. Errors: those of PrepareStep, CodeValidation for a sender whose domain
// is missing or not verified, CodeNotFound for the topic.
func (s *Service) PreviewStep(ctx context.Context, teamID string, in *app.EmailInput, automated app.Automated) (*app.Email, error) {
	email, err := s.PrepareStep(ctx, teamID, in, automated, StepTemplates{})
	if err != nil {
		return nil, err
	}
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		_, _, err := s.SendingRegion(r, teamID, email.From.Domain)
		return err
	})
	if err != nil {
		return nil, base.Unavailable(err)
	}
	pages := s.Settings.BaseURL
	view := s.Sealer.ViewURL(pages, teamID, email.ID)
	for _, part := range []*string{&email.HTML, &email.Text} {
		*part = strings.ReplaceAll(render.ReplaceUnsubscribe(*part, pages+PreviewPage), view, pages+PreviewView)
	}
	return email, nil
}
