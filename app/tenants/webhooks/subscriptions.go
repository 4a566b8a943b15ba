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

// subscriber is a webhook that is told of something.
type subscriber struct{ id, teamID, host string }

func subscriberOf(w *webhook.Webhook) subscriber { return subscriber{w.ID, w.TeamID, w.Host()} }

// subscriberIndex are the enabled webhooks that want an event, by team and name.
type subscriberIndex map[string]map[webhook.EventName][]subscriber

// subscriptions is who is told of what, so that an event that nobody wants costs
// no look at the database. It changes with the Write that changes a webhook.
type subscriptions struct {
	index atomic.Pointer[subscriberIndex]
}

// subscribers returns the webhooks that a team's event goes to.
func (s *subscriptions) subscribers(teamID string, name webhook.EventName) []subscriber {
	return (*s.index.Load())[teamID][name]
}

// everySubscriber returns all webhooks that are told of something.
func (s *subscriptions) everySubscriber() (all []subscriber) {
	for _, names := range *s.index.Load() {
		for _, webhooks := range names {
			all = append(all, webhooks...)
		}
	}
	slices.SortStableFunc(all, func(a, b subscriber) int { return strings.Compare(a.id, b.id) })
	return slices.Compact(all)
}

// load reads the subscriptions of all teams.
func (s *subscriptions) load(r *db.Reader) error {
	hooks, err := r.AllEnabledWebhooks()
	if err != nil {
		return fmt.Errorf("read webhooks: %w", err)
	}
	all := subscriberIndex{}
	for i := range hooks {
		all.add(&hooks[i])
	}
	s.index.Store(&all)
	return nil
}

func (a subscriberIndex) add(w *webhook.Webhook) {
	names := a[w.TeamID]
	if names == nil {
		names = map[webhook.EventName][]subscriber{}
		a[w.TeamID] = names
	}
	for _, name := range w.Events {
		names[name] = append(names[name], subscriberOf(w))
	}
}

// reload reads a team's subscriptions in the Write that changed one of them, to
// be used once it is on disk. Writes end in their order, and in one goroutine.
func (s *subscriptions) reload(tx *db.Tx, teamID string) error {
	hooks, err := tx.EnabledWebhooks(teamID)
	if err != nil {
		return fmt.Errorf("read webhooks: %w", err)
	}
	tx.AfterCommit(func() {
		all := maps.Clone(*s.index.Load())
		delete(all, teamID)
		for i := range hooks {
			all.add(&hooks[i])
		}
		s.index.Store(&all)
	})
	return nil
}

// Announce notes an event for webhooks in the Write that made it happen, where a
// webhook of the team wants it; how many do makes no difference. data returns one of app's data types, or nil where
// there is nothing to tell, and is asked only then; what it says is frozen here.
func (s *Service) Announce(tx *db.Tx, teamID string, name webhook.EventName, data func() (any, error)) error {
	if len(s.subscriptions.subscribers(teamID, name)) == 0 {
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
	tx.AfterCommit(func() { s.dispatcher.noteEvent(teamID, name) })
	return nil
}
