package health

import (
	"context"
	"sync/atomic"
	"time"

	"mailer/app/base"
	"mailer/app/operate/backup"
	"mailer/app/operate/certificates"
	"mailer/app/sending/queue"
	"mailer/app/sending/relays"
	"mailer/app/tenants/domains"
	"mailer/db/engine"
)

// Service looks at a server from beside it.
type Service struct {
	*base.Base
	domains *domains.Service
	routing *relays.Service
	queue   *queue.Service
	backup  *backup.Service
	certs   *certificates.Service
	network Network
	target  Target
	rounds  *rounds
	alerts  *atomic.Pointer[Alerts]
	// stepTimeout bounds each kind of checks; 0: it takes what it takes.
	stepTimeout time.Duration
}

// New makes the service.
func New(base *base.Base, senders *domains.Service, relays *relays.Service, waits *queue.Service, copies *backup.Service, certs *certificates.Service) *Service {
	return &Service{Base: base, domains: senders, routing: relays, queue: waits, backup: copies, certs: certs, rounds: &rounds{}, alerts: &atomic.Pointer[Alerts]{}}
}

// WithTarget says where the database is that the service looks at, and how it reaches the world.
func (s *Service) WithTarget(p Target, n Network) *Service {
	out := *s
	out.target, out.network = p, n
	return &out
}

// Doctor looks at everything that can keep mail from leaving, beside a server or alone.
// Nothing is sent and nothing is changed.
func (s *Service) Doctor(ctx context.Context) ([]Check, error) {
	deep, err := s.deepChecks(ctx, true)
	if err != nil {
		return nil, err
	}
	return s.merge(ctx, deep)
}

// step is one kind of checks.
type step struct {
	name  string
	check func(context.Context) ([]Check, error)
}

// deepChecks makes the checks that ask others: relays, the DNS, the public address. dns: the records
// of domains too, which the server checks by itself four times an hour.
func (s *Service) deepChecks(ctx context.Context, dns bool) ([]Check, error) {
	steps := []step{{"clock", s.checkClock}, {"relays", s.askRelays}}
	if dns {
		steps = append(steps, step{"domains", s.askDomains})
	}
	found, err := s.each(ctx, steps)
	if err != nil {
		return nil, err
	}
	return append(append(append(Machine(s.target, nil), found...), s.checkBaseURL(ctx)...), s.checkBounces(ctx)...), nil
}

// knownChecks makes the checks of what the database and the server know.
func (s *Service) knownChecks(ctx context.Context) ([]Check, error) {
	return s.each(ctx, []step{{"readiness", s.checkReadiness}, {"disk", s.knownDisk}, {"capture", s.checkCapture}, {"relays", s.knownRelays},
		{"domains", s.knownDomains}, {"queue", s.knownQueue}, {"webhooks", s.checkWebhooks}, {"backups", s.checkBackups}, {"certificates", s.checkCertificates}})
}

// merge puts what is known now over what a round of deep checks came to.
func (s *Service) merge(ctx context.Context, deep []Check) ([]Check, error) {
	now, err := s.knownChecks(ctx)
	if err != nil {
		return nil, err
	}
	return named(s.target, merged(deep, now)), nil
}

// Findings are what is not well: of what is known now and, where a server runs, of its last
// round of checks.
func (s *Service) Findings(ctx context.Context) ([]Finding, error) {
	var deep []Check
	if s.target.Running {
		last, err := s.lastStored(ctx)
		if err != nil {
			return nil, err
		}
		deep = last.Checks
	}
	all, err := s.merge(ctx, deep)
	if err != nil {
		return nil, err
	}
	if !s.target.Running {
		all = append(all, bad("server", "server_stopped", "", "database", engine.Name(s.target.Database)))
	}
	return findings(all), nil
}

// each makes checks of several kinds.
func (s *Service) each(ctx context.Context, steps []step) (checks []Check, err error) {
	for _, step := range steps {
		found, err := s.bounded(ctx, step.name, step.check)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil: // the others are looked at all the same
			found = []Check{s.checkFailed(step.name, err)}
		}
		checks = append(checks, found...)
	}
	return checks, nil
}

// bounded makes checks within the time that they have. What takes longer is not well.
func (s *Service) bounded(ctx context.Context, name string, check func(context.Context) ([]Check, error)) ([]Check, error) {
	if s.stepTimeout == 0 {
		return check(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, s.stepTimeout)
	defer cancel()
	found, err := check(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return []Check{bad(name, "check_slow", name, "check", name, "span", s.stepTimeout.String())}, nil
	}
	return found, err
}
