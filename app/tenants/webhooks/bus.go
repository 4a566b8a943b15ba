package webhooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/db"
)

// hearer is a webhook that is told of something.
type hearer struct{ id, teamID, host string }

func hearerOf(w *webhook.Webhook) hearer { return hearer{w.ID, w.TeamID, w.Host()} }

// hearers are the enabled webhooks that want an event, by team and name.
type hearers map[string]map[webhook.EventName][]hearer

// subscriptions is who is told of what, so that an event that nobody wants costs
// no look at the database. It changes with the Write that changes a webhook.
type subscriptions struct{ all atomic.Pointer[hearers] }

// to returns the webhooks that a team's event goes to.
func (s *subscriptions) to(teamID string, name webhook.EventName) []hearer {
	return (*s.all.Load())[teamID][name]
}

// everybody returns all webhooks that are told of something.
func (s *subscriptions) everybody() (all []hearer) {
	for _, names := range *s.all.Load() {
		for _, webhooks := range names {
			all = append(all, webhooks...)
		}
	}
	slices.SortStableFunc(all, func(a, b hearer) int { return strings.Compare(a.id, b.id) })
	return slices.Compact(all)
}

// load reads the subscriptions of all teams.
func (s *subscriptions) load(r *db.Reader) error {
	hooks, err := r.AllEnabledWebhooks()
	if err != nil {
		return fmt.Errorf("read webhooks: %w", err)
	}
	all := hearers{}
	for i := range hooks {
		all.add(&hooks[i])
	}
	s.all.Store(&all)
	return nil
}

func (a hearers) add(w *webhook.Webhook) {
	names := a[w.TeamID]
	if names == nil {
		names = map[webhook.EventName][]hearer{}
		a[w.TeamID] = names
	}
	for _, name := range w.Events {
		names[name] = append(names[name], hearerOf(w))
	}
}

// change reads a team's subscriptions in the Write that changed one of them, to
// be used once it is on disk. Writes end in their order, and in one goroutine.
func (s *subscriptions) change(tx *db.Tx, teamID string) error {
	hooks, err := tx.EnabledWebhooks(teamID)
	if err != nil {
		return fmt.Errorf("read webhooks: %w", err)
	}
	tx.AfterCommit(func() {
		all := maps.Clone(*s.all.Load())
		delete(all, teamID)
		for i := range hooks {
			all.add(&hooks[i])
		}
		s.all.Store(&all)
	})
	return nil
}

// Announce notes an event for webhooks in the Write that made it happen, where a
// webhook of the team wants it; how many do makes no difference. data returns one of app's data types, or nil where
// there is nothing to tell, and is asked only then; what it says is frozen here.
func (s *Service) Announce(tx *db.Tx, teamID string, name webhook.EventName, data func() (any, error)) error {
	if len(s.listeners.to(teamID, name)) == 0 {
		return nil
	}
	content, err := data()
	if err != nil || content == nil {
		return err
	}
	payload, err := webhook.Payload(name, tx.Now, content)
	if err != nil {
		return err
	}
	h := &webhook.Event{ID: app.NewID(), TeamID: teamID, Type: name, Payload: payload, CreatedAt: tx.Now}
	if err := tx.InsertWebhookEvent(h); err != nil {
		return err
	}
	tx.AfterCommit(func() { s.hooks.note(teamID, name) })
	return nil
}
