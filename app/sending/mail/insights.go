package mail

import (
	"context"

	"mailer/app"
	"mailer/app/rules/insights"
	"mailer/db"
)

// Inspect sets the insights of a complete email. Acceptance adds those that depend on its domain.
func (s *Service) Inspect(email *app.Email) {
	email.Insights = insights.OfMail(email.FinalMail(), false, s.Settings.BaseURL)
}

// GetInsights returns the insights of an email, or of its broadcast. Errors: CodeNotFound, also for
// an email without insights.
func (s *Service) GetInsights(ctx context.Context, key *app.Key, emailID string) (*app.Insights, error) {
	email, err := s.GetEmail(ctx, key, emailID)
	if err != nil {
		return nil, err
	}
	if email.Insights == nil && !email.ContentDeletedAt.IsZero() {
		return nil, s.lookupContent(ctx, key.TeamID, emailID, "insights", db.ErrNotFound)
	}
	if email.Insights == nil {
		return nil, app.NotFound("insights of this email")
	}
	return email.Insights, nil
}
