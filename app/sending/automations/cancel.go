package automations

import (
	"context"
	"errors"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/rules/automation"
	"mailer/db"
)

// runsPerWrite is how many runs one Write ends or moves.
const runsPerWrite = 200

// runsPerRequest is how many runs the request ends that stops or deletes their automation. If there are more, the
// dispatcher ends those of a stopped one, and those of a deleted one are removed with it.
const runsPerRequest = 1000

// endRuns ends open runs of an automation that was stopped or deleted, about limit, and reports whether none is
// left. Those that started later come after them.
func (s *Service) endRuns(ctx context.Context, id string, limit int) (done bool, err error) {
	for ended := 0; ended < limit; {
		before := ended
		_, err := s.changeRuns(ctx, id, "", func(t *turn) error {
			if t.run.Ending == "" {
				return nil
			}
			ended++
			return t.cancel(t.flow.Step(t.run.StepKey), t.run.Ending)
		})
		if err != nil || ended == before {
			return err == nil, err
		}
	}
	return false, nil
}

// endStopped ends runs of each automation that was stopped, some of each. It reports whether there may be more.
func (s *Service) endStopped(ctx context.Context) (more bool, err error) {
	for id := ""; ; {
		var stopped time.Time
		err := s.DB.Read(ctx, func(r *db.Reader) (err error) {
			id, stopped, err = r.NextStopped(id)
			return err
		})
		if errors.Is(err, db.ErrNotFound) {
			return more, nil
		}
		if err != nil {
			return false, err
		}
		done, err := s.endRuns(ctx, id, runsPerWrite)
		if err != nil {
			return false, err
		}
		if !done {
			more = true
			continue
		}
		if err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.EndStop(id, stopped) }); err != nil {
			return false, err
		}
	}
}

// changeRuns changes up to runsPerWrite open runs of an automation, those after an id, in one Write. It returns the
// id after which others may follow; empty: there are none.
func (s *Service) changeRuns(ctx context.Context, automationID, after string, change func(t *turn) error) (last string, err error) {
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		runs, err := tx.OpenRunsOf(automationID, after, runsPerWrite)
		if err != nil {
			return err
		}
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
		last = ""
		if len(runs) == runsPerWrite {
			last = runs[len(runs)-1].ID
		}
		return nil
	})
	return last, base.Unavailable(err)
}

// maxNotMoved is how many runs that stay on their version are listed.
const maxNotMoved = 100

// moveRuns moves the open runs of an automation to its current version, by the key of the step at which they
// are. Runs at a step that does not exist there, or has another type, stay on theirs.
func (s *Service) moveRuns(ctx context.Context, a *app.Automation) (moved int64, stay []NotMoved, err error) {
	change := func(t *turn) error {
		if t.run.Version == a.Version || t.run.Ending != "" {
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
		if t.run.WaitsFor == "" && !t.run.DueAt.IsZero() {
			_, mail := stepConfig[automation.SendEmailConfig](is)
			t.run.Sends = mail || mailAfter(next, is) != nil
		}
		if c, ok := is.Config.(*automation.WaitForEventConfig); ok && t.run.WaitsFor != "" {
			t.run.WaitsFor = c.EventName
		}
		moved++
		return t.store()
	}
	for after := ""; ; {
		if after, err = s.changeRuns(ctx, a.ID, after, change); err != nil || after == "" {
			return moved, stay, err
		}
	}
}
