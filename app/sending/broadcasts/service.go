// Package broadcasts is one content to many people: drafts, whom they reach, the
// plan of their sending, the worker that writes their recipients down, and their
// figures. upkeep may import it.
//
// Failure policy: the cursor of a broadcast moves in the transaction that writes
// its recipients down, so a crash repeats and loses nobody.
package broadcasts

import (
	"mailer/app/base"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/teams"
)

// Service is broadcasts from draft to figures.
type Service struct {
	*base.Base
	teams       *teams.Service
	audience    *audience.Service
	mail        *mail.Service
	delivery    *delivery.Service
	broadcaster *broadcaster

	Reviews *Reviews
}

// New makes the service.
func New(base *base.Base, teamService *teams.Service, audienceService *audience.Service, mailService *mail.Service, deliveryService *delivery.Service) *Service {
	s := &Service{Base: base, teams: teamService, audience: audienceService, mail: mailService, delivery: deliveryService, broadcaster: newBroadcaster()}
	s.Reviews = &Reviews{s}
	return s
}

// Start sets the worker going.
func (s *Service) Start() { s.Workers.Go(s.broadcast) }
