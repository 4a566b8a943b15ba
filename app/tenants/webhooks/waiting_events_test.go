package webhooks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestWaitingEventsSurviveWebhookChanges(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		testserver.StopNow(w.Services)
		ctx := t.Context()
		w = w.Crash() // idle, so that all events wait
		hook := w.AddWebhook("in")
		patch := func(p webhook.Patch) {
			t.Helper()
			_, err := w.Services.Webhooks.UpdateWebhook(ctx, w.Key, hook.ID, p)
			testserver.Must(t, err)
		}
		createTopics(w, "a")
		patch(webhook.Patch{Events: []webhook.EventName{webhook.TopicDeleted}})
		createTopics(w, "unwanted")
		patch(webhook.Patch{Events: []webhook.EventName{webhook.TopicCreated}, Status: webhook.Disabled})
		createTopics(w, "while disabled")
		patch(webhook.Patch{Status: webhook.Enabled})
		createTopics(w, "b")
		rows := w.Deliveries(hook)
		if len(rows) != 2 || rows[0].Status != webhook.DeliveryPending || rows[0].Attempts != 0 || rows[0].NextAt.IsZero() || len(w.Attempts(rows[0])) != 0 {
			t.Fatalf("listed: %+v", rows)
		}
		testserver.Must(t, w.Services.Webhooks.ReplayWebhookEvent(ctx, w.Key, hook.ID, rows[0].ID))
		next := w.Crash()
		next.Config.WebhookTransport = f
		var err error
		next.Services, err = server.New(ctx, next.Config)
		testserver.Must(t, err)
		next.Start()
		time.Sleep(time.Second)
		synctest.Wait()
		var events []string
		for _, r := range f.to("in.example.com") {
			events = append(events, topicOf(t, []byte(r.body)))
		}
		if fmt.Sprint(events) != "[a b]" || deliveryCounts(next, hook) != "map[success:2]" {
			t.Errorf("heard %q, %s", events, deliveryCounts(next, hook))
		}
		if got := next.Rows(`SELECT count(*) FROM webhook_terms`); got != "0\n" {
			t.Errorf("%s terms stay", got)
		}
	})
}

// A clock that was set back, or the slower clock of another process, makes ids before those of
// earlier events.
func TestEventWithEarlierIDIsDelivered(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("in")
		createTopics(w, "first")
		time.Sleep(time.Second)
		old := webhook.Event{ID: app.FirstID(time.Now().Add(-time.Hour)), TeamID: w.Key.TeamID, Type: webhook.TopicCreated,
			Payload: []byte(`{"data":{"name":"old"}}`), CreatedAt: time.Now().Add(time.Hour)}
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertWebhookEvent(&old) }))
		w.Services.Webhooks.WakeWebhooks()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(f.to("in.example.com")) != 2 || deliveryCounts(w, hook) != "map[success:2]" {
			t.Errorf("%d were told, %s", len(f.got), deliveryCounts(w, hook))
		}
	})
}

func TestCrashRepeatsOnlyRunningAttempts(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hooks := []webhook.Webhook{w.AddWebhook("a"), w.AddWebhook("b")}
		slowly := func(context.Context, request) (*http.Response, error) {
			time.Sleep(time.Duration(1+rand.IntN(200)) * time.Millisecond)
			return status(200, ""), nil
		}
		f.set(slowly)
		createTopicsInOneWrite(w, 150)
		for range 5 {
			time.Sleep(time.Duration(1+rand.IntN(400)) * time.Millisecond)
			synctest.Wait()
			delivered := map[string]bool{}
			for _, r := range f.got {
				delivered[r.host+r.id()] = true
			}
			next := w.Crash() // the state on the disk at this moment
			testserver.StopNow(w.Services)
			w.Stopped = true
			running := map[string]bool{}
			for _, hook := range hooks {
				for _, d := range next.Deliveries(hook) {
					if d.Status == webhook.DeliveryPending && d.Attempts > 0 {
						running[hook.ID+webhook.MessageID(d.ID)] = true
					}
				}
			}
			before := len(f.got)
			next.Config.WebhookTransport = f
			var err error
			next.Services, err = server.New(t.Context(), next.Config)
			testserver.Must(t, err)
			next.Start()
			w = next
			time.Sleep(35 * time.Second) // interrupted attempts are due after 30 seconds
			synctest.Wait()
			for _, r := range f.got[before:] {
				i := strings.Index("ab", r.host[:1])
				if delivered[r.host+r.id()] && !running[hooks[i].ID+r.id()] {
					t.Errorf("%s was told %s again", r.host, r.id())
				}
			}
			createTopicsInOneWrite(w, 50)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, hook := range hooks {
			if got := deliveryCounts(w, hook); got != "map[success:400]" {
				t.Errorf("%s: %s", hook.Endpoint, got)
			}
		}
	})
}

func TestWaitingEventsExpireAfter30Days(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, _ := newWebhookServer(t)
		hook := w.AddWebhook("in")
		enable(w, hook, webhook.Disabled) // no event waits yet
		testserver.StopNow(w.Services)
		w.Stopped = true
		w = w.Crash()
		enable(w, hook, webhook.Enabled)
		createTopics(w, "old")
		enable(w, hook, webhook.Disabled)
		time.Sleep(webhook.EventRetention - time.Hour)
		other := w.AddWebhook("other")
		createTopics(w, "new")
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		if deliveryCounts(w, hook) != "map[pending:1]" || deliveryCounts(w, other) != "map[pending:1]" {
			t.Errorf("before 30 days: %s and %s", deliveryCounts(w, hook), deliveryCounts(w, other))
		}
		time.Sleep(2 * time.Hour)
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		if deliveryCounts(w, hook) != "map[]" || deliveryCounts(w, other) != "map[pending:1]" {
			t.Errorf("after 30 days: %s and %s", deliveryCounts(w, hook), deliveryCounts(w, other))
		}
		if got := w.Rows(`SELECT count(*) FROM webhook_terms`); got != "0\n" {
			t.Errorf("%s terms stay", got)
		}
	})
}

func TestDeletedWebhookDropsItsEvents(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	hook, other := w.AddWebhook("in"), w.AddWebhook("other")
	createTopics(w, "a")
	enable(w, hook, webhook.Disabled)
	enable(w, other, webhook.Disabled)
	testserver.Must(t, w.Services.Webhooks.DeleteWebhook(t.Context(), w.Key, hook.ID))
	testserver.Must(t, w.Services.Audience.PurgeLeftovers(t.Context()))
	if got := w.Rows(`SELECT webhook_id FROM webhook_terms`); got != other.ID+"\n" {
		t.Errorf("terms of %s", got)
	}
}

func TestErasureScrubsWaitingEvents(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	hook := w.AddWebhook("in", webhook.ContactCreated)
	c, _, err := w.Services.Audience.PutContact(ctx, w.Key, app.ContactInput{Email: "ann@example.net"}, app.ConflictError)
	testserver.Must(t, err)
	_, err = w.Services.Audience.DeleteContact(ctx, w.Key, c, true)
	testserver.Must(t, err)
	w.Start() // without a transport for webhooks
	w.WaitUntil(func() bool {
		d, err := w.Services.Webhooks.GetWebhookEvent(ctx, w.Key, hook.ID, w.Deliveries(hook)[0].ID)
		testserver.Must(t, err)
		return d.Attempts == 0 && strings.Contains(string(d.Payload), app.Erased) && !strings.Contains(string(d.Payload), "ann@")
	})
}
