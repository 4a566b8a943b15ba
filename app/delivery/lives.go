package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/mail"
	"mailer/app/service"
	"mailer/db"
)

// lifeSetting is the name of what a server notes of its life.
const lifeSetting = "life"

// life is what a server leaves for the next one.
type life struct {
	Running bool `json:"running,omitzero"` // it has not ended well so far
	Crashes int  `json:"crashes,omitzero"` // in a row, before it
}

// Resume turns the transactions that an earlier process left between their dot and its
// reply into doubts, and has those tried again at once that it left before. What was in
// work at several crashes in a row may be what ends the process: it leaves one at a
// time until a life ends well, and what was alone in work at a crash waits longer each
// time.
func (s *Service) Resume(ctx context.Context) error {
	var doubts, resumed int
	var crashes int
	damaged, err := s.damagedDoubts(ctx)
	if err != nil {
		return fmt.Errorf("read what was past its dot: %w", err)
	}
	err = s.DB.WriteVital(ctx, func(tx *db.Tx) error {
		last, err := lastLife(&tx.Reader)
		if err != nil {
			return err
		}
		if crashes = 0; last.Running {
			crashes = last.Crashes + 1
		}
		if doubts, err = s.recoverDoubts(tx, damaged); err != nil {
			return err
		}
		if resumed, err = resumeBegun(tx, crashes, doubts); err != nil {
			return err
		}
		return setLife(tx, life{Running: true, Crashes: crashes})
	})
	if err != nil {
		return fmt.Errorf("resume what was in work: %w", err)
	}
	if doubts > 0 {
		s.Log.Warn("units in doubt: the final dot may have been sent and no reply was recorded", "count", doubts, "again_after", s.DoubtDelay, "help", "mailer doubts lists them")
	}
	if crashes > 0 {
		s.Log.Warn("the last server did not end well; what it had in work is tried again", "crashes_in_a_row", crashes, "count", resumed)
	}
	return nil
}

// EndWell notes that this life ended well: nothing is in work any more.
func (s *Service) EndWell(ctx context.Context) error {
	err := s.DB.WriteVital(ctx, NoteEnd)
	if err != nil {
		return fmt.Errorf("note the end of this server: %w", err)
	}
	return nil
}

// NoteEnd is EndWell for a database on which no server runs.
func NoteEnd(tx *db.Tx) error { return setLife(tx, life{}) }

func lastLife(r *db.Reader) (l life, err error) {
	note, err := r.Setting(lifeSetting)
	if errors.Is(err, db.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("read how the last server ended: %w", err)
	}
	if err := json.Unmarshal(note, &l); err != nil {
		return l, fmt.Errorf("read how the last server ended: %w", err)
	}
	return l, nil
}

func setLife(tx *db.Tx, l life) error {
	note, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode how this server is: %w", err)
	}
	return tx.SetSetting(lifeSetting, note)
}

// resumeBegun has units tried again that were in work when the last process ended,
// after so many crashes in a row; dotted is how many others were past their dot.
func resumeBegun(tx *db.Tx, crashes, dotted int) (int, error) {
	units, err := tx.BegunUnits()
	if err != nil {
		return 0, err
	}
	if err := tx.ClearCrashes(); err != nil {
		return 0, err
	}
	suspects := 0
	for _, u := range units {
		if suspected(u) {
			suspects++
		}
	}
	for _, u := range units {
		wait := time.Duration(0)
		switch {
		case len(units)+dotted == 1:
			wait = app.CrashDelay(u.Crashes + 1)
		case suspects == 1 && suspected(u): // others were in work, but none so often
			wait = min(app.CrashDelay(u.Crashes+1), maxSuspectWait)
		}
		if err := resumeUnit(tx, u, crashes > 0, wait); err != nil {
			return 0, err
		}
	}
	return len(units), nil
}

// maxSuspectWait bounds how long an email waits that was in work with others.
const maxSuspectWait = 30 * time.Second

// resumeUnit has one unit tried again: at once, or after a crash in which it was alone in
// work, or alone under suspicion, after a while.
func resumeUnit(tx *db.Tx, u app.Unit, crashed bool, wait time.Duration) error {
	if !crashed {
		return service.IgnoreGone(tx.ResumeUnit(u, 0, tx.Now))
	}
	u.Crashes++
	next, why := tx.Now, "it is tried again at once"
	switch {
	case wait > 0:
		next = tx.Now.Add(wait)
		why = "it alone was in work, so it waits a while"
	case suspected(u):
		why = "it was in work at several such ends in a row, so it leaves when no other such email is in work"
	}
	detail := app.EventDetail{Relay: u.Relay, Attempt: u.Attempts, Message: "The server stopped in the midst of an attempt, before the end of the message; " + why}
	if next.After(tx.Now) {
		detail.NextAttemptAt = app.FormatTime(next)
		detail.Message += "; next try at " + detail.NextAttemptAt
	}
	if err := service.IgnoreGone(tx.InsertEvent(mail.NewEvent(tx, u, app.EventInterrupted, "", detail))); err != nil {
		return err
	}
	return service.IgnoreGone(tx.ResumeUnit(u, u.Crashes, next))
}
