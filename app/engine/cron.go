package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"mailer/app"
	"mailer/app/pacing"
	"mailer/db"
)

// purgeChunk is how many rows one cleaning transaction removes at most.
const purgeChunk = 1000

// startCron sets the pacemaker going. Every job is idempotent and derived from
// the database; a missed tick costs a delay and nothing else.
func (e *Engine) startCron() error {
	e.cron = cron.New(cron.WithLocation(time.UTC), cron.WithChain(cron.Recover(cronLog{e}), cron.SkipIfStillRunning(cronLog{e})))
	for _, job := range []struct {
		spec string
		run  func(context.Context) error
	}{
		{"@every " + ratesEvery.String(), e.judge},
		{"@every " + keysFlushEvery.String(), e.flushKeys},
		{"@every 1m", e.noteClock},
		{"@every 1m", e.sweepSeldom},
		{"@every 1m", e.checkDue},
		{"@every 5m", e.clean},
		{"@every 1h", e.purge},
	} {
		if _, err := e.cron.AddFunc(job.spec, func() {
			if err := job.run(e.taking); err != nil && e.taking.Err() == nil {
				e.log.Error("cron job", "every", job.spec, "err", err)
			}
		}); err != nil {
			return fmt.Errorf("set cron job %s: %w", job.spec, err)
		}
	}
	e.cron.Start()
	e.workers.Go(e.watchClock)
	return errors.Join(e.unlessFull(e.sweep(e.taking)), e.unlessFull(e.checkDue(e.taking)))
}

// rewindCron has cron reckon by the wall clock as it is now: it holds the next time
// of each job by the wall clock, and would stand still until a clock that was put back
// has come there.
func (e *Engine) rewindCron() {
	e.pacing.Lock()
	defer e.pacing.Unlock()
	if e.draining.Load() {
		return
	}
	e.cron.Stop()
	e.cron.Start()
}

// stopCron ends the pacemaker and waits for what runs.
func (e *Engine) stopCron() {
	e.pacing.Lock()
	ended := e.cron.Stop()
	e.pacing.Unlock()
	<-ended.Done()
}

// sweepAnyway is how many minutes pass without a sweep where no other process
// changed the database: this one wakes its workers itself.
const sweepAnyway = 5

// swept is what sweepSeldom did last; cron runs it once at a time.
type swept struct {
	foreign int64 // changes of other processes that were swept up
	minutes int   // since then
}

// sweepSeldom is the job of each minute: a sweep where another process changed the
// database or the last sweep failed, and now and then in any case. Erasures that
// failed are tried again each time.
func (e *Engine) sweepSeldom(ctx context.Context) error {
	foreign, err := e.db.Foreign(ctx)
	if err != nil {
		return err
	}
	e.swept.minutes++
	if foreign == e.swept.foreign && e.swept.minutes < sweepAnyway {
		return e.sweepErasures(ctx)
	}
	if err := e.sweep(ctx); err != nil {
		return err
	}
	e.swept = swept{foreign: foreign}
	return nil
}

// sweep finds what a wake-up could miss.
func (e *Engine) sweep(ctx context.Context) error {
	if err := e.adopt(ctx); err != nil {
		return err
	}
	e.wakeLanes()
	e.wakeBroadcaster()
	e.wakeWebhooks()
	return e.sweepErasures(ctx)
}

// purge removes what is out of date, in small transactions.
func (e *Engine) purge(ctx context.Context) error {
	err := e.inPieces(ctx, "old answers", func(tx *db.Tx) (bool, error) {
		if err := tx.PurgeUsage(tx.Now.Unix()/60 - pacing.DayMinutes); err != nil {
			return false, err
		}
		n, err := tx.PurgeAnswers(tx.Now.Add(-idempotencyTTL), purgeChunk)
		return n == purgeChunk, err
	})
	if err != nil {
		return err
	}
	err = e.inPieces(ctx, "old happenings", func(tx *db.Tx) (bool, error) {
		return tx.PurgeWebhookEvents(tx.Now.Add(-app.WebhookEventsKept), purgeChunk)
	})
	if err != nil {
		return err
	}
	return errors.Join(e.purgeDeliveries(ctx), e.purgeFeedback(ctx), e.purgeOutcomes(ctx))
}

// clean removes what belonged to deleted topics, segments and webhooks.
func (e *Engine) clean(ctx context.Context) error {
	return e.inPieces(ctx, "leftovers", func(tx *db.Tx) (bool, error) { return tx.PurgeLeftovers(purgeChunk) })
}

// inPieces repeats a small Write until it says that there is no more to remove:
// nobody waits long behind one of them.
func (e *Engine) inPieces(ctx context.Context, what string, remove func(*db.Tx) (more bool, err error)) error {
	for more := true; more; {
		err := e.db.Write(ctx, func(tx *db.Tx) (err error) {
			more, err = remove(tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("remove %s: %w", what, err)
		}
	}
	return nil
}

// cronLog gives cron's own messages to our log.
type cronLog struct{ e *Engine }

func (l cronLog) Info(msg string, kv ...any) { l.e.log.Debug("cron: "+msg, kv...) }

func (l cronLog) Error(err error, msg string, kv ...any) {
	l.e.log.Error("cron: "+msg, append(kv, "err", err)...)
}
