package engine

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/feedback"
	"mailer/db"
)

// outcomeKey says where the outcomes of a message count, whose Message-ID ends with
// the sender's domain.
func outcomeKey(teamID, region, messageID string) app.OutcomeKey {
	_, domain := app.CutEmailMessageID(messageID)
	return app.OutcomeKey{TeamID: teamID, Region: region, Domain: domain}
}

// countOutcome adds to the counters in the Write that makes it happen.
func (e *Engine) countOutcome(tx *db.Tx, key app.OutcomeKey, o app.Outcome) {
	if o == (app.Outcome{}) {
		return
	}
	tx.CountOutcome(key, o)
	tx.AfterCommit(func() { e.guards.touch(key.TeamID) })
}

// countResult moves a recipient on whom the relay decided to its last state, and
// counts it unless a report did so before.
func (l *lane) countResult(tx *db.Tx, j *job, v app.RecipientResult, state app.LastEvent) error {
	err := tx.SettleRecipient(j.unit, v.Address, state)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	o := app.Outcome{Sent: 1}
	if j.found != nil {
		o.Scored, o.Points = 1, j.found.Points()
	}
	if state == app.Bounced && hardRefusal(v) {
		if o.HardBounced, err = l.e.countOnce(tx, feedback.FeedbackBounced, j.unit.EmailID, app.FoldAddress(v.Address)); err != nil {
			return err
		}
	}
	l.e.countOutcome(tx, j.counts, o)
	return nil
}

// countReport counts a report: the recipients that had no result until then, and a
// bounce or complaint that is about the email's own recipients. waited is how many
// of them waited for their result.
func (e *Engine) countReport(tx *db.Tx, r *report, waited int) (err error) {
	o := app.Outcome{Sent: int64(waited)}
	stranger := r.of == nil && !r.gone && r.Recipient != ""
	if feedback.Suppresses(r.Feedback) && !stranger {
		who := r.Recipient
		if r.of != nil && r.of.Address != app.Erased {
			who = app.FoldAddress(r.of.Address)
		}
		n, err := e.countOnce(tx, r.Kind, r.subject.EmailID, who)
		if err != nil {
			return err
		}
		if r.Kind == feedback.FeedbackComplained {
			o.Complained = n
		} else {
			o.HardBounced = n
		}
	}
	e.countOutcome(tx, outcomeKey(r.subject.TeamID, r.subject.Relay, r.subject.MessageID), o)
	return nil
}

// outcomeSource stands among the sources of reports for what was counted.
const outcomeSource = "outcome"

// countOnce is 1 for the first bounce or complaint of a recipient of an email, and 0
// for the others: several doors may report the same.
func (e *Engine) countOnce(tx *db.Tx, kind feedback.FeedbackKind, emailID, recipient string) (int64, error) {
	id := e.cfg.Sealer.MAC(feedbackPurpose, []byte(outcomeSource+"\x00"+string(kind)+"\x00"+emailID+"\x00"+recipient))
	err := tx.InsertFeedback(outcomeSource, id)
	if errors.Is(err, db.ErrNotFound) {
		return 0, nil
	}
	return 1, err
}

// purgeOutcomes forgets counters that no window reaches.
func (e *Engine) purgeOutcomes(ctx context.Context) error {
	teams, err := e.ListTeams(ctx)
	if err != nil {
		return err
	}
	for _, t := range teams {
		err := e.db.Write(ctx, func(tx *db.Tx) error {
			return tx.PurgeOutcomes(t.ID, app.OutcomeHour(tx.Now.Add(-app.OutcomesKept)))
		})
		if err != nil {
			return fmt.Errorf("remove old outcomes: %w", err)
		}
	}
	return e.db.Write(ctx, func(tx *db.Tx) error {
		return tx.PurgeRegionOutcomes(app.OutcomeHour(tx.Now.Add(-app.OutcomesKept)))
	})
}
