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
	// clockEvery is the interval of comparisons of the wall clock with the monotonic clock.
	clockEvery = 10 * time.Second
	// clockStep is the smallest difference that counts as a step of the wall clock. Smaller ones
	// do not matter for any delay.
	clockStep = 10 * time.Second
)

// watch detects steps of the wall clock: by NTP, by an operator, or after a suspend. Times of
// retries in the database are wall times. After a step forward they are due earlier, which does no
// harm. After a step back they would wait for as long as the step.
type watch struct {
	began clock.Mark
	ahead time.Duration // offset of the wall clock since began, compared with the monotonic clock
	back  time.Duration // steps back that were not compensated yet
}

func newWatch() *watch { return &watch{began: clock.Begin()} }

// step returns how far the wall clock was set since the last call; negative: back.
func (w *watch) step() time.Duration { return w.moved(w.began.Elapsed()) }

// moved is step with the given elapsed times of both clocks.
func (w *watch) moved(wall, monotonic time.Duration) time.Duration {
	step := wall - monotonic - w.ahead
	if step.Abs() < clockStep {
		return 0
	}
	w.ahead += step
	return step
}

// watchClock compensates steps of the wall clock until the service stops. It has its own ticker,
// since cron is confused by steps.
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

// checkClock compensates a step of the wall clock, if there was one.
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
	if s.clockWatch.back > 0 { // includes a step that could not be stored last time
		if err := s.advance(ctx, s.clockWatch.back); err != nil {
			return err
		}
		s.clockWatch.back = 0
	} else if step == 0 {
		return nil
	}
	s.delivery.RetryRelays() // their open periods may be based on the old clock
	return errors.Join(s.noteClock(ctx), s.sweep(ctx))
}

// advance makes all retries due earlier by a duration. After a crash in between it is repeated:
// some retries are then due too early, which does no harm.
func (s *Service) advance(ctx context.Context, by time.Duration) error {
	if err := s.advanceUnits(ctx, by); err != nil {
		return fmt.Errorf("correct after a wrong clock: %w", err)
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
		return fmt.Errorf("correct after a wrong clock: %w", err)
	}
	return nil
}

// advanceUnits finds units outside of the writes that change them: of a long queue of scheduled
// mail it finds none.
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

// ResumeClock compensates a step back that happened since an earlier server.
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

// noteClock stores the current time for the next server.
func (s *Service) noteClock(ctx context.Context) error {
	err := s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		return tx.SetSetting(base.ClockSetting, strconv.AppendInt(nil, tx.Now.UnixMilli(), 10))
	})
	if err != nil {
		return fmt.Errorf("record the time: %w", err)
	}
	return nil
}
