// Package automations implements automations: flows of steps that run for contacts, the events that start
// and continue them, and the dispatcher that executes their steps.
//
// Failure policy: an event that was answered is stored, and taken once. The state of a run and the effect of
// a step, like the mail that it accepts, are stored in one Write, so that neither a crash nor another server
// loses a step or does it twice. A step that can't be executed now waits; one that never can ends its
// run with a reason.
package automations

import (
	"sync"

	"mailer/app"
	"mailer/app/base"
	"mailer/app/kit/cache"
	"mailer/app/rules/automation"
	"mailer/app/sending/mail"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/teams"
	"mailer/app/tenants/webhooks"
	"mailer/db"
)

// Service implements automations and custom events.
type Service struct {
	*base.Base
	events   *webhooks.Service
	teams    *teams.Service
	audience *audience.Service
	mail     *mail.Service

	flows *cache.Cache[string, *automation.Flow] // checked versions by id and number, which never change
	wake  base.Signal                            // there may be events that were not taken, or due runs

	// MayBroadcast refuses marketing of a paused team or in a paused region. Errors: CodeSendingPaused,
	// CodeBroadcastsPaused. Set before use.
	MayBroadcast func(r *db.Reader, teamID, region string) error

	mu    sync.Mutex
	paces map[string]*pace // by team
}

// maxFlows is how many checked flows are kept in memory.
const maxFlows = 500

// New makes the service.
func New(b *base.Base, events *webhooks.Service, teams *teams.Service, audience *audience.Service, mail *mail.Service) *Service {
	s := &Service{Base: b, events: events, teams: teams, audience: audience, mail: mail, wake: base.NewSignal(), paces: map[string]*pace{},
		flows: cache.New[string, *automation.Flow](maxFlows, flowTTL)}
	return s
}

// Tick wakes the dispatcher if anything was committed since the last call, by this process or another.
func (s *Service) Tick(changed bool) {
	if changed {
		s.wake.Notify()
	}
}

// Signal stores an event of a contact if any automation of its team listens for it. The event takes effect
// when the Write is committed.
func (s *Service) Signal(tx *db.Tx, signal app.Signal) error {
	listens, err := tx.Listens(signal.TeamID, signal.Name)
	if err != nil || !listens {
		return err
	}
	signal.ID, signal.CreatedAt = app.NewID(), tx.Now
	if err := tx.InsertSignal(&signal); err != nil {
		return err
	}
	tx.AfterCommit(s.wake.Notify)
	return nil
}
