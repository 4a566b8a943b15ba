// Package transfer imports a team from an archive and exports one into an archive.
//
// Failure policy: opt-outs and suppressions are stored before the first contact who could get
// mail. Nobody is subscribed again. An interrupted import keeps its changes, and running it again
// changes nothing else. Nothing imported is sent automatically.
package transfer

import (
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/images"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Service imports and exports teams.
type Service struct {
	*base.Base
	events   *webhooks.Service
	teams    *teams.Service
	audience *audience.Service
	domains  *domains.Service
	images   *images.Service
}

// New returns the service.
func New(base *base.Base, events *webhooks.Service, teams *teams.Service, audience *audience.Service, domains *domains.Service, images *images.Service) *Service {
	return &Service{Base: base, events: events, teams: teams, audience: audience, domains: domains, images: images}
}
