package events

import (
	"mailer/app"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

func (x *Service) Hooks() *hooks { return x.hooks }

func (x *Service) Listeners() *subscriptions { return &x.listeners }

const HookShare = hookShare

func (x *hooks) WithoutErased(a0 *db.Tx, a1 app.Delivery, a2 *app.WebhookAttempt) error {
	return x.withoutErased(a0, a1, a2)
}

const MaxHooks = maxHooks

func (x *subscriptions) To(a0 string, a1 app.EventName) []string { return x.to(a0, a1) }
