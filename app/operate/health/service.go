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
	place   Place
	rounds  *rounds
	alerts  *atomic.Pointer[Alerts]
	// patience bounds each kind of checks; 0: it takes what it takes.
	patience time.Duration
}

// New makes the service.
func New(base *base.Base, senders *domains.Service, relays *relays.Service, waits *queue.Service, copies *backup.Service, certs *certificates.Service) *Service {
	return &Service{Base: base, domains: senders, routing: relays, queue: waits, backup: copies, certs: certs, rounds: &rounds{}, alerts: &atomic.Pointer[Alerts]{}}
}

// At says where the database is that the service looks at, and how it reaches the world.
func (s *Service) At(p Place, n Network) *Service {
	out := *s
	out.place, out.network = p, n
	return &out
}

// Doctor looks at everything that can keep mail from leaving, beside a server or alone.
// Nothing is sent and nothing is changed.
func (s *Service) Doctor(ctx context.Context) ([]Check, error) {
	deep, err := s.deep(ctx, true)
	if err != nil {
		return nil, err
	}
	return s.over(ctx, deep)
}

// step is one kind of checks.
type step struct {
	name  string
	check func(context.Context) ([]Check, error)
}

// deep makes the checks that ask others: relays, the DNS, the public address. dns: the records
// of domains too, which the server checks by itself four times an hour.
func (s *Service) deep(ctx context.Context, dns bool) ([]Check, error) {
	steps := []step{{"clock", s.checkClock}, {"relays", s.askRelays}}
	if dns {
		steps = append(steps, step{"domains", s.askDomains})
	}
	found, err := s.each(ctx, steps)
	if err != nil {
		return nil, err
	}
	return append(append(append(Machine(s.place, nil), found...), s.checkBaseURL(ctx)...), s.checkBounces(ctx)...), nil
}

// known makes the checks of what the database and the server know.
func (s *Service) known(ctx context.Context) ([]Check, error) {
	return s.each(ctx, []step{{"readiness", s.checkReadiness}, {"disk", s.knownDisk}, {"capture", s.checkCapture}, {"relays", s.knownRelays},
		{"domains", s.knownDomains}, {"queue", s.knownQueue}, {"webhooks", s.checkWebhooks}, {"backups", s.checkBackups}, {"certificates", s.checkCertificates}})
}

// over puts what is known now over what a round of deep checks came to.
func (s *Service) over(ctx context.Context, deep []Check) ([]Check, error) {
	now, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	return named(s.place, merged(deep, now)), nil
}

// Findings are what is not well: of what is known now and, where a server runs, of its last
// round of checks.
func (s *Service) Findings(ctx context.Context) ([]Finding, error) {
	var deep []Check
	if s.place.Running {
		last, err := s.lastStored(ctx)
		if err != nil {
			return nil, err
		}
		deep = last.Checks
	}
	all, err := s.over(ctx, deep)
	if err != nil {
		return nil, err
	}
	if !s.place.Running {
		all = append(all, bad("server", "server_stopped", "", "database", engine.Name(s.place.Database)))
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
			found = []Check{s.unseen(step.name, err)}
		}
		checks = append(checks, found...)
	}
	return checks, nil
}

// bounded makes checks within the time that they have. What takes longer is not well.
func (s *Service) bounded(ctx context.Context, name string, check func(context.Context) ([]Check, error)) ([]Check, error) {
	if s.patience == 0 {
		return check(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	found, err := check(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return []Check{bad(name, "check_slow", name, "check", name, "span", s.patience.String())}, nil
	}
	return found, err
}
