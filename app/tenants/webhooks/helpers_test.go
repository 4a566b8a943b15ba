package webhooks_test

import (
	"fmt"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// Helpers of this package's tests.

// createTopics makes a topic of each name, which webhooks receive events of.
func createTopics(w *testserver.Server, names ...string) {
	w.T.Helper()
	for _, name := range names {
		_, err := w.Services.Topics.CreateTopic(w.T.Context(), w.Key, app.TopicInput{Name: name, Default: app.OptIn})
		testserver.Must(w.T, err)
	}
}

// createTopicsInOneWrite announces n topics in one Write.
func createTopicsInOneWrite(w *testserver.Server, n int) {
	w.T.Helper()
	testserver.Must(w.T, w.DB.Write(w.T.Context(), func(tx *db.Tx) error {
		for i := range n {
			topic := app.Topic{ID: app.NewID(), TeamID: w.Key.TeamID, Name: fmt.Sprint("topic ", i), CreatedAt: tx.Now, UpdatedAt: tx.Now}
			if err := w.Services.Audience.AnnounceTopic(tx, webhook.TopicCreated, &topic); err != nil {
				return err
			}
		}
		return nil
	}))
}

// deliveryCounts returns how many events of a webhook have each status.
func deliveryCounts(w *testserver.Server, hook webhook.Webhook) string {
	w.T.Helper()
	counts := map[webhook.DeliveryStatus]int{}
	for _, d := range w.Deliveries(hook) {
		counts[d.Status]++
	}
	return fmt.Sprint(counts)
}

func enable(w *testserver.Server, hook webhook.Webhook, status webhook.Status) {
	w.T.Helper()
	_, err := w.Services.Webhooks.UpdateWebhook(w.T.Context(), w.Key, hook.ID, webhook.Patch{Status: status})
	testserver.Must(w.T, err)
}
