package webhooks_test

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/server"
	"mailer/app/tenants/audience"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// BenchmarkAnnounce measures one event with n subscribers, inside its Write.
func BenchmarkAnnounce(b *testing.B) {
	for _, n := range []int{1, 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := testserver.NewWithConfig(b, server.Config{})
			for i := range n - 1 { // the test server has one
				w.AddWebhook(fmt.Sprint("in", i))
			}
			topic := app.Topic{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "topic", CreatedAt: w.Key.CreatedAt}
			testserver.Must(b, w.DB.Write(b.Context(), func(tx *db.Tx) error {
				for b.Loop() {
					if err := w.Services.Audience.AnnounceTopic(tx, webhook.TopicCreated, &topic); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}

// BenchmarkContactsWithManyWebhooks measures a batch of 200 contacts.
func BenchmarkContactsWithManyWebhooks(b *testing.B) {
	for _, n := range []int{1, 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := testserver.NewWithConfig(b, server.Config{})
			for i := range n - 1 {
				w.AddWebhook(fmt.Sprint("in", i), webhook.ContactCreated)
			}
			round := 0
			for b.Loop() {
				round++
				var items []audience.ContactItem
				for i := range 200 {
					items = append(items, audience.ContactItem{Input: &app.ContactInput{Email: fmt.Sprintf("u%d.%d@example.net", round, i)}})
				}
				_, err := w.Services.Audience.PutContacts(b.Context(), w.Key, items, app.ConflictError, false)
				testserver.Must(b, err)
			}
		})
	}
}
