package retention

import (
	"context"
	"time"

	"mailer/app/base"
	"mailer/db"
)

const (
	// targetTime is how long one transaction may keep others waiting: an accept that came
	// a moment later than it waits for no more than its commit and its sync beside.
	targetTime = 2 * time.Millisecond
	// maxBatch is how many emails one transaction deletes at most.
	maxBatch = 100
	// quietInterval is between two looks whether anybody waits.
	quietInterval = 5 * time.Millisecond
	// pauseTime is how many times as long as it worked it leaves the store to others.
	pauseTime = 3
)

// pace has each transaction take about target: it learns how many emails that are on
// this machine.
type pace struct{ batch int }

func newPace() pace { return pace{batch: 4} }

// learn adapts to how long the last transaction took.
func (p *pace) learn(took time.Duration) {
	switch {
	case took > targetTime:
		p.batch = max(1, p.batch/2)
	case took < targetTime/2:
		p.batch = min(maxBatch, p.batch+p.batch/4+1)
	}
}

// quiet waits until nobody waits for the store, and returns false where the work must
// end.
func (s *Service) quiet(ctx context.Context) bool {
	for s.Load.Busy() || s.DB.Queued() {
		if !base.Sleep(ctx, quietInterval, nil) || s.Draining() {
			return false
		}
	}
	return ctx.Err() == nil && !s.Draining()
}

// write runs fn as one transaction while nobody waits, learns how long that took, and
// leaves the store to others for some time. It returns false where the work must end.
func (s *Service) write(ctx context.Context, fn func(*db.Tx) error) (goOn bool, err error) {
	if !s.quiet(ctx) {
		return false, nil
	}
	var took time.Duration
	err = s.DB.Write(ctx, func(tx *db.Tx) error {
		start := time.Now()
		tx.AfterCommit(func() { took = time.Since(start) })
		return fn(tx)
	})
	if err != nil {
		return false, err
	}
	s.pace.learn(took)
	return s.pause(ctx, took), nil
}

// pause lets others have the store after something that took so long.
func (s *Service) pause(ctx context.Context, took time.Duration) bool {
	return base.Sleep(ctx, pauseTime*took, nil) && !s.Draining()
}
