package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/robfig/cron/v3"

	"mailer/app/base"
	"mailer/app/operate/health"
	"mailer/app/rules/pacing"
	"mailer/app/rules/webhook"
	"mailer/app/sending/archive"
	"mailer/app/sending/automations"
	"mailer/app/sending/delivery"
	"mailer/app/sending/feeds"
	"mailer/app/sending/guardrails"
	"mailer/app/sending/mail"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// cronJob is a periodic job. It is idempotent and derived from the database: a missed run only
// causes a delay.
type cronJob struct {
	every time.Duration
	what  string
	run   func(context.Context) error
}

// allJobs returns all cron jobs.
func (s *Service) allJobs() []cronJob {
	return []cronJob{
		{guardrails.Every, "judge the rates of teams and regions", s.delivery.Guardrails.Judge},
		{teams.KeysFlushEvery, "store when keys were used last", s.teams.FlushKeys},
		{10 * time.Second, "tell webhooks of choices that were held back", s.audience.Pages.AnnounceHeldChoices},
		{archive.Every, "put broadcasts into the archives of their topics", s.archive.MakeIssues},
		{feeds.Every, "make broadcasts of feeds", s.feeds.Run},
		{automations.Every, "start automations by date and schedule", s.automations.RunDue},
		{time.Minute, "note the time for the next server", s.noteClock},
		{time.Minute, "sweep up what a wake-up missed", s.sweepIfChanged},
		{time.Minute, "check domains in the DNS", s.domains.CheckDue},
		{time.Minute, "check own hosts for pages in the DNS", s.pageHosts.CheckDue},
		{time.Minute, "look for mail that no relay is there for", s.delivery.ReportUnroutable},
		{time.Minute, "put recipients of new mail into their index", s.mail.Search.IndexRecipients},
		{time.Minute, "store when reports came in", s.reports.StoreUses},
		{delivery.ExpireEvery, "end mail that has expired", s.delivery.ExpireMail},
		{5 * time.Minute, "remove what belonged to deleted topics, segments and webhooks", s.audience.PurgeLeftovers},
		{time.Minute, "delete mail that is older than what is kept", s.retention.Run},
		{time.Minute, "delete what belonged to deleted automations", s.retention.DropAutomations},
		{time.Minute, "end opt-ins that have expired", s.signUp.Expire},
		{health.BlockListsEvery, "ask block lists about the addresses that mail leaves from", s.health.CheckBlockLists},
		{time.Hour, "remove what is out of date", s.Purge},
		{10 * time.Minute, "end sessions and links that have expired", s.accounts.Purge},
	}
}

// StartCron starts the cron jobs and first runs those that a new server must not delay.
func (s *Service) StartCron() error {
	s.cron = cron.New(cron.WithLocation(time.UTC), cron.WithChain(cron.Recover(cronLog{s}), cron.SkipIfStillRunning(cronLog{s})))
	for _, job := range s.jobs {
		spec := "@every " + max(job.every, s.PollEvery).String()
		if _, err := s.cron.AddFunc(spec, func() {
			if err := job.run(s.Claiming); err != nil && s.Claiming.Err() == nil {
				s.LogUnlessUnavailable("cron job", err, "job", job.what, "every", spec)
			}
		}); err != nil {
			return fmt.Errorf("set cron job %s: %w", job.what, err)
		}
	}
	s.cron.Start()
	s.Workers.Go(s.watchClock)
	s.Workers.Go(s.purgeTeams)
	return errors.Join(s.IgnoreFull(s.sweep(s.Claiming)), s.IgnoreFull(s.delivery.ReportUnroutable(s.Claiming)), s.IgnoreFull(s.domains.CheckDue(s.Claiming)))
}

// rewindCron makes cron compute its next runs from the current wall clock. It stores them as wall
// times and would wait for them after the clock was set back.
func (s *Service) rewindCron() {
	s.pacing.Lock()
	defer s.pacing.Unlock()
	if s.Draining() {
		return
	}
	s.cron.Stop()
	s.cron.Start()
}

// StopCron stops cron, if it was started, and waits until running jobs have ended or ctx is done.
// Jobs end when Taking is done, so the caller cancels it first.
func (s *Service) StopCron(ctx context.Context) {
	if s.cron == nil {
		return
	}
	s.pacing.Lock()
	ended := s.cron.Stop()
	s.pacing.Unlock()
	select {
	case <-ended.Done():
	case <-ctx.Done():
		s.Log.Warn("a cron job still runs, and is left")
	}
}

// DatabaseChanged wakes the jobs that a change of the database, by this process or another, can
// give work. It never blocks.
func (s *Service) DatabaseChanged() { s.changed.Notify() }

