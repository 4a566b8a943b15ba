package engine

import (
	"context"

	"mailer/app"
	"mailer/app/insights"
)

// inspect looks at a mail that is whole; what hangs on its domain comes with its
// acceptance.
func (e *Engine) inspect(email *app.Email) {
	email.Insights = insights.InspectMail(email.Sent(), false, e.server.BaseURL)
}

// GetInsights gives what was found in an email when it was accepted, or in the
// broadcast that it is of. Errors: CodeNotFound, also for one that nobody looked at.
func (e *Engine) GetInsights(ctx context.Context, key *app.Key, emailID string) (*app.Insights, error) {
	email, err := e.GetEmail(ctx, key, emailID)
	if err != nil {
		return nil, err
	}
	if email.Insights == nil {
		return nil, app.NotFound("insights of this email")
	}
	return email.Insights, nil
}
