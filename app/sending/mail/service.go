// Package mail implements single emails from the request to the stored unit that waits for its
// relay: acceptance, batches, SMTP submissions, idempotency, schedules, cancellation, templates,
// timelines, attachments, and open and click tracking. delivery and all packages above it may
// import it.
//
// Failure policy: the id of an email is returned only once the email is safe on disk. An *app.Error
// is returned before anything is written.
package mail

import (
	"mailer/app"
	"mailer/app/base"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/domains"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Service implements emails from acceptance to timeline.
type Service struct {
	*base.Base
	// Delivery is package delivery, which imports this package. Set before use.
	Delivery Delivery
	// MayAccept refuses sends of a paused team. Errors: CodeSendingPaused. Set before use.
	MayAccept func(r *db.Reader, teamID string) error
	// FetchFiles fetches attachments that are given as URLs; nil: they are refused. Set before use.
	FetchFiles app.FetchFiles
	// OnSignal stores an event of a contact for automations, inside the Write of what happened; nil: there are none.
	// Set before use.
	OnSignal func(tx *db.Tx, signal app.Signal) error
	// OnForward stores the result of a mail that forwards a received one, inside the Write of that result. Set before
	// use.
	OnForward func(tx *db.Tx, teamID, destinationID string, result app.LastEvent) error
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
	Blocks    *Blocks
	Search    *Search
	Resends   *Resends
	Shares    *Shares
	Views     *Views
	Previews  *Previews
	Accounts  *Accounts
	Unsent    *Unsent

	Submissions *Submissions
}

// Templates implements stored contents that sends refer to.
type Templates struct{ service *Service }

// New makes the service. The caller sets Delivery and MayAccept.
func New(base *base.Base, events *webhooks.Service, teamService *teams.Service, domainService *domains.Service, audienceService *audience.Service) *Service {
	s := &Service{Base: base, events: events, teams: teamService, domains: domainService, audience: audienceService,
		tracker: newTracker(), renders: make(renders, largeRenders)}
	s.Templates, s.Blocks, s.Search = &Templates{s}, &Blocks{s}, newSearch(s)
	s.Accounts, s.Unsent = &Accounts{s}, &Unsent{s}
	s.Resends, s.Shares, s.Views, s.Previews = &Resends{s}, &Shares{s}, &Views{s}, &Previews{service: s}
	s.Submissions = &Submissions{s}
	s.recent.shared = base.DB.Cluster().Shared()
	base.DB.OnExternalErasure(func() {
		s.recent.clear()
		s.mails.dropAll()
	})
	return s
}

// Start starts the worker that records opens and clicks.
func (s *Service) Start() { s.Workers.Go(s.track) }
