package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mailer/app/webhook"
)

// Hearing is a webhook's event with its data.
type Hearing struct {
	Type webhook.EventName
	Data webhook.EmailData
}

func (h Hearing) String() string {
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

// Hears returns what a webhook heard of an email, in the order of their texts.
func (w *World) Hears(hook webhook.Webhook, emailID string) (all []Hearing) {
	w.T.Helper()
	for _, row := range w.Deliveries(hook) {
		d, err := w.Server.Events.GetWebhookEvent(w.T.Context(), w.Key, hook.ID, row.ID)
		Must(w.T, err)
		var one Hearing
		Must(w.T, json.Unmarshal(d.Payload, &one))
		if one.Data.EmailID == emailID {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Hearing) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func (w *World) WantHears(hook webhook.Webhook, emailID string, want ...string) {
	w.T.Helper()
	var got []string
	for _, one := range w.Hears(hook, emailID) {
		got = append(got, one.String())
	}
	if !slices.Equal(got, want) {
		w.T.Errorf("webhooks heard\n%q, want\n%q\n%s", got, want, w.Story(emailID))
	}
}
