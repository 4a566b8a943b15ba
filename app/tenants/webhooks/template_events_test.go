package webhooks_test

import (
	"encoding/json"
	"testing"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// dataOf returns the data of the last event of a name that a webhook received.
func dataOf(w *testserver.Server, hook webhook.Webhook, name webhook.EventName) (data webhook.EmailData) {
	w.T.Helper()
	for _, row := range w.Deliveries(hook) {
		d, err := w.Services.Webhooks.GetWebhookEvent(w.T.Context(), w.Key, hook.ID, row.ID)
		testserver.Must(w.T, err)
		payload := struct {
			Type webhook.EventName
			Data *webhook.EmailData
		}{Data: &data}
		testserver.Must(w.T, json.Unmarshal(d.Payload, &payload))
		if payload.Type == name {
			return data
		}
		data = webhook.EmailData{}
	}
	w.T.Fatalf("no %s", name)
	return data
}

func TestEmailEventsNameTheTemplate(t *testing.T) {
	w := testserver.New(t)
	hook := w.AddWebhook("in", webhook.EmailScheduled)
	made := w.PublishTemplate(w.Key, "welcome", app.TemplateContent{From: "ann@" + testserver.TestDomain, Subject: "Hi", HTML: "<p>Hi</p>"})
	in := &app.EmailInput{To: []string{"bob@example.net"}, ScheduledAt: "in 1 hour", Template: &app.TemplateUse{ID: "welcome"}}
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	if data := dataOf(w, hook, webhook.EmailScheduled); data.TemplateID != made.ID {
		t.Errorf("template %q, want %s", data.TemplateID, made.ID)
	}
}

func TestSuppressedEventNamesItsBounce(t *testing.T) {
	w := testserver.New(t)
	hook := w.AddWebhook("in", webhook.EmailSuppressed)
	id := w.Send("gone@example.net")
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		detail := app.EventDetail{ReplyCode: 550, EnhancedCode: "5.1.1", Reply: "no such user"}
		err := tx.InsertEvent(app.Event{ID: app.NewID(), TeamID: w.Key.TeamID, EmailID: id, Type: app.EventType(app.Bounced), Recipient: "gone@example.net", CreatedAt: tx.Now, Detail: detail})
		if err != nil {
			return err
		}
		return w.Services.Audience.SuppressForEmail(tx, w.Key.TeamID, id, app.KeyOf("gone@example.net"), "gone@example.net", app.OriginBounce)
	}))
	in := testserver.Message("bob@example.net")
	in.Cc, in.ScheduledAt = []string{"gone@example.net"}, "in 1 hour"
	_, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	got := dataOf(w, hook, webhook.EmailSuppressed).Suppressed
	if got == nil || got.Reason != webhook.PreviousBounce || len(got.Diagnostic) != 1 || got.Diagnostic[0] != "smtp; 550 5.1.1 no such user" {
		t.Errorf("%+v", got)
	}
}
