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
func (s *Service) CountOutcome(tx *db.Tx, key counters.Key, o reputation.Outcome) {
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

// PurgeCounts deletes old counters.
func (s *Service) PurgeCounts(ctx context.Context) error {
	teams, err := s.teams.ListTeams(ctx)
	if err != nil {
		return err
	}
	for _, t := range append(teams, app.Team{}) { // with the counters of all teams together
		if err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.PurgeMailCounts(t.ID, tx.Now.Add(-counters.Retention)) }); err != nil {
			return fmt.Errorf("remove old counters: %w", err)
		}
	}
	return nil
}
