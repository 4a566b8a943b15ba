package broadcasts_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/rules/verdict"
	"mailer/app/rules/webhook"
	"mailer/app/testing/testserver"
)

// One recipient whose values make the content pass a bound of Liquid fails; the others get their mail,
// and the broadcast ends.
func TestRenderLimitFailsOneRecipient(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.StartTracking(t, relay)
		hook := w.AddWebhook("in", webhook.EmailFailed)
		addresses := inLanguages(w, "de", "fr")
		_, err := w.Services.Audience.UpdateContact(t.Context(), w.Key, addresses[1], app.ContactPatch{Properties: app.PropertyChanges{"items": {Type: app.StringProperty, Text: strings.Repeat("a,", 400)}}})
		testserver.Must(t, err)
		b := w.SendNewsletter(`<p>Hello {{ contact.city }}{% assign items = contact.items | split: "," %}{% for x in items %}{% for y in items %}{{ y }}{% endfor %}{% endfor %}</p>`, func(b *app.Broadcast) {
			b.Syntax, b.Subject = app.LiquidSyntax, "News for {{ contact.city }}"
		})
		testserver.SleepAndSettle(time.Minute)
		good, bad := w.EmailIDTo(b, addresses[0]), w.EmailIDTo(b, addresses[1])
		if got := relay.Transactions(good); len(got) != 1 || got[0].Message.Mail.Subject != "News for Köln" {
			t.Errorf("the other recipient got %+v", got)
		}
		if got := relay.Transactions(bad); len(got) != 0 {
			t.Errorf("a mail that is not whole left: %+v", got)
		}
		w.WantLastEvent(bad, app.Failed)
		events := w.Events(bad)
		last := events[len(events)-1]
		if last.Type != app.EventType(app.Failed) || last.Recipient != addresses[1] || last.Detail.Reason != app.ReasonRenderLimit || !strings.Contains(last.Detail.Message, "can't be rendered") {
			t.Errorf("timeline:\n%s", w.Timeline(bad))
		}
		v, err := w.Services.Queue.Verdict(t.Context(), w.Key, bad)
		testserver.Must(t, err)
		if v.Code != verdict.FailedRender || !strings.Contains(v.Text, addresses[1]) {
			t.Errorf("verdict %+v", v)
		}
		if now := w.Broadcast(b.ID); now.Status != app.SentBroadcast || now.Counts.Sent != 1 || now.Counts.Failed != 1 || now.Open != 0 {
			t.Errorf("the broadcast is %s, %+v", now.Status, now.Counts)
		}
		if email := w.Email(bad); email.Subject != "News for Köln" || email.LastEvent != app.Failed {
			t.Errorf("read back: %+v", email)
		}
		rows := w.Deliveries(hook)
		if len(rows) != 1 {
			t.Fatalf("%d events", len(rows))
		}
		d, err := w.Services.Webhooks.GetWebhookEvent(t.Context(), w.Key, hook.ID, rows[0].ID)
		testserver.Must(t, err)
		var event struct {
			Data struct {
				EmailID string `json:"email_id"`
				Failed  struct{ Reason string }
			}
		}
		testserver.Must(t, json.Unmarshal(d.Payload, &event))
		if event.Data.EmailID != bad || event.Data.Failed.Reason != app.ReasonRenderLimit {
			t.Errorf("webhook %s", d.Payload)
		}
	})
}
