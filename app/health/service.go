package health

import (
	"context"

	"mailer/app/backup"
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
	network Network
	place   Place
}

// New makes the service.
func New(base *service.Base, senders *domains.Service, relays *routing.Service, waits *queue.Service, copies *backup.Service) *Service {
	return &Service{Base: base, domains: senders, routing: relays, queue: waits, backup: copies}
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
	for _, step := range []func(context.Context) ([]Check, error){s.checkClock, s.checkCapture, s.checkRelays, s.checkDomains, s.checkWaiting, s.checkWebhooks, s.checkBackups} {
		found, err := step(ctx)
		if err != nil {
			return nil, err
		}
		checks = append(checks, found...)
	}
	return append(append(checks, s.checkBaseURL(ctx)...), s.checkBounces(ctx)...), nil
}