// purgeTeams deletes the data of deleted teams, after each change of the database and once a
// minute, until the service stops.
func (s *Service) purgeTeams() {
	for {
		left, err := s.purgeDeleted(s.Claiming)
		if err != nil && s.Claiming.Err() == nil {
			s.LogUnlessUnavailable("delete the data of deleted teams", err)
		}
		next := time.Minute
		if left || err != nil {
			next = s.PollEvery
		}
		if !base.Sleep(s.Claiming, next, s.changed) {
			return
		}
	}
}

func (s *Service) purgeDeleted(ctx context.Context) (left bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return s.teams.PurgeDeleted(ctx)
}

// lastSweep records the last run of sweepIfChanged. cron runs the job once at a time.
type lastSweep struct {
	changes int64 // changes of other processes at the last sweep
	minutes int   // minutes since the last sweep
}

// sweepIfChanged is a job of each minute. It sweeps if another process changed the database or the
// last sweep failed, and from time to time in any case. It retries failed erasures each time.
func (s *Service) sweepIfChanged(ctx context.Context) error {
	foreign, err := s.DB.ExternalVersion(ctx)
	if err != nil {
		return err
	}
	s.lastSweep.minutes++
	if foreign == s.lastSweep.changes && s.lastSweep.minutes < base.IdleSweepMinutes {
		return s.sweepErasures(ctx)
	}
	if err := s.sweep(ctx); err != nil {
		return err
	}
	s.lastSweep = lastSweep{changes: foreign}
	return nil
}

// FollowLeader leaves background work to another server until it is started here.
func (s *Service) FollowLeader() { s.eraser.follower.Store(true) }

// FollowerTasks does the work that a server without the lead does every minute.
func (s *Service) FollowerTasks(ctx context.Context) error {
	return s.reports.StoreUses(ctx)
}

// ReloadChanges makes the services process changes by another server. Subscriptions are cached,
// and the first write reads them again.
func (s *Service) ReloadChanges(ctx context.Context) error {
	s.broadcasts.WakeBroadcaster()
	s.audience.Imports.Wake()
	err := s.DB.Write(ctx, func(*db.Tx) error { return nil })
	s.events.WakeWebhooks()
	return errors.Join(err, s.sweepErasures(ctx))
}

// sweep finds work whose wake-up signal was missed.
func (s *Service) sweep(ctx context.Context) error {
	s.delivery.WakeQueues()
	s.broadcasts.WakeBroadcaster()
	s.events.WakeWebhooks()
	return s.sweepErasures(ctx)
}

// Purge removes expired data in small transactions.
func (s *Service) Purge(ctx context.Context) error {
	err := s.InChunks(ctx, "old answers", func(tx *db.Tx) (bool, error) {
		if err := tx.PurgeUsage(tx.Now.Unix()/60 - pacing.DayMinutes); err != nil {
			return false, err
		}
		n, err := tx.PurgeAnswers(tx.Now.Add(-mail.IdempotencyTTL), base.PurgeChunk)
		return n == base.PurgeChunk, err
	})
	if err != nil {
		return err
	}
	err = s.InChunks(ctx, "old webhook events", func(tx *db.Tx) (bool, error) {
		return tx.PurgeWebhookEvents(tx.Now.Add(-webhook.EventRetention), base.PurgeChunk)
	})
	if err != nil {
		return err
	}
	err = s.InChunks(ctx, "old versions", func(tx *db.Tx) (bool, error) {
		return tx.PurgeVersions(tx.Now.Add(-base.VersionRetention), base.PurgeChunk)
	})
	if err != nil {
		return err
	}
	return errors.Join(s.events.PurgeDeliveries(ctx), s.reports.PurgeFeedback(ctx), s.delivery.PurgeCounts(ctx),
		s.audience.Imports.PurgeImports(ctx), s.images.DeleteUnused(ctx), s.retention.PurgeRecords(ctx), s.purgeRequestLog(ctx), s.signUp.Purge(ctx), s.mailRoutes.Purge(ctx))
}

// purgeRequestLog removes expired requests of all teams, and expired records of sends that were
// refused because all recipients were suppressed.
func (s *Service) purgeRequestLog(ctx context.Context) error {
	teams, err := s.teams.ListTeams(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(teams))
	for i := range teams {
		ids[i] = teams[i].ID
	}
	return errors.Join(s.requestLog.Purge(ctx, ids), s.mail.Unsent.Purge(ctx, ids))
}

// cronLog writes cron's messages to the server's log.
type cronLog struct{ s *Service }

func (l cronLog) Info(msg string, kv ...any) { l.s.Log.Debug("cron: "+msg, kv...) }

func (l cronLog) Error(err error, msg string, kv ...any) {
	l.s.Log.Error("cron: "+msg, append(kv, "err", err)...)
}
