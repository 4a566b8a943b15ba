package automations

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/db"
)

// runsPerWrite is how many runs one Write ends or moves.
const runsPerWrite = 200

// cancelRuns ends the open runs of an automation, in steps.
func (s *Service) cancelRuns(ctx context.Context, a *app.Automation, reason app.RunReason) error {
	return s.eachOpenRun(ctx, a.ID, func(t *turn) error { return t.cancel(t.flow.Step(t.run.StepKey), reason) })
}

// eachOpenRun changes the open runs of an automation, in steps.
func (s *Service) eachOpenRun(ctx context.Context, automationID string, change func(t *turn) error) error {
	for after := ""; ; {
		n := 0
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			runs, err := tx.OpenRunsOf(automationID, after, runsPerWrite)
			if err != nil {
				return err
			}
			n = len(runs)
			for i := range runs {
				run := &runs[i]
				flow, err := s.flow(&tx.Reader, run.AutomationID, run.Version)
				if err != nil {
					return err
				}
				contact, err := tx.Contact(run.TeamID, run.ContactID)
				if base.IgnoreNotFound(err) != nil {
					return err
				}
				if err := change(s.newTurn(tx, run, flow, &contact)); err != nil {
					return err
				}
			}
			if n > 0 {
				after = runs[n-1].ID
			}
			return nil
		})
		if err != nil || n < runsPerWrite {
			return base.Unavailable(err)
		}
	}
}

// maxNotMoved is how many runs that stay on their version are listed.
const maxNotMoved = 100

// moveRuns moves the open runs of an automation to its current version, by the key of the step at which they
// are. Runs at a step that does not exist there, or has another type, stay on theirs.
func (s *Service) moveRuns(ctx context.Context, a *app.Automation) (moved int64, stay []NotMoved, err error) {
	err = s.eachOpenRun(ctx, a.ID, func(t *turn) error {
		if t.run.Version == a.Version {
			return nil
		}
		next, err := s.flow(&t.tx.Reader, a.ID, a.Version)
		if err != nil {
			return err
		}
		was, is := t.flow.Step(t.run.StepKey), next.Step(t.run.StepKey)
		if is == nil || was == nil || is.Type != was.Type {
			if len(stay) < maxNotMoved {
				stay = append(stay, NotMoved{RunID: t.run.ID, StepKey: t.run.StepKey})
			}
			return nil
		}
		t.run.Version = a.Version
		if c, ok := is.Config.(*automation.WaitForEventConfig); ok && t.run.WaitsFor != "" {
			t.run.WaitsFor = c.EventName
		}
		moved++
		return t.store()
	})
	return moved, stay, err
}
