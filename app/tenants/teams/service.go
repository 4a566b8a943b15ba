// Package teams is who may do what, and how much of it: teams, their API keys,
// plans, quotas and usage. Every service above events may import it.
//
// Failure policy: what a team may send is proven and counted in the transaction
// that accepts it; a key that was revoked is refused at once in this process.
package teams

import (
	"sync/atomic"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/rules/plan"
	"mailer/app/tenants/webhooks"
	"mailer/db/engine"
)

// Config is what the service needs beside the Base.
type Config struct {
	MaxAttachments int64  // bytes; 0: app.DefaultMaxAttachmentBytes; in cloud mode plans say it
	OnPlan         func() // called after the plan of a team changed; never blocks
}

// Service is teams with their keys, plans and counters.
type Service struct {
	*base.Base
	Config
	events *webhooks.Service
	keys   *cache.Cache[string, app.Key] // by their public parts
	uses   keyUses
	// noneDeletedAt is the state of the database in which no deleted team was left; nil: not
	// looked at yet.
	noneDeletedAt atomic.Pointer[engine.Version]
	// By team ids; plans spare database reads for each email.
	plans      *cache.Cache[string, plan.Plan]
	periodSums *cache.Cache[string, periodSum]
}

// New makes the service.
func New(base *base.Base, events *webhooks.Service, cfg Config) *Service {
	if cfg.MaxAttachments == 0 {
		cfg.MaxAttachments = app.DefaultMaxAttachmentBytes
	}
	return &Service{
		Base: base, Config: cfg, events: events,
		keys:       cache.New[string, app.Key](maxCachedKeys, keyTTL),
		plans:      cache.New[string, plan.Plan](maxCachedPlans, planTTL),
		periodSums: cache.New[string, periodSum](maxCachedPlans, 0),
	}
}
