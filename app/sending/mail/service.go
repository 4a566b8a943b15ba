// Package mail is single emails from the caller's request to the row that waits
// for its relay: accepting, batches, idempotency, schedules, cancels, templates,
// timelines, attachments, and opens and clicks. delivery and all above it may
// import it.
//
// Failure policy: an id is answered only once its email is safe on disk; an
// *app.Error comes before anything is written.
package mail

import (
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Service is emails, accepted and told of.
type Service struct {
	*base.Base
	// Delivery is delivery, which knows of this service in turn. Set before use.
	Delivery Delivery
	// MayAccept refuses what a paused team sends. Errors: CodeSendingPaused. Set before use.
	MayAccept func(r *db.Reader, teamID string) error
	events    *webhooks.Service
	teams     *teams.Service
	domains   *domains.Service
	audience  *audience.Service
	inflight  inflight
	recent    recentCache
	tracker   *tracker
	renders   renders
	mails     broadcastMails

	Templates *Templates
	Search    *Search
	Resends   *Resends
	Shares    *Shares
	Previews  *Previews
	Accounts  *Accounts
	Unsent    *Unsent

	Submissions *Submissions
}

// Templates is contents that sends refer to by name.
type Templates struct{ service *Service }

// New makes the service; its Outlet is set afterwards.
func New(base *base.Base, events *webhooks.Service, teamService *teams.Service, domainService *domains.Service, audienceService *audience.Service) *Service {
	s := &Service{Base: base, events: events, teams: teamService, domains: domainService, audience: audienceService,
		tracker: newTracker(), renders: make(renders, largeRenders)}
	s.Templates, s.Search = &Templates{s}, newSearch(s)
	s.Accounts, s.Unsent = &Accounts{s}, &Unsent{s}
	s.Resends, s.Shares, s.Previews = &Resends{s}, &Shares{s}, &Previews{service: s}
	s.Submissions = &Submissions{s}
	s.recent.shared = base.DB.Cluster().Shared()
	base.DB.OnExternalErasure(func() {
		s.recent.clear()
		s.mails.dropAll()
	})
	return s
}

// Start sets the worker going that records opens and clicks.
func (s *Service) Start() { s.Workers.Go(s.track) }
