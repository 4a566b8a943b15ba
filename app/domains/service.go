// Package domains is the domains that teams send from: their records in the DNS,
// the checks of them, and the keys that sign their mail. audience and all above
// it may import it.
//
// Failure policy: a check that could not ask the DNS changes nothing; a private
// key exists in the clear only in memory.
package domains

import (
	"mailer/app"
	"mailer/app/events"
	"mailer/app/service"
	"mailer/app/teams"
)

// Service is domains, their checks and signing keys.
type Service struct {
	*service.Base
	// Resolver asks the DNS about domains; nil: domains are not checked.
	Resolver app.DNSLookup
	events   *events.Service
	teams    *teams.Service
	dkim     dkimCache
	checks   *checker
}

// New makes the service.
func New(base *service.Base, told *events.Service, owners *teams.Service, resolver app.DNSLookup) *Service {
	return &Service{Base: base, Resolver: resolver, events: told, teams: owners, checks: newChecker()}
}
