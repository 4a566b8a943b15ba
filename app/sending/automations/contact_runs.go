package automations

import (
	"context"
	"errors"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/automation"
	"mailer/db"
)

// ContactRun is a run of a contact, with a sentence about it.
type ContactRun struct {
	app.Run
	Automation string // its name
	Sentence   string // like "In Welcome since Monday, next mail tomorrow 09:00 (Europe/Berlin)"
}

// ListContactRuns returns a page of the runs of a contact, newest first. Times of sentences are in the zone of
// the contact, else of the team. Errors: CodeNotFound for the contact, CodeValidation for an unknown cursor.
func (s *Service) ListContactRuns(ctx context.Context, key *app.Key, idOrEmail string, page app.Page) (rows []ContactRun, more bool, err error) {
	contact, err := s.audience.GetContact(ctx, key, idOrEmail)
	if err != nil {
		return nil, false, err
	}
	rows, more, err = db.GetPage(ctx, s.DB, func(r *db.Reader) (rows []ContactRun, more bool, err error) {
		runs, more, err := r.ListRunsOfContact(key.TeamID, contact.ID, page)
		if err != nil {
			return nil, false, err
		}
		at, err := clockOf(r, &contact)
		if err != nil {
			return nil, false, err
		}
		names := map[string]string{}
		for _, run := range runs {
			name, flow, err := s.describe(r, &run, names)
			if err != nil {
				return nil, false, err
			}
			rows = append(rows, ContactRun{Run: run, Automation: name, Sentence: automation.RunSentence(name, &run, flow, at)})
		}
		return rows, more, nil
	})
	return rows, more, base.Cursor(page, err)
}

// describe returns the name of a run's automation, and its version of the flow; nil if the automation was
// deleted. names holds the names that were read before.
func (s *Service) describe(r *db.Reader, run *app.Run, names map[string]string) (string, *automation.Flow, error) {
	name, known := names[run.AutomationID]
	if !known {
		a, err := r.Automation(run.TeamID, run.AutomationID)
		if base.IgnoreNotFound(err) != nil {
			return "", nil, err
		}
		name = a.Name
		names[run.AutomationID] = name
	}
	if name == "" {
		return "a deleted automation", nil, nil
	}
	flow, err := s.flow(r, run.AutomationID, run.Version)
	if errors.Is(err, db.ErrNotFound) {
		return name, nil, nil
	}
	return name, flow, err
}

// clockOf returns the clock of sentences about a contact: in its time zone, else in that of its team.
func clockOf(r *db.Reader, c *app.Contact) (automation.Clock, error) {
	team, err := r.TeamTimeZone(c.TeamID)
	if err != nil {
		return automation.Clock{}, err
	}
	zone, _ := automation.ZoneOf(c, team)
	return automation.Clock{Now: clock.Now(), Zone: zone}, nil
}
