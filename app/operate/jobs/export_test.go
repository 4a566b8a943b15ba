package jobs

import (
	"context"
	"time"

	"mailer/app/tenants/audience"
)

// Unexported functions for the external tests.

var NewClock = newWatch

func (w *watch) Moved(wall, monotonic time.Duration) time.Duration { return w.moved(wall, monotonic) }

func (w *watch) SetAhead(by time.Duration) { w.ahead = by }

func (s *Service) CheckClock(ctx context.Context) error { return s.checkClock(ctx) }

func (s *Service) Clock() *watch { return s.clockWatch }

func (s *Service) EraseOpen(ctx context.Context) error { return s.runErasures(ctx) }

func (s *Service) RewindCron() { s.rewindCron() }

func (s *Service) WithdrawErased(ctx context.Context, teamID string, job audience.Erasure) error {
	return s.withdrawErased(ctx, teamID, job)
}

// HoldJobs replaces each cron job by one that calls began and waits for its context.
func (s *Service) HoldJobs(began func(what string)) (all []string) {
	for i := range s.jobs {
		what := s.jobs[i].what
		all = append(all, what)
		s.jobs[i].run = func(ctx context.Context) error {
			began(what)
			<-ctx.Done()
			return ctx.Err()
		}
	}
	return all
}
