package automations

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// Report holds the numbers of an automation since it was created.
type Report struct {
	AutomationID                                         string
	Started, Running, Completed, Failed, Cancelled, Goal int64
	Loop, Full, NoDate                                   int64 // starts that did not happen, and dates that can't be read
	Steps                                                []StepReport
}

// StepReport holds the numbers of runs at one step.
type StepReport struct {
	Key                                            string
	Type                                           app.StepType
	Waiting, Completed, Failed, Skipped, Cancelled int64
	Opened, Clicked                                int64 // mails of a step of type send_email, once each. Its completed mails are sent
	Goal                                           int64 // runs that a step of type goal ended
}

// Report returns the numbers of an automation, with the steps of its current version in the order of the graph.
// Error: CodeNotFound.
func (s *Service) Report(ctx context.Context, key *app.Key, id string) (out Report, err error) {
	err = s.DB.Read(ctx, func(r *db.Reader) error {
		a, err := r.Automation(key.TeamID, id)
		if err != nil {
			return err
		}
		flow, err := s.flow(r, a.ID, a.Version)
		if err != nil {
			return err
		}
		all, err := r.AutomationCounts(a.ID)
		if err != nil {
			return err
		}
		n := all[""]
		out = Report{AutomationID: a.ID, Started: n[db.CountStarted], Completed: n[db.CountDone], Failed: n[db.CountFailed], Cancelled: n[db.CountCancelled], Goal: n[db.CountGoal],
			Loop: n[db.CountLoop], Full: n[db.CountFull], NoDate: n[db.CountNoDate]}
		for _, step := range all { // those of earlier versions too
			out.Running += step[db.CountWaiting]
		}
		for _, step := range flow.Steps {
			n := all[step.Key]
			out.Steps = append(out.Steps, StepReport{Key: step.Key, Type: step.Type, Waiting: n[db.CountWaiting], Completed: n[db.CountDone], Failed: n[db.CountFailed], Skipped: n[db.CountSkipped],
				Cancelled: n[db.CountCancelled], Opened: n[db.CountOpened], Clicked: n[db.CountClicked], Goal: n[db.CountGoal]})
		}
		return nil
	})
	return out, base.Lookup("automation", err)
}
