// Package events is what happened, and who is told: the bus that services
// announce to, the webhooks that listen, and the deliveries to them. Every other
// service may import it; it knows none of them.
//
// Failure policy: what is announced is written with what it tells of, in one
// transaction; an endpoint that fails is tried again on its schedule and delays
// nobody else.
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

// Config is what the service needs beside the Base.
type Config struct {
	// Transport carries requests to webhooks: the policy on addresses is its own, it
	// follows no redirects, and its errors are shown to the webhook's owner. nil:
	// events wait.
	Transport http.RoundTripper
	// WebhookAllow are the ranges in which endpoints may be private and plain http.
	WebhookAllow []netip.Prefix
	// WebhooksPerTeam is how many a team can make; 0: webhook.DefaultPerTeam.
	WebhooksPerTeam int
}

// Service is webhooks and what they are told.
type Service struct {
	*base.Base
	Config
	perTeam       atomic.Int64 // webhooks that a team can make
	dispatcher    *dispatcher
	subscriptions subscriptions
}

// New makes the service and reads who listens.
func New(ctx context.Context, base *base.Base, cfg Config) (*Service, error) {
	s := &Service{Base: base, Config: cfg}
	s.SetWebhooksPerTeam(cmp.Or(cfg.WebhooksPerTeam, webhook.DefaultPerTeam))
	s.dispatcher = newDispatcher(s)
	// A command beside a server may bring webhooks in.
	base.DB.OnExternalWrite(s.subscriptions.load)
	return s, base.DB.Read(ctx, s.subscriptions.load)
}

// SetWebhooksPerTeam changes how many webhooks a team can make. Those that a team has stay.
func (s *Service) SetWebhooksPerTeam(n int) { s.perTeam.Store(int64(n)) }

// Start sets the deliveries going.
func (s *Service) Start() { s.dispatcher.start() }
