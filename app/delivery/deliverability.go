package delivery

import (
	"context"
	"fmt"

	"mailer/app"
	"mailer/app/clock"
	"mailer/app/reputation"
	"mailer/app/service"
	"mailer/db"
)

// Deliverability returns how well the mail of the key's team fared in the last 30 days,
// and how the team stands to the guardrails at this moment.
func (s *Service) Deliverability(ctx context.Context, key *app.Key) (d reputation.Deliverability, err error) {
	now := clock.Now()
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		month, err := r.TeamOutcome(key.TeamID, reputation.OutcomesOver(reputation.DeliverabilityWindow, now))
		if err != nil {
			return fmt.Errorf("read outcomes: %w", err)
		}
		week, lately, err := teamRates(r, key.TeamID, now)
		d = reputation.NewDeliverability(month, reputation.JudgeTeam(s.guards.team(key.TeamID), week, lately).State)
		return err
	})
	return d, service.Unavailable(err)
}
