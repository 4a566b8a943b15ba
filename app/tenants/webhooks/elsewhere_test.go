package webhooks_test

import (
	"slices"
	"testing"

	"mailer/app/rules/webhook"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// A webhook that a command beside the server brought in hears of the next event, and one
// of the same commit.
func TestAWebhookThatAnotherProcessMadeIsTold(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Several(t)
	w := testserver.Idle(t)
	key := w.Key
	events := w.Server.Events.Listeners()
	hook, err := w.Beside().Events.CreateWebhook(t.Context(), key, webhook.Input{Endpoint: "https://hooks.example.com/x", Events: []webhook.EventName{webhook.ContactCreated}})
	testserver.Must(t, err)
	var told []string
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		told = events.To(key.TeamID, webhook.ContactCreated)
		_, err := tx.FindTeam(key.TeamID) // a commit asks the database something
		return err
	}))
	if !slices.Contains(told, hook.ID) {
		t.Errorf("the server tells %v, not %s", told, hook.ID)
	}
}
