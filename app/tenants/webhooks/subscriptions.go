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

// subscriber is a webhook that subscribes to an event.
type subscriber struct{ id, teamID, host string }

func subscriberOf(w *webhook.Webhook) subscriber { return subscriber{w.ID, w.TeamID, w.Host()} }

// subscriberIndex holds enabled webhooks by team and event name.
type subscriberIndex map[string]map[webhook.EventName][]subscriber

// subscriptions holds the enabled webhooks in memory, so that an event without subscribers needs no
// database read. It is replaced when a Write that changes a webhook commits.
type subscriptions struct {
	index atomic.Pointer[subscriberIndex]
}

// subscribers returns the webhooks that receive an event of a team.
func (s *subscriptions) subscribers(teamID string, name webhook.EventName) []subscriber {
	return (*s.index.Load())[teamID][name]
}

// everySubscriber returns all enabled webhooks.
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

// reload reads a team's subscriptions inside the Write that changes one of them, and installs them
// after the commit. Commits are ordered and run in one goroutine.
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

// Announce stores an event inside the Write of the change, if a webhook of the team subscribes to
// it. The event is stored once, for any number of webhooks. data returns one of the data types of
// package webhook, or nil for no event. It is called only if there is a subscriber. Its result is
// encoded immediately and does not change afterwards.
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

// AnnounceTo stores an event for one webhook, of any type, whether the webhook subscribes to it or not. It
// returns the id of the event, which is the same for all attempts.
func (s *Service) AnnounceTo(tx *db.Tx, w *webhook.Webhook, name webhook.EventName, data any) (id string, err error) {
	payload, err := webhook.Payload(name, tx.Now, data)
	if err != nil {
		return "", err
	}
	e := &webhook.Event{ID: app.NewID(), TeamID: w.TeamID, Type: name, Payload: payload, CreatedAt: tx.Now}
	if err := tx.InsertDirected(w.ID, e); err != nil {
		return "", err
	}
	sub := subscriberOf(w)
	tx.AfterCommit(func() { s.dispatcher.wake([]subscriber{sub}) })
	return e.ID, nil
}
