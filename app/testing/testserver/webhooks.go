package testserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
)

// AddWebhook adds a webhook at https://NAME.example.com, by default for topic events.
func (w *Server) AddWebhook(name string, events ...webhook.EventName) webhook.Webhook {
	w.T.Helper()
	if len(events) == 0 {
		events = []webhook.EventName{webhook.TopicCreated}
	}
	hook, err := w.Services.Webhooks.CreateWebhook(w.T.Context(), w.Key, webhook.Input{Endpoint: "https://" + name + ".example.com/in", Events: events})
	Must(w.T, err)
	return hook
}

// Deliveries returns all deliveries of a webhook, oldest first.
func (w *Server) Deliveries(hook webhook.Webhook) []webhook.Delivery {
	w.T.Helper()
	var all []webhook.Delivery
	for page := (app.Page{Limit: 100}); ; {
		rows, more, err := w.Services.Webhooks.ListWebhookEvents(w.T.Context(), w.Key, hook.ID, page)
		Must(w.T, err)
		all = append(all, rows...)
		if !more {
			slices.Reverse(all)
			return all
		}
		page.After = rows[len(rows)-1].ID
	}
}

// Attempts reads the attempts of a delivery.
func (w *Server) Attempts(d webhook.Delivery) []webhook.Attempt {
	w.T.Helper()
	rows, _, err := w.Services.Webhooks.ListWebhookAttempts(w.T.Context(), w.Key, d.WebhookID, d.ID, app.Page{Limit: 100})
	Must(w.T, err)
	slices.Reverse(rows)
	return rows
}

// ReloadWebhook reads a webhook again.
func (w *Server) ReloadWebhook(hook webhook.Webhook) webhook.Webhook {
	w.T.Helper()
	got, err := w.Services.Webhooks.GetWebhook(w.T.Context(), w.Key, hook.ID)
	Must(w.T, err)
	return got
}

// WaitUntil waits until a condition that workers change is true.
func (w *Server) WaitUntil(done func() bool) {
	w.T.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Minute); !done(); {
		select {
		case <-tick.C:
		case <-end:
			w.T.Fatal("it does not come about")
		}
	}
}

// EmailEvent is an email event of a webhook.
type EmailEvent struct {
	Type webhook.EventName
	Data webhook.EmailData
}

// String formats the event on one line.
func (h EmailEvent) String() string {
	text := string(h.Type) + " " + h.Data.Recipient
	switch x := h.Data; {
	case x.Bounce != nil:
		text += fmt.Sprint(" ", x.Bounce.Type, " ", x.Bounce.SubType, " ", x.Bounce.Diagnostic)
	case x.Suppressed != nil:
		text += " " + x.Suppressed.Type
	case x.Failed != nil && x.Failed.Reason != "":
		text += " with a reason"
	case x.Click != nil:
		text += " " + x.Click.Link
	}
	return strings.TrimSpace(text)
}

// EmailEvents returns the webhook events of an email, sorted by their text.
func (w *Server) EmailEvents(hook webhook.Webhook, emailID string) (all []EmailEvent) {
	w.T.Helper()
	for _, row := range w.Deliveries(hook) {
		d, err := w.Services.Webhooks.GetWebhookEvent(w.T.Context(), w.Key, hook.ID, row.ID)
		Must(w.T, err)
		var one EmailEvent
		Must(w.T, json.Unmarshal(d.Payload, &one))
		if one.Data.EmailID == emailID {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b EmailEvent) int { return strings.Compare(a.String(), b.String()) })
	return all
}
