// Package teams implements teams with their API keys, brands, plans, quotas and usage. Every
// service above webhooks may import it.
//
// Failure policy: the quota of a send is checked and counted in the transaction that accepts the
// send. A revoked key is refused immediately in this process, and within a second in others.
package teams

import (
	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/rules/plan"
	"mailer/app/tenants/webhooks"
)

// Config holds the options of the service.
type Config struct {
	MaxAttachments int64  // bytes; 0: app.DefaultMaxAttachmentBytes; ignored in cloud mode, where plans have the limit
	MaxImages      int64  // bytes of the images of a team; 0: app.DefaultMaxImages; ignored in cloud mode too
	OnPlan         func() // called after the plan of a team changed; never blocks
}

// Service implements teams with their keys, plans and counters.
type Service struct {
	*base.Base
	Config
	events *webhooks.Service
	keys   *cache.Cache[string, app.Key] // by the public part of the token
	uses   keyUses
	// By team id. They spare database reads for each email.
	plans      *cache.Cache[string, plan.Plan]
	periodSums *cache.Cache[string, periodSum]
	openRuns   openRuns
}

// New makes the service.
func New(base *base.Base, events *webhooks.Service, cfg Config) *Service {
	if cfg.MaxAttachments == 0 {
		cfg.MaxAttachments = app.DefaultMaxAttachmentBytes
	}
	if cfg.MaxImages == 0 {
		cfg.MaxImages = app.DefaultMaxImages
	}
	return &Service{
		Base: base, Config: cfg, events: events,
		keys:       cache.New[string, app.Key](maxCachedKeys, keyTTL),
		plans:      cache.New[string, plan.Plan](maxCachedPlans, planTTL),
		periodSums: cache.New[string, periodSum](maxCachedPlans, 0),
	}
}
