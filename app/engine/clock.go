package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"mailer/db"
)

const (
	// clockSetting is the name of the latest wall clock that a server saw, in Unix
	// milliseconds.
	clockSetting = "clock"
	// clockEvery is how often the wall clock is compared with the monotonic one.
	clockEvery = 10 * time.Second
	// clockStep is the least that counts as a step of the wall clock; what is less
	// delays nothing worth the trouble.
	clockStep = 10 * time.Second
)

// clock notices that the wall clock was moved: by NTP, by an operator, or since the
// machine was paused. What is to be tried again has its time in the database by the
// wall clock. Put forward, it is due sooner, which does no harm; put back, it would
// wait for as long as the clock was wrong.
type clock struct {
	began time.Time     // holds the monotonic clock
	ahead time.Duration // how far the wall clock is ahead of began by the monotonic one
	back  time.Duration // that it was put back and nobody has made good yet
}

func newClock() *clock { return &clock{began: time.Now()} }

// step says how far the wall clock was moved since the last call; negative: back.
func (c *clock) step(now time.Time) time.Duration {
	return c.moved(now.Round(0).Sub(c.began.Round(0)), now.Sub(c.began))
}

// moved is step by what passed since began on either clock.
func (c *clock) moved(wall, monotonic time.Duration) time.Duration {
	step := wall - monotonic - c.ahead
	if step.Abs() < clockStep {
		return 0
	}
	c.ahead += step
	return step
}

// watchClock makes steps of the wall clock good until the engine stops. It has a
// ticker of its own: cron is one of those that a step confuses.
func (e *Engine) watchClock() {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-e.taking.Done():
			return
		}
		if err := e.checkClock(e.taking, time.Now()); err != nil && e.taking.Err() == nil {
			e.log.Error("make a step of the clock good", "err", err)
		}
	}
}

// checkClock makes a step of the wall clock good, if there was one.
func (e *Engine) checkClock(ctx context.Context, now time.Time) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	step := e.clock.step(now)
	if step != 0 {
		e.log.Warn("the wall clock was moved", "by", step)
		e.clock.back = max(0, e.clock.back-step)
		e.rewindCron()
	}
	if step < 0 {
		e.putBackLanes(now, -step)
	}
	if e.clock.back > 0 { // also what could not be written the last time
		if err := e.advance(ctx, e.clock.back); err != nil {
			return err
		}
		e.clock.back = 0
	} else if step == 0 {
		return nil
	}
	e.reopenLanes() // their pauses may have been for the old clock
	return errors.Join(e.noteClock(ctx), e.sweep(ctx))
}

// advance has everything that is to be tried again tried earlier. A crash in the
// middle has it done once more: then some is tried too early, and no harm is done.
func (e *Engine) advance(ctx context.Context, by time.Duration) error {
	if err := e.advanceUnits(ctx, by); err != nil {
		return fmt.Errorf("make a wrong clock good: %w", err)
	}
	err := e.db.Write(ctx, func(tx *db.Tx) error {
		if err := e.advanceUsage(tx, by); err != nil {
			return err
		}
		if err := e.advanceDeliveries(tx, by); err != nil {
			return err
		}
		return tx.AdvanceDomainChecks(by)
	})
	if err != nil {
		return fmt.Errorf("make a wrong clock good: %w", err)
	}
	return nil
}

// advanceUnits looks for units apart from the writes that move them: of a long queue
// that is scheduled it finds none.
func (e *Engine) advanceUnits(ctx context.Context, by time.Duration) error {
	for after := ""; ; {
		var late []string
		err := e.db.Read(ctx, func(r *db.Reader) (err error) {
			late, err = r.LateUnits(after, time.Now(), purgeChunk)
			return err
		})
		if err != nil || len(late) == 0 {
			return err
		}
		err = e.db.WritePatient(ctx, func(tx *db.Tx) error {
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

// resumeClock makes good that the clock was put back since an earlier server.
func (e *Engine) resumeClock(ctx context.Context) error {
	var noted []byte
	err := e.db.Read(ctx, func(r *db.Reader) (err error) {
		noted, err = r.Setting(clockSetting)
		return err
	})
	if errors.Is(err, db.ErrNotFound) {
		return e.unlessFull(e.noteClock(ctx))
	}
	if err != nil {
		return fmt.Errorf("read the last time: %w", err)
	}
	ms, err := strconv.ParseInt(string(noted), 10, 64)
	if err != nil {
		return fmt.Errorf("read the last time: %w", err)
	}
	if back := time.Until(time.UnixMilli(ms)); back >= clockStep {
		e.log.Warn("the wall clock was put back since the last server", "by", back)
		if err := e.advance(ctx, back); errors.Is(err, db.ErrFull) {
			e.clock.back = back // for the watch
		} else if err != nil {
			return err
		}
	}
	return e.unlessFull(e.noteClock(ctx))
}

// noteClock leaves the time for the next server.
func (e *Engine) noteClock(ctx context.Context) error {
	err := e.db.WritePatient(ctx, func(tx *db.Tx) error {
		return tx.SetSetting(clockSetting, strconv.AppendInt(nil, tx.Now.UnixMilli(), 10))
	})
	if err != nil {
		return fmt.Errorf("note the time: %w", err)
	}
	return nil
}
