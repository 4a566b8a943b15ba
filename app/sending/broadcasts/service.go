// Package broadcasts implements broadcasts, one content to many contacts: drafts, audiences,
// forecasts, the worker that expands audiences into recipients, and statistics. jobs may import it.
//
// Failure policy: the cursor of an expansion is stored in the transaction that stores the
// recipients, so a crash repeats and loses no recipient.
package broadcasts

import (
	"mailer/app/base"
	"mailer/app/sending/delivery"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/teams"
)

// Service implements broadcasts from draft to statistics.
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

// Start starts the broadcaster.
func (s *Service) Start() { s.Workers.Go(s.broadcast) }
