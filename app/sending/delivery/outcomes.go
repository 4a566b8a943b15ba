package delivery

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/rules/counters"
	"mailer/app/rules/feedback"
	"mailer/app/rules/reputation"
	"mailer/db"
)

// FeedbackPurpose binds the hashes of reports' ids.
const FeedbackPurpose = "feedback"

// CountOutcome adds to the counters in the Write that makes it happen.
func (s *Service) CountOutcome(tx *db.Tx, key reputation.OutcomeKey, o reputation.Outcome) {
	if o == (reputation.Outcome{}) {
		return
	}
	tx.CountOutcome(key, o)
	tx.AfterCommit(func() { s.Guardrails.Touch(key.TeamID) })
}

// outcomeSource stands among the sources of reports for what was counted.
const outcomeSource = "outcome"

// CountOnce is 1 for the first bounce or complaint of a recipient of an email, and 0
// for the others: several doors may report the same.
func (s *Service) CountOnce(tx *db.Tx, kind feedback.Kind, emailID string, recipient app.AddressKey) (int64, error) {
	id := s.Sealer.Hash(FeedbackPurpose, []byte(outcomeSource+"\x00"+string(kind)+"\x00"+emailID+"\x00"+recipient.String()))
	err := tx.InsertFeedback(outcomeSource, id)
	if errors.Is(err, db.ErrNotFound) {
		return 0, nil
	}
	return 1, err
}

// PurgeOutcomes forgets counters that no window reaches.
func (s *Service) PurgeOutcomes(ctx context.Context) error {
	teams, err := s.teams.ListTeams(ctx)
	if err != nil {
		return err
	}
	for _, t := range teams {
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			return errors.Join(tx.PurgeOutcomes(t.ID, reputation.OutcomeHour(tx.Now.Add(-reputation.OutcomeRetention))), tx.PurgeMailCounts(t.ID, tx.Now.Add(-counters.Retention)))
		})
		if err != nil {
			return fmt.Errorf("remove old outcomes: %w", err)
		}
	}
	return s.DB.Write(ctx, func(tx *db.Tx) error {
		return tx.PurgeRegionOutcomes(reputation.OutcomeHour(tx.Now.Add(-reputation.OutcomeRetention)))
	})
}
