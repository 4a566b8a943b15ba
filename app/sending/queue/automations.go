package queue

import (
	"context"
	"errors"
	"fmt"

	"mailer/app"
	"mailer/app/base"
	"mailer/db"
)

// decideAutomations releases or drops what a restore held of the automations of a team, or of all teams for "":
// open runs with the events of their contacts, and starts by date and schedule. Overdue runs go on immediately.
// Dropped runs are cancelled; starts that were due meanwhile are not made in either case.
func (s *Service) decideAutomations(ctx context.Context, teamID string, release bool, res *Result) error {
	n, err := s.decideRuns(ctx, teamID, release)
	if err == nil {
		n.Automations, err = s.releaseStarts(ctx, teamID)
	}
	all := n.Runs + n.Signals + n.Automations
	res.Matched, res.Changed = res.Matched+all, res.Changed+all
	runs, events := "%d open runs of automations were cancelled", "%d events of automations were dropped"
	if release {
		runs, events = "%d open runs of automations were released", "%d events of automations were released"
	}
	for _, note := range []struct {
		text string
		n    int64
	}{{runs, n.Runs}, {events, n.Signals}, {"%d automations are started by dates and schedules again, from now on", n.Automations}} {
		if note.n > 0 {
			res.Notes = append(res.Notes, fmt.Sprintf(note.text, note.n))
		}
	}
	return err
}

// decideRuns releases or drops held runs and events, those of a contact in the same Write.
func (s *Service) decideRuns(ctx context.Context, teamID string, release bool) (n db.HeldAutomations, err error) {
	after := db.HeldContact{}
	for more := true; more; {
		var done db.HeldAutomations
		next := after
		err := s.DB.Write(ctx, func(tx *db.Tx) error {
			done, more, next = db.HeldAutomations{}, true, after
			for range writeBatch {
				c, err := tx.NextHeldContact(teamID, next)
				if errors.Is(err, db.ErrNotFound) {
					more = false
					return nil
				}
				if err != nil {
					return err
				}
				one, err := decideContact(tx, c, release)
				if err != nil {
					return err
				}
				done.Runs, done.Signals = done.Runs+one.Runs, done.Signals+one.Signals
				if one.Runs < writeBatch { // else the contact may have more
					next = c
				}
				if done.Runs >= writeBatch {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			return n, fmt.Errorf("decide about held runs: %w", err)
		}
		n.Runs, n.Signals, after = n.Runs+done.Runs, n.Signals+done.Signals, next
	}
	return n, nil
}

func decideContact(tx *db.Tx, c db.HeldContact, release bool) (db.HeldAutomations, error) {
	if release {
		return tx.ReleaseContact(c)
	}
	return tx.DropHeldContact(c, writeBatch)
}

// releaseStarts lets automations be started by date and schedule again, from now on.
func (s *Service) releaseStarts(ctx context.Context, teamID string) (n int64, err error) {
	for after, more := "", true; more; {
		var held []app.Automation
		err := s.DB.Write(ctx, func(tx *db.Tx) (err error) {
			if held, err = tx.RestoredAutomations(teamID, after, writeBatch); err != nil {
				return err
			}
			for i := range held {
				a := &held[i]
				if err := s.ReleaseAutomation(tx, a.TeamID, a.ID); err != nil {
					return err
				}
				if err := base.Audit(ctx, tx, a.TeamID, "automation.update", a.ID, map[string]any{"held": a.Held}, map[string]any{"held": ""}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return n, fmt.Errorf("release starts of automations: %w", err)
		}
		n += int64(len(held))
		if more = len(held) == writeBatch; more {
			after = held[len(held)-1].ID
		}
	}
	return n, nil
}
