package world

import (
	"fmt"
	"slices"
	"time"

	"mailer/app"
	"mailer/app/webhook"
	"mailer/db"
)

// Webhook makes one that hears of topics, at https://NAME.example.com.
func (w *World) Webhook(name string, events ...webhook.EventName) webhook.Webhook {
	w.T.Helper()
	if len(events) == 0 {
		events = []webhook.EventName{webhook.TopicCreated}
	}
	hook, err := w.Server.Events.CreateWebhook(w.T.Context(), w.Key, webhook.Input{Endpoint: "https://" + name + ".example.com/in", Events: events})
	Must(w.T, err)
	return hook
}

// Happen has n topics made, which webhooks hear of.
func (w *World) Happen(names ...string) {
	w.T.Helper()
	for _, name := range names {
		_, err := w.Server.Topics.CreateTopic(w.T.Context(), w.Key, app.TopicInput{Name: name, Default: app.OptIn})
		Must(w.T, err)
	}
}

// HappenAll is happen for n topics in one Write.
func (w *World) HappenAll(n int) {
	w.T.Helper()
	Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		for i := range n {
			topic := app.Topic{ID: app.NewID(), TeamID: w.Key.TeamID, Name: fmt.Sprint("topic ", i), CreatedAt: tx.Now, UpdatedAt: tx.Now}
			if err := w.Server.Audience.AnnounceTopic(tx, webhook.TopicCreated, &topic); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Deliveries are all events of a webhook, oldest first.
func (w *World) Deliveries(hook webhook.Webhook) []webhook.Delivery {
	w.T.Helper()
	var all []webhook.Delivery
	for page := (app.Page{Limit: 100}); ; {
		rows, more, err := w.Server.Events.ListWebhookEvents(w.T.Context(), w.Key, hook.ID, page)
		Must(w.T, err)
		all = append(all, rows...)
		if !more {
			slices.Reverse(all)
			return all
		}
		page.After = rows[len(rows)-1].ID
	}
}

// ToldAll counts the events of a webhook by status.
func (w *World) ToldAll(hook webhook.Webhook) string {
	w.T.Helper()
	counts := map[webhook.DeliveryStatus]int{}
	for _, d := range w.Deliveries(hook) {
		counts[d.Status]++
	}
	return fmt.Sprint(counts)
}

func (w *World) Attempts(d webhook.Delivery) []webhook.Attempt {
	w.T.Helper()
	rows, _, err := w.Server.Events.ListWebhookAttempts(w.T.Context(), w.Key, d.WebhookID, d.ID, app.Page{Limit: 100})
	Must(w.T, err)
	slices.Reverse(rows)
	return rows
}

func (w *World) Hook(hook webhook.Webhook) webhook.Webhook {
	w.T.Helper()
	got, err := w.Server.Events.GetWebhook(w.T.Context(), w.Key, hook.ID)
	Must(w.T, err)
	return got
}

func (w *World) Enable(hook webhook.Webhook, status webhook.Status) {
	w.T.Helper()
	_, err := w.Server.Events.UpdateWebhook(w.T.Context(), w.Key, hook.ID, webhook.Patch{Status: status})
	Must(w.T, err)
}

// Until waits for something that workers do.
func (w *World) Until(done func() bool) {
	w.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); !done(); {
		select {
		case <-tick.C:
		case <-end:
			w.T.Fatal("it does not come about")
		}
	}
}
