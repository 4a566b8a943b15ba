package webhooks

import (
	"mailer/app/rules/webhook"
	"mailer/db"
)

// Exports for the external tests of this package.

const (
	MaxPerEndpoint = maxPerEndpoint
	MaxPerHost     = maxPerHost
	MaxConcurrent  = maxConcurrent
)

func (s *Service) Dispatcher() *dispatcher { return s.dispatcher }

func (s *Service) Subscriptions() *subscriptions { return &s.subscriptions }

func (h *dispatcher) DropErased(tx *db.Tx, d webhook.Delivery, a *webhook.Attempt) error {
	return h.dropErased(tx, d, a)
}

// SubscriberIDs returns the ids of the webhooks that receive an event of a team.
func (s *subscriptions) SubscriberIDs(teamID string, name webhook.EventName) (ids []string) {
	for _, sub := range s.subscribers(teamID, name) {
		ids = append(ids, sub.id)
	}
	return ids
}
