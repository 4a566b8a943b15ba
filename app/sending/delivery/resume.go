package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/sending/mail"
	"mailer/db"
	"mailer/db/engine"
)

// runSetting is the name of what a server notes of its life.
const runSetting = "life"

// life is what a server leaves for the next one.
type life struct {
	Running bool `json:"running,omitzero"` // it has not ended well so far
	Crashes int  `json:"crashes,omitzero"` // in a row, before it
}

// Resume turns the transactions that an earlier process left between their dot and its
// reply into doubts, and has those tried again at once that it left before. What was in
// work at several crashes in a row may be what ends the process: it leaves one at a
// time until a life ends well, and what was alone in work at a crash waits longer each
// time. What other servers have in work that share the database is their own.
func (s *Service) Resume(ctx context.Context) error {
	var r resumed
	var crashes int
	damaged, err := s.damagedDoubts(ctx)
	if err != nil {
		return fmt.Errorf("read what was past its dot: %w", err)
	}
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		last, err := lastRun(&tx.Reader)
		if err != nil {
			return err
		}
		if crashes = 0; last.Running {
			crashes = last.Crashes + 1
		}
		if err := tx.ClearCrashes(); err != nil {
			return err
		}
		if r, err = s.resume(tx, damaged, crashes > 0); err != nil {
			return err
		}
		return setRun(tx, life{Running: true, Crashes: crashes})
	})
	if err != nil {
		return fmt.Errorf("resume what was in work: %w", err)
	}
	s.logResumed(r)
	if crashes > 0 {
		s.Log.Warn("the last server did not end well; what it had in work is tried again", "crashes_in_a_row", crashes, "count", r.begun)
	}
	return nil
}

// resumed is how much was left in work: past its dot, and before.
type resumed struct{ doubts, begun int }

// resume takes over what servers had in work that are gone; crashed: that of a file did not
// end well.
func (s *Service) resume(tx *db.Tx, damaged map[string]bool, crashed bool) (r resumed, err error) {
	gone, err := tx.DeadNodes()
	if err != nil {
		return r, fmt.Errorf("look which servers are gone: %w", err)
	}
	if r.doubts, err = s.recoverDoubts(tx, gone, damaged); err != nil {
		return r, err
	}
	if r.begun, err = resumeBegun(tx, gone, crashed, r.doubts); err != nil {
		return r, err
	}
	return r, tx.MarkFreed(gone)
}

func (s *Service) logResumed(r resumed) {
	if r.doubts > 0 {
		s.Log.Warn("units in doubt: the final dot may have been sent and no reply was recorded", "count", r.doubts, "again_after", s.tuning.Load().DoubtDelay, "help", "mailer doubts lists them")
	}
}

// watchPeers takes over from servers that are gone, until the service stops.
func (s *Service) watchPeers() {
	for {
		select {
		case <-s.DB.Cluster().Orphaned():
		case <-s.Claiming.Done():
			return
		}
		if err := s.takeOver(s.Claiming); err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("take over from a server that is gone", err) // it is told of at each beat
		}
	}
}

// takeOver is Resume while this server works.
func (s *Service) takeOver(ctx context.Context) error {
	damaged, err := s.damagedDoubts(ctx)
	if err != nil {
		return fmt.Errorf("read what was past its dot: %w", err)
	}
	var r resumed
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		gone, err := tx.DeadNodes()
		if err != nil {
			return err
		}
		for _, l := range s.Outlets.all() {
			if err := tx.CloseTroublesOf(gone, l.name); err != nil {
				return err
			}
		}
		r, err = s.resume(tx, damaged, false)
		return err
	})
	if err != nil {
		return err
	}
	s.logResumed(r)
	s.Log.Info("took over what a server that is gone had in work", "in_doubt", r.doubts, "again", r.begun)
	s.WakeQueues()
	return nil
}

// MarkCleanShutdown notes that this life ended well: nothing is in work any more.
func (s *Service) MarkCleanShutdown(ctx context.Context) error {
	s.DB.Cluster().EndCleanly()
	if !s.leads.Load() {
		return nil
	}
	err := s.DB.WriteCritical(ctx, WriteCleanShutdown)
	if err != nil {
		return fmt.Errorf("note the end of this server: %w", err)
	}
	return nil
}

// WriteCleanShutdown is MarkCleanShutdown for a database on which no server runs.
func WriteCleanShutdown(tx *db.Tx) error { return setRun(tx, life{}) }

func lastRun(r *db.Reader) (l life, err error) {
	note, err := r.Setting(runSetting)
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

func setRun(tx *db.Tx, l life) error {
	note, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode how this server is: %w", err)
	}
	return tx.SetSetting(runSetting, note)
}

// resumeBegun has units tried again that were in work when their process ended; dotted is how
// many others were past their dot.
func resumeBegun(tx *db.Tx, gone engine.DeadNodes, crashed bool, dotted int) (int, error) {
	units, err := tx.BegunUnits()
	if err != nil {
		return 0, err
	}
	units = slices.DeleteFunc(units, func(u app.Unit) bool { return !gone.IsDead(u.Owner) })
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
		if u.Owner != "" {
			crashed = !gone.CleanShutdown(u.Owner)
		}
		if err := resumeUnit(tx, u, crashed, wait); err != nil {
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
		return base.IgnoreNotFound(tx.ResumeUnit(u, 0, tx.Now))
	}
	u.Crashes++
	next, why := tx.Now, "it is retried immediately"
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
	if err := base.IgnoreNotFound(tx.InsertEvent(mail.NewEvent(tx, u, app.EventInterrupted, "", detail))); err != nil {
		return err
	}
	return base.IgnoreNotFound(tx.ResumeUnit(u, u.Crashes, next))
}
