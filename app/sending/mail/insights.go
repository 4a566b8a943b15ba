package mail

import (
	"context"

	"mailer/app"
	"mailer/app/rules/insights"
	"mailer/db"
)

// Inspect looks at a mail that is whole; what hangs on its domain comes with its
// acceptance.
func (s *Service) Inspect(email *app.Email) {
	email.Insights = insights.OfMail(email.FinalMail(), false, s.Settings.BaseURL)
}

// GetInsights returns what was found in an email when it was accepted, or in the
// broadcast that it is of. Errors: CodeNotFound, also for one that nobody looked at.
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
