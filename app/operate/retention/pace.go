package retention

import (
	"context"
	"time"

	"mailer/app/base"
	"mailer/db"
)

const (
	// targetTime is how long one transaction may take while others wait: an accept that comes just
	// after its start waits no longer than for its own commit and sync.
	targetTime = 2 * time.Millisecond
	// maxBatch is the maximum number of emails that one transaction deletes.
	maxBatch = 100
	// quietInterval is the interval of checks whether a client waits.
	quietInterval = 5 * time.Millisecond
	// pauseTime is the ratio of pause to work.
	pauseTime = 3
)

// pace learns how many emails a transaction can delete in targetTime on this machine.
type pace struct{ batch int }

func newPace() pace { return pace{batch: 4} }

// learn adapts to the duration of the last transaction.
func (p *pace) learn(took time.Duration) {
	switch {
	case took > targetTime:
		p.batch = max(1, p.batch/2)
	case took < targetTime/2:
		p.batch = min(maxBatch, p.batch+p.batch/4+1)
	}
}

// quiet waits until no client waits for the store. It returns false when the work must end.
func (s *Service) quiet(ctx context.Context) bool {
	for s.Load.Busy() || s.DB.Queued() {
		if !base.Sleep(ctx, quietInterval, nil) || s.Draining() {
			return false
		}
	}
	return ctx.Err() == nil && !s.Draining()
}

// write runs fn in a transaction while no client waits, learns from its duration, and pauses. It
// returns false when the work must end.
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

// pause leaves the store to others after work of the given duration.
func (s *Service) pause(ctx context.Context, took time.Duration) bool {
	return base.Sleep(ctx, pauseTime*took, nil) && !s.Draining()
}
