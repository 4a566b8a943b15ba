package events

import (
	"mailer/app/webhook"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

func (x *Service) Hooks() *hooks { return x.hooks }

func (x *Service) Listeners() *subscriptions { return &x.listeners }

const HookShare = hookShare

func (x *hooks) WithoutErased(a0 *db.Tx, a1 webhook.Delivery, a2 *webhook.Attempt) error {
	return x.withoutErased(a0, a1, a2)
}

const MaxHooks = maxHooks

func (x *subscriptions) To(a0 string, a1 webhook.EventName) []string { return x.to(a0, a1) }
