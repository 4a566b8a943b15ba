package webhooks_test

import (
	"slices"
	"testing"

	"mailer/app/rules/webhook"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// A webhook that another process added receives the next event, and one of the same commit.
func TestWebhookOfOtherProcessGetsEvents(t *testing.T) {
	testserver.BothEngines(t)
	testserver.FastHeartbeat(t)
	w := testserver.New(t)
	key := w.Key
	events := w.Services.Webhooks.Subscriptions()
	hook, err := w.CommandServices().Webhooks.CreateWebhook(t.Context(), key, webhook.Input{Endpoint: "https://hooks.example.com/x", Events: []webhook.EventName{webhook.ContactCreated}})
	testserver.Must(t, err)
	var delivered []string
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		delivered = events.SubscriberIDs(key.TeamID, webhook.ContactCreated)
		_, err := tx.FindTeam(key.TeamID) // a commit needs a query
		return err
	}))
	if !slices.Contains(delivered, hook.ID) {
		t.Errorf("the server tells %v, not %s", delivered, hook.ID)
	}
}
