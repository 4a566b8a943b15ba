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

// FeedbackPurpose is the purpose of the hashes of provider event ids.
const FeedbackPurpose = "feedback"

// CountOutcome adds to the counters in the Write that stores the outcome.
func (s *Service) CountOutcome(tx *db.Tx, key reputation.OutcomeKey, o reputation.Outcome) {
	if o == (reputation.Outcome{}) {
		return
	}
	tx.CountOutcome(key, o)
	tx.AfterCommit(func() { s.Guardrails.Touch(key.TeamID) })
}

// outcomeSource is the source under which counted outcomes are stored among provider events.
const outcomeSource = "outcome"

// CountOnce returns 1 for the first bounce or complaint of a recipient of an email and 0 for
// others, because several endpoints may report the same one.
func (s *Service) CountOnce(tx *db.Tx, kind feedback.Kind, emailID string, recipient app.AddressKey) (int64, error) {
	id := s.Sealer.Hash(FeedbackPurpose, []byte(outcomeSource+"\x00"+string(kind)+"\x00"+emailID+"\x00"+recipient.String()))
	err := tx.InsertFeedback(outcomeSource, id)
	if errors.Is(err, db.ErrNotFound) {
		return 0, nil
	}
	return 1, err
}

// PurgeOutcomes deletes counters that are older than every window.
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
