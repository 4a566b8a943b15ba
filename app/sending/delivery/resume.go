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

// runSetting is the setting that holds the runRecord.
const runSetting = "life"

// runRecord is what a server stores about its run for the next one.
type runRecord struct {
	Running bool `json:"running,omitzero"` // not shut down cleanly so far
	Crashes int  `json:"crashes,omitzero"` // crashes in a row before this run
}

// Resume turns the committed transactions that an earlier process left without a result into doubts
// and makes its other units due. Units that were in work at several crashes in a row may be their
// cause: they are sent one at a time until a clean shutdown, and a unit that was in work alone at a
// crash waits longer each time. Units of other running servers are left alone.
func (s *Service) Resume(ctx context.Context) error {
	var r resumeCounts
	var crashes int
	damaged, err := s.damagedDoubts(ctx)
	if err != nil {
		return fmt.Errorf("read committed units: %w", err)
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
		return setRun(tx, runRecord{Running: true, Crashes: crashes})
	})
	if err != nil {
		return fmt.Errorf("resume units in work: %w", err)
	}
	s.logResumed(r)
	if crashes > 0 {
		s.Log.Warn("the last server did not end well; what it had in work is tried again", "crashes_in_a_row", crashes, "count", r.begun)
	}
	return nil
}

// resumeCounts counts the units that an earlier process left in work: committed, and before.
type resumeCounts struct{ doubts, begun int }

// resume takes over the units of servers that are gone. crashed: the last server on an SQLite file
// was not shut down cleanly.
func (s *Service) resume(tx *db.Tx, damaged map[string]bool, crashed bool) (r resumeCounts, err error) {
	stopped, err := tx.DeadNodes()
	if err != nil {
		return r, fmt.Errorf("find servers that are gone: %w", err)
	}
	if r.doubts, err = s.recoverDoubts(tx, stopped, damaged); err != nil {
		return r, err
	}
	if r.begun, err = resumeBegun(tx, stopped, crashed, r.doubts); err != nil {
		return r, err
	}
	return r, tx.MarkFreed(stopped)
}

func (s *Service) logResumed(r resumeCounts) {
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
			s.LogUnlessUnavailable("take over from a server that is gone", err) // reported again at each heartbeat
		}
	}
}

// takeOver is Resume for other servers while this one runs.
func (s *Service) takeOver(ctx context.Context) error {
	damaged, err := s.damagedDoubts(ctx)
	if err != nil {
		return fmt.Errorf("read committed units: %w", err)
	}
	var r resumeCounts
	err = s.DB.WriteCritical(ctx, func(tx *db.Tx) error {
		stopped, err := tx.DeadNodes()
		if err != nil {
			return err
		}
		for _, l := range s.RelayQueues.now().endpoints {
			if err := tx.CloseTroublesOf(stopped, l.name); err != nil {
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

// MarkCleanShutdown stores that this run ended with nothing in work.
func (s *Service) MarkCleanShutdown(ctx context.Context) error {
	s.DB.Cluster().EndCleanly()
	if !s.leader.Load() {
		return nil
	}
	err := s.DB.WriteCritical(ctx, WriteCleanShutdown)
	if err != nil {
		return fmt.Errorf("store the clean shutdown: %w", err)
	}
	return nil
}

// WriteCleanShutdown is MarkCleanShutdown for a database on which no server runs.
func WriteCleanShutdown(tx *db.Tx) error { return setRun(tx, runRecord{}) }

func lastRun(r *db.Reader) (l runRecord, err error) {
	data, err := r.Setting(runSetting)
	if errors.Is(err, db.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return l, fmt.Errorf("read how the last server ended: %w", err)
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("read how the last server ended: %w", err)
	}
	return l, nil
}

func setRun(tx *db.Tx, l runRecord) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode the record of this run: %w", err)
	}
	return tx.SetSetting(runSetting, data)
}

// resumeBegun makes units due that were in work when their process ended. committed is how many others
// were committed.
func resumeBegun(tx *db.Tx, stopped engine.DeadNodes, crashed bool, committed int) (int, error) {
	units, err := tx.BegunUnits()
	if err != nil {
		return 0, err
	}
	units = slices.DeleteFunc(units, func(u app.Unit) bool { return !stopped.IsDead(u.Owner) })
	suspects := 0
	for _, u := range units {
		if suspected(u) {
			suspects++
		}
	}
	for _, u := range units {
		wait := time.Duration(0)
		switch {
		case len(units)+committed == 1:
			wait = app.CrashDelay(u.Crashes + 1)
		case suspects == 1 && suspected(u): // other units were in work, but at fewer crashes
			wait = min(app.CrashDelay(u.Crashes+1), maxSuspectWait)
		}
		if u.Owner != "" {
			crashed = !stopped.CleanShutdown(u.Owner)
		}
		if err := resumeUnit(tx, u, crashed, wait); err != nil {
			return 0, err
		}
	}
	return len(units), nil
}

// maxSuspectWait bounds how long a suspect waits that was in work together with others.
const maxSuspectWait = 30 * time.Second

// resumeUnit makes one unit due: immediately, or after wait if a crash is suspected to be its
// fault.
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
