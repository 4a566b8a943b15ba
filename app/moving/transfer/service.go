// Package transfer moves a team in from an archive, and out into one. The commands and
// what wires the services may import it.
//
// Failure policy: opt-outs and suppressions are on disk before the first contact who could
// get mail; nobody is subscribed again; what was done stays when it is cut off, and done
// again changes nothing. Nothing that comes in is ever sent by itself.
package transfer

import (
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Service moves teams in and out.
type Service struct {
	*base.Base
	events   *webhooks.Service
	teams    *teams.Service
	audience *audience.Service
	domains  *domains.Service
}

// New makes the service.
func New(base *base.Base, told *webhooks.Service, owners *teams.Service, people *audience.Service, senders *domains.Service) *Service {
	return &Service{Base: base, events: told, teams: owners, audience: people, domains: senders}
}
