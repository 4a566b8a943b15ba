package webhooks

import (
	"mailer/app/rules/webhook"
	"mailer/db"
)

// What the tests of this package from outside reach into it for.

const (
	HookShare = hookShare
	HostShare = hostShare
	MaxHooks  = maxHooks
)

func (s *Service) Hooks() *hooks { return s.hooks }

func (s *Service) Listeners() *subscriptions { return &s.listeners }

func (h *hooks) WithoutErased(tx *db.Tx, d webhook.Delivery, a *webhook.Attempt) error {
	return h.withoutErased(tx, d, a)
}

// To returns the ids of the webhooks that a team's event goes to.
func (s *subscriptions) To(teamID string, name webhook.EventName) (ids []string) {
	for _, who := range s.to(teamID, name) {
		ids = append(ids, who.id)
	}
	return ids
}

func NewPool(size int) *pool { return newPool(size) }

func (p *pool) Room(team string) int    { return p.room(team) }
func (p *pool) Take(team string, n int) { p.take(team, n) }
func (p *pool) Held(team string) int    { return p.teams[team] }
func (p *pool) Teams() int              { return len(p.teams) }
