package automations

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// idle is how long the dispatcher waits if nothing wakes it and no run is due.
	idle = 10 * time.Minute
	// busyPause is the pause between rounds while a team's mail waits for its pace or a refusal ends.
	busyPause = 200 * time.Millisecond
	// signalsPerWrite and runsPerRound bound what is taken of one team before the next team.
	signalsPerWrite = 25
	runsPerRound    = 200
	// movesPerWrite is how many runs share a Write, and workers is how many Writes of a team are under way. Both are
	// low, so that a request of another team never waits behind many runs.
	movesPerWrite = 4
	workers       = 4
	// restAfterRefusal is how long the mails of a team rest that may not send now.
	restAfterRefusal = time.Minute
)

// Start starts the dispatcher, which takes events and executes due steps. Only the server that leads calls it.
func (s *Service) Start() { s.Workers.Go(s.dispatch) }

// dispatch takes events and executes due steps until no new work may begin.
func (s *Service) dispatch() {
	wait := time.Duration(0)
	for base.Sleep(s.Claiming, wait, s.wake) {
		next, err := s.round(s.Claiming)
		switch {
		case err != nil && s.Claiming.Err() != nil:
			return
		case err != nil:
			s.LogUnlessUnavailable("run automations", err)
			wait = base.SweepEvery
		default:
			wait = min(idle, max(clock.Until(next), 0))
		}
	}
}

// round ends runs of stopped automations, takes the events that wait and executes the runs that are due, some of each team. It returns when
// to call it again at the latest.
func (s *Service) round(ctx context.Context) (next time.Time, err error) {
	now := clock.Now()
	moreStopped, err := s.endStopped(ctx)
	if err != nil {
		return now, err
	}
	moreSignals, err := s.takeSignals(ctx)
	if err != nil {
		return now, err
	}
	moreRuns, next, err := s.executeDue(ctx)
	switch {
	case err != nil:
		return now, err
	case moreStopped || moreSignals || moreRuns:
		return now, nil
	}
	return next, nil
}

// executeDue executes runs that are due, at most runsPerRound of each team. It reports whether there may be
// more now, and when the next one is due.
func (s *Service) executeDue(ctx context.Context) (more bool, next time.Time, err error) {
	next = clock.Now().Add(idle)
	first, err := db.Get(ctx, s.DB, func(r *db.Reader) (time.Time, error) { return r.NextRunDue() })
	if errors.Is(err, db.ErrNotFound) {
		return false, next, nil
	}
	if err != nil || first.After(clock.Now()) {
		return false, earlier(next, first), err
	}
	var failed []error
	for teamID := ""; ; {
		teamID, err = db.Get(ctx, s.DB, func(r *db.Reader) (string, error) { return r.NextTeamWithDue(teamID) })
		if errors.Is(err, db.ErrNotFound) {
			break
		}
		if err != nil {
			return false, next, err
		}
		var mailsMore bool
		var mailsNext time.Time
		var mailsErr error
		var mails sync.WaitGroup
		mails.Go(func() { mailsMore, mailsNext, mailsErr = s.executeTeam(ctx, teamID, true) })
		othersMore, othersNext, othersErr := s.executeTeam(ctx, teamID, false)
		mails.Wait()
		more, next = more || mailsMore || othersMore, earlier(earlier(next, mailsNext), othersNext)
		failed = append(failed, mailsErr, othersErr)
	}
	return more, next, errors.Join(failed...)
}

// earlier returns the earlier of two times; a zero b is none.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// executeTeam executes due runs of a team, those whose steps send emails or the others. It reports whether
// there may be more now, and if not when the next one is due.
func (s *Service) executeTeam(ctx context.Context, teamID string, sends bool) (more bool, next time.Time, err error) {
	limit := runsPerRound
	if sends {
		if limit, next, err = s.mailsAllowed(ctx, teamID); err != nil || limit == 0 {
			return false, next, err
		}
	}
	due, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]app.Run, error) { return r.DueRuns(teamID, sends, limit) })
	if err != nil {
		return false, next, err
	}
	now := clock.Now()
	if i := slices.IndexFunc(due, func(r app.Run) bool { return r.DueAt.After(now) }); i >= 0 {
		due, next = due[:i], due[i].DueAt
	}
	if sends {
		s.paceOf(teamID).accept(len(due))
	}
	var mu sync.Mutex
	var failed []error
	var group sync.WaitGroup
	slots := make(chan struct{}, workers)
	for some := range slices.Chunk(due, movesPerWrite) {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := s.executeOrPostpone(ctx, some); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, err)
			}
		})
	}
	group.Wait()
	return len(due) == limit && len(failed) == 0, next, errors.Join(failed...)
}
