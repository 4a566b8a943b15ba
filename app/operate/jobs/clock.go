package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/db"
)

const (
	// clockEvery is how often the wall clock is compared with the monotonic one.
	clockEvery = 10 * time.Second
	// clockStep is the least that counts as a step of the wall clock; what is less
	// delays nothing worth the trouble.
	clockStep = 10 * time.Second
)

// watch notices that the wall clock was moved: by NTP, by an operator, or since the
// machine was paused. What is to be tried again has its time in the database by the
// wall clock. Put forward, it is due sooner, which does no harm; put back, it would
// wait for as long as the clock was wrong.
type watch struct {
	began clock.Mark
	ahead time.Duration // how far the wall clock is ahead of began by the monotonic one
	back  time.Duration // that it was put back and nobody has made good yet
}

func newWatch() *watch { return &watch{began: clock.Begin()} }

// step says how far the wall clock was moved since the last call; negative: back.
func (w *watch) step() time.Duration { return w.moved(w.began.Elapsed()) }

// moved is step by what passed since began on either clock.
func (w *watch) moved(wall, monotonic time.Duration) time.Duration {
	step := wall - monotonic - w.ahead
	if step.Abs() < clockStep {
		return 0
	}
	w.ahead += step
	return step
}

// watchClock makes steps of the wall clock good until the service stops. It has a
// ticker of its own: cron is one of those that a step confuses.
func (s *Service) watchClock() {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.Claiming.Done():
			return
		}
		if err := s.checkClock(s.Claiming); err != nil && s.Claiming.Err() == nil {
			s.Log.Error("make a step of the clock good", "err", err)
		}
	}
}

// checkClock makes a step of the wall clock good, if there was one.
func (s *Service) checkClock(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	step := s.clockWatch.step()
	if step != 0 {
		s.Log.Warn("the wall clock was moved", "by", step)
		s.clockWatch.back = max(0, s.clockWatch.back-step)
		s.rewindCron()
	}
	if step < 0 {
		s.delivery.ClockMovedBack(clock.Now(), -step)
	}
	if s.clockWatch.back > 0 { // also what could not be written the last time
		if err := s.advance(ctx, s.clockWatch.back); err != nil {
			return err
		}
		s.clockWatch.back = 0
	} else if step == 0 {
		return nil
	}
	s.delivery.RetryRelays() // their pauses may have been for the old clock
	return errors.Join(s.noteClock(ctx), s.sweep(ctx))
}

// advance has everything that is to be tried again tried earlier. A crash in the
// middle has it done once more: then some is tried too early, and no harm is done.
func (s *Service) advance(ctx context.Context, by time.Duration) error {
	if err := s.advanceUnits(ctx, by); err != nil {
		return fmt.Errorf("make a wrong clock good: %w", err)
	}
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		if err := s.delivery.AdvanceUsage(tx, by); err != nil {
			return err
		}
		if err := s.events.AdvanceDeliveries(tx, by); err != nil {
			return err
		}
		return errors.Join(tx.AdvanceDomainChecks(by), tx.AdvanceTroubles(by), tx.AdvanceChoiceNews(by))
	})
	if err != nil {
		return fmt.Errorf("make a wrong clock good: %w", err)
	}
	return nil
}

// advanceUnits looks for units apart from the writes that move them: of a long queue
// that is scheduled it finds none.
func (s *Service) advanceUnits(ctx context.Context, by time.Duration) error {
	for after := ""; ; {
		late, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]string, error) { return r.UnitsInFuture(after, clock.Now(), base.PurgeChunk) })
		if err != nil || len(late) == 0 {
			return err
		}
		err = s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
			for _, id := range late {
				if err := tx.AdvanceUnit(id, by); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = late[len(late)-1]
	}
}

// ResumeClock makes good that the clock was put back since an earlier server.
func (s *Service) ResumeClock(ctx context.Context) error {
	noted, err := db.Get(ctx, s.DB, func(r *db.Reader) ([]byte, error) { return r.Setting(base.ClockSetting) })
	if errors.Is(err, db.ErrNotFound) {
		return s.IgnoreFull(s.noteClock(ctx))
	}
	if err != nil {
		return fmt.Errorf("read the last time: %w", err)
	}
	ms, err := strconv.ParseInt(string(noted), 10, 64)
	if err != nil {
		return fmt.Errorf("read the last time: %w", err)
	}
	if back := clock.Until(time.UnixMilli(ms)); back >= clockStep {
		s.Log.Warn("the wall clock was put back since the last server", "by", back)
		if err := s.advance(ctx, back); errors.Is(err, db.ErrFull) {
			s.clockWatch.back = back // for the watch
		} else if err != nil {
			return err
		}
	}
	return s.IgnoreFull(s.noteClock(ctx))
}

// noteClock leaves the time for the next server.
func (s *Service) noteClock(ctx context.Context) error {
	err := s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		return tx.SetSetting(base.ClockSetting, strconv.AppendInt(nil, tx.Now.UnixMilli(), 10))
	})
	if err != nil {
		return fmt.Errorf("note the time: %w", err)
	}
	return nil
}
