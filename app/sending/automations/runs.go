package automations

import (
	"context"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// RunDetail is a run with the steps that it reached, in order.
type RunDetail struct {
	app.Run
	Steps []app.RunStep
}

// ListRuns returns a page of an automation's runs, newest first. No statuses select all. Errors:
// CodeNotFound for the automation, CodeValidation for an unknown cursor.
func (s *Service) ListRuns(ctx context.Context, key *app.Key, automationID string, statuses []app.RunStatus, page app.Page) (rows []app.Run, more bool, err error) {
	if _, err := db.Get(ctx, s.DB, func(r *db.Reader) (app.Automation, error) { return r.Automation(key.TeamID, automationID) }); err != nil {
		return nil, false, base.Lookup("automation", err)
	}
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) ([]app.Run, bool, error) {
		return r.ListRuns(key.TeamID, automationID, statuses, page)
	})
	return rows, more, base.Cursor(page, err)
}

// GetRun returns a run of an automation. Error: CodeNotFound.
func (s *Service) GetRun(ctx context.Context, key *app.Key, automationID, id string) (run RunDetail, err error) {
	run, err = db.Get(ctx, s.DB, func(r *db.Reader) (d RunDetail, err error) {
		if _, err = r.Automation(key.TeamID, automationID); err != nil {
			return d, err
		}
		if d.Run, err = r.Run(key.TeamID, id); err != nil {
			return d, err
		}
		if d.AutomationID != automationID {
			return d, db.ErrNotFound
		}
		d.Steps, err = r.RunSteps(id)
		return d, err
	})
	return run, base.Lookup("automation run", err)
}
