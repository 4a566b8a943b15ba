package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"mailer/app/base"
	"mailer/app/rules/pacing"
	"mailer/app/rules/webhook"
	"mailer/app/sending/delivery"
	"mailer/app/sending/guardrails"
	"mailer/app/sending/mail"
	"mailer/app/tenants/teams"
	"mailer/db"
)

// cronJob is done again and again. It is idempotent and derived from the database: a
// missed tick costs a delay and nothing else.
type cronJob struct {
	every time.Duration
	what  string
	run   func(context.Context) error
}

// allJobs are all that cron does.
func (s *Service) allJobs() []cronJob {
	return []cronJob{
		{guardrails.Every, "judge the rates of teams and regions", s.delivery.Guardrails.Judge},
		{time.Second, "delete what deleted teams have", s.teams.RemoveDeleted},
		{teams.KeysFlushEvery, "store when keys were used last", s.teams.FlushKeys},
		{10 * time.Second, "tell webhooks of choices that were held back", s.audience.Pages.TellChoices},
		{time.Minute, "note the time for the next server", s.noteClock},
		{time.Minute, "sweep up what a wake-up missed", s.sweepSeldom},
		{time.Minute, "check domains in the DNS", s.domains.CheckDue},
		{time.Minute, "look for mail that no relay is there for", s.delivery.TellStranded},
		{time.Minute, "put recipients of new mail into their index", s.mail.Search.IndexRecipients},
		{time.Minute, "store when reports came in", s.reports.KeepDoors},
		{delivery.ExpireEvery, "end mail that has expired", s.delivery.ExpireMail},
		{5 * time.Minute, "remove what belonged to deleted topics, segments and webhooks", s.audience.Clean},
		{time.Minute, "delete mail that is older than what is kept", s.retention.Run},
		{time.Hour, "remove what is out of date", s.Purge},
		{10 * time.Minute, "end sessions and links that have expired", s.people.Purge},
		{time.Minute, "hand back the memory that work took", s.shrink},
	}
}

// StartCron sets the pacemaker going, and does at once what a new server must not
// wait for.
func (s *Service) StartCron() error {
	s.cron = cron.New(cron.WithLocation(time.UTC), cron.WithChain(cron.Recover(cronLog{s}), cron.SkipIfStillRunning(cronLog{s})))
	for _, job := range s.jobs {
		spec := "@every " + max(job.every, s.PollEvery).String()
		if _, err := s.cron.AddFunc(spec, func() {
			if err := job.run(s.Taking); err != nil && s.Taking.Err() == nil {
				s.LogUnlessHindered("cron job", err, "job", job.what, "every", spec)
			}
		}); err != nil {
			return fmt.Errorf("set cron job %s: %w", job.what, err)
		}
	}
	s.cron.Start()
	s.Workers.Go(s.watchClock)
	return errors.Join(s.UnlessFull(s.sweep(s.Taking)), s.UnlessFull(s.delivery.TellStranded(s.Taking)), s.UnlessFull(s.domains.CheckDue(s.Taking)))
}

// rewindCron has cron reckon by the wall clock as it is now: it holds the next time
// of each job by the wall clock, and would stand still until a clock that was put back
// has come there.
func (s *Service) rewindCron() {
	s.pacing.Lock()
	defer s.pacing.Unlock()
	if s.Draining() {
		return
	}
	s.cron.Stop()
	s.cron.Start()
}

// StopCron ends the pacemaker, if it was started, and waits until the jobs that run have ended,
// or ctx has. Jobs end with Taking, so the caller ends that first.
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

// swept is what sweepSeldom did last; cron runs it once at a time.
type swept struct {
	foreign int64 // changes of other processes that were swept up
	minutes int   // since then
}

// sweepSeldom is the job of each minute: a sweep where another process changed the
// database or the last sweep failed, and now and then in any case. Erasures that
// failed are tried again each time.
func (s *Service) sweepSeldom(ctx context.Context) error {
	foreign, err := s.DB.Foreign(ctx)
	if err != nil {
		return err
	}
	s.swept.minutes++
	if foreign == s.swept.foreign && s.swept.minutes < base.SweepAnyway {
		return s.sweepErasures(ctx)
	}
	if err := s.sweep(ctx); err != nil {
		return err
	}
	s.swept = swept{foreign: foreign}
	return nil
}

// StandAside has the background's work be that of another server, until it is started here.
func (s *Service) StandAside() { s.eraser.aside.Store(true) }

// DoAside is what a server does every minute that stands aside.
func (s *Service) DoAside(ctx context.Context) error {
	return errors.Join(s.reports.KeepDoors(ctx), s.shrink(ctx))
}

// Hear has what another server wrote be worked on: who hears of events there is in memory, and
// read again by the first Write.
func (s *Service) Hear(ctx context.Context) error {
	s.broadcasts.WakeBroadcaster()
	s.audience.Imports.Wake()
	err := s.DB.Write(ctx, func(tx *db.Tx) error { return tx.LookElsewhere() })
	s.events.WakeWebhooks()
	return errors.Join(err, s.sweepErasures(ctx))
}

// shrink is the job that has memory handed back where work is over.
func (s *Service) shrink(ctx context.Context) error {
	if s.handBack == nil || !s.work.Over() {
		return nil
	}
	err := s.DB.FreePages(ctx)
	s.handBack()
	return err
}

// sweep finds what a wake-up could miss.
func (s *Service) sweep(ctx context.Context) error {
	s.delivery.WakeLanes()
	s.broadcasts.WakeBroadcaster()
	s.events.WakeWebhooks()
	return s.sweepErasures(ctx)
}

// Purge removes what is out of date, in small transactions.
func (s *Service) Purge(ctx context.Context) error {
	err := s.InPieces(ctx, "old answers", func(tx *db.Tx) (bool, error) {
		if err := tx.PurgeUsage(tx.Now.Unix()/60 - pacing.DayMinutes); err != nil {
			return false, err
		}
		n, err := tx.PurgeAnswers(tx.Now.Add(-mail.IdempotencyTTL), base.PurgeChunk)
		return n == base.PurgeChunk, err
	})
	if err != nil {
		return err
	}
	err = s.InPieces(ctx, "old webhook events", func(tx *db.Tx) (bool, error) {
		return tx.PurgeWebhookEvents(tx.Now.Add(-webhook.EventsKept), base.PurgeChunk)
	})
	if err != nil {
		return err
	}
	err = s.InPieces(ctx, "old versions", func(tx *db.Tx) (bool, error) {
		return tx.PurgeVersions(tx.Now.Add(-base.VersionsKept), base.PurgeChunk)
	})
	if err != nil {
		return err
	}
	return errors.Join(s.events.PurgeDeliveries(ctx), s.reports.PurgeFeedback(ctx), s.delivery.PurgeOutcomes(ctx),
		s.audience.Imports.PurgeImports(ctx), s.retention.PurgeRecords(ctx), s.purgeRequestLog(ctx))
}

// purgeRequestLog removes requests of all teams that are too old, and records of those
// that were refused since all recipients were suppressed.
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

// cronLog writes cron's own messages to our log.
type cronLog struct{ s *Service }

func (l cronLog) Info(msg string, kv ...any) { l.s.Log.Debug("cron: "+msg, kv...) }

func (l cronLog) Error(err error, msg string, kv ...any) {
	l.s.Log.Error("cron: "+msg, append(kv, "err", err)...)
}
