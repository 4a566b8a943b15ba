package health

import (
	"context"
	"fmt"
	"time"

	"mailer/app/backup"
	"mailer/app/certificates"
	"mailer/app/domains"
	"mailer/app/queue"
	"mailer/app/routing"
	"mailer/app/service"
)

// Service looks at a server from beside it.
type Service struct {
	*service.Base
	domains *domains.Service
	routing *routing.Service
	queue   *queue.Service
	backup  *backup.Service
	certs   *certificates.Service
	network Network
	place   Place
	rounds  *rounds
	// patience bounds each kind of checks; 0: it takes what it takes.
	patience time.Duration
}

// New makes the service.
func New(base *service.Base, senders *domains.Service, relays *routing.Service, waits *queue.Service, copies *backup.Service, certs *certificates.Service) *Service {
	return &Service{Base: base, domains: senders, routing: relays, queue: waits, backup: copies, certs: certs, rounds: &rounds{}}
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
	checks := Machine(s.place, nil)
	for _, step := range []struct {
		name  string
		check func(context.Context) ([]Check, error)
	}{
		{"clock", s.checkClock}, {"readiness", s.checkReadiness}, {"capture", s.checkCapture}, {"relays", s.checkRelays}, {"domains", s.checkDomains},
		{"queue", s.checkWaiting}, {"webhooks", s.checkWebhooks}, {"backups", s.checkBackups}, {"certificates", s.checkCertificates},
	} {
		found, err := s.bounded(ctx, step.name, step.check)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil: // the others are looked at all the same
			found = []Check{s.unseen(step.name, err)}
		}
		checks = append(checks, found...)
	}
	return append(append(checks, s.checkBaseURL(ctx)...), s.checkBounces(ctx)...), nil
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
		return []Check{bad(name, fmt.Sprintf("could not be checked within %s", s.patience), "run mailer doctor, which waits longer")}, nil
	}
	return found, err
}
