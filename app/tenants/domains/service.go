// Package domains implements the sending domains of teams: their DNS records, the checks of the
// records, and DKIM keys. mail and all packages above it may import it.
//
// Failure policy: a check that could not query the DNS changes nothing. A private key exists
// unencrypted only in memory.
package domains

import (
	"crypto/rand"
	"crypto/rsa"
	"sync"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/rules/dnsplan"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
)

// Service implements domains, their checks and signing keys.
type Service struct {
	*base.Base
	// Resolver queries the DNS; nil: domains are not checked.
	Resolver app.DNSLookup
	// NewKey makes the key pair of a domain.
	NewKey func() (*rsa.PrivateKey, error)
	events *webhooks.Service
	teams  *teams.Service
	// dkim caches opened private keys, so that a message needs no unsealing; nil: the domain is
	// unknown. throwaway makes a key at its first call.
	dkim      *cache.Cache[string, *app.DKIMKey]
	throwaway func() (*rsa.PrivateKey, error)
	checks    *checker
	keySlots  *base.TeamSemaphore
	// OpenDNS opens the DNS zones of domains to publish records; nil: this process can't.
	OpenDNS    dnsplan.Open
	publishing *base.TeamSemaphore
}

// New makes the service.
func New(b *base.Base, events *webhooks.Service, teamService *teams.Service, resolver app.DNSLookup) *Service {
	s := &Service{
		Base: b, Resolver: resolver, NewKey: newRSAKey, events: events, teams: teamService, checks: newChecker(), keySlots: base.NewTeamSemaphore(1, maxKeysWaiting),
		publishing: base.NewTeamSemaphore(maxPublishing, maxPublishing),
		dkim:       cache.New[string, *app.DKIMKey](maxCachedDKIM, dkimTTL),
	}
	s.throwaway = sync.OnceValues(func() (*rsa.PrivateKey, error) { return s.NewKey() })
	return s
}

func newRSAKey() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, dkimBits) }
