// Package webhooks implements events and their delivery to webhooks. Services announce events; the
// package stores them and posts them to the endpoints that subscribe to them. Every other service
// may import it, and it imports none of them.
//
// Failure policy: an event is stored in the transaction of the change that it reports. A failed
// delivery is retried on the schedule of package webhook, and delays no other endpoint.
package webhooks

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"sync/atomic"

	"mailer/app/base"
	"mailer/app/rules/webhook"
)

// Config holds the options of the service.
type Config struct {
	// Transport sends requests to webhooks. It restricts addresses, follows no redirects, and its
	// errors are shown to the webhook's owner. nil: events wait.
	Transport http.RoundTripper
	// WebhookAllow are the address ranges in which endpoints may be private and use plain http.
	WebhookAllow []netip.Prefix
	// WebhooksPerTeam is how many webhooks a team can have; 0: webhook.DefaultPerTeam.
	WebhooksPerTeam int
}

// Service implements webhooks, events and deliveries.
type Service struct {
	*base.Base
	Config
	perTeam       atomic.Int64 // how many webhooks a team can have
	dispatcher    *dispatcher
	subscriptions subscriptions
}

// New makes the service and loads the subscriptions.
func New(ctx context.Context, base *base.Base, cfg Config) (*Service, error) {
	s := &Service{Base: base, Config: cfg}
	s.SetWebhooksPerTeam(cmp.Or(cfg.WebhooksPerTeam, webhook.DefaultPerTeam))
	s.dispatcher = newDispatcher(s)
	// Another process may add webhooks.
	base.DB.OnExternalWrite(s.subscriptions.load)
	return s, base.DB.Read(ctx, s.subscriptions.load)
}

// SetWebhooksPerTeam changes how many webhooks a team can have. Existing webhooks stay.
func (s *Service) SetWebhooksPerTeam(n int) { s.perTeam.Store(int64(n)) }

// Start starts the dispatcher.
func (s *Service) Start() { s.dispatcher.start() }
