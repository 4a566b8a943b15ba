package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/clock"
	"mailer/app/rules/webhook"
	"mailer/app/tenants/audience"
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
// harm. After a step back they may be later than any retry can be: clampTimes corrects these.
type watch struct {
	began   clock.Mark
	ahead   time.Duration // offset of the wall clock since began, compared with the monotonic clock
	unsaved bool          // clampTimes is to be repeated: the disk was full
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
	if step == 0 && !s.clockWatch.unsaved {
		return nil
	}
	if step != 0 {
		s.Log.Warn("the wall clock was moved", "by", step)
		s.rewindCron()
		s.automations.ClockMoved()
	}
	if step < 0 {
		s.delivery.ClockMovedBack(clock.Now())
	}
	if err := s.clampTimes(ctx); err != nil {
		return err
	}
	s.delivery.RetryRelays() // their open periods may be based on the old clock
	return errors.Join(s.noteClock(ctx), s.sweep(ctx))
}

// clampTimes corrects times that a clock that was ahead left in the database: no retry is later
// than the longest delay from now. It changes nothing if the clock was always right.
func (s *Service) clampTimes(ctx context.Context) error {
	s.clockWatch.unsaved = true
	err := s.DB.WriteBatched(ctx, func(tx *db.Tx) error {
		retries, err := tx.ClampTimes(db.LatestTimes{Retry: tx.Now.Add(s.delivery.MaxRetryDelay()), Delivery: tx.Now.Add(webhook.MaxDelay),
			DomainCheck: tx.Now.Add(app.RecheckEvery), ChoiceEvents: tx.Now.Add(audience.ChoiceEventInterval)})
		if retries > 0 {
			tx.AfterCommit(func() { s.Log.Warn("the wall clock was ahead: retries of mail were too late", "count", retries) })
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("correct after a wrong clock: %w", err)
	}
	s.clockWatch.unsaved = false
	return nil
}

// ResumeClock corrects what earlier servers left whose clock was ahead.
func (s *Service) ResumeClock(ctx context.Context) error {
	return errors.Join(s.IgnoreFull(s.clampTimes(ctx)), s.IgnoreFull(s.noteClock(ctx)))
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
