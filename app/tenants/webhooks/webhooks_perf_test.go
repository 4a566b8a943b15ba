//go:build perf

package webhooks_test

import (
	"fmt"
	"testing"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestPerfUnwantedEventAllocatesNothing(t *testing.T) {
	w := testserver.New(t)
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		n := testing.AllocsPerRun(100, func() {
			if err := w.Services.Mail.AnnounceEmail(tx, w.Key.TeamID, webhook.EmailSent, "x", webhook.EmailExtra{}); err != nil {
				t.Error(err)
			}
		})
		if n > 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	}))
}

func TestPerfEventCostIsIndependentOfSubscribers(t *testing.T) {
	w := testserver.NewWithConfig(t, server.Config{WebhooksPerTeam: webhook.MaxPerTeam})
	topic := app.Topic{ID: app.NewID(), TeamID: w.Key.TeamID, Name: "topic"}
	cost := func() (n float64) {
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
			n = testing.AllocsPerRun(50, func() {
				if err := w.Services.Audience.AnnounceTopic(tx, webhook.TopicCreated, &topic); err != nil {
					t.Error(err)
				}
			})
			return nil
		}))
		return n
	}
	one := cost()
	for i := range webhook.MaxPerTeam - 1 { // the test server has one
		w.AddWebhook(fmt.Sprint("in", i), webhook.ContactCreated, webhook.TopicCreated)
	}
	if many := cost(); many > one+50 { // other goroutines may allocate too
		t.Errorf("%v allocations where 500 hear, %v where one does", many, one)
	}
}
