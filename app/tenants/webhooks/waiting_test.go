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

func TestWhatWaitsForAWebhookIsListedAndGoesOnAfterChanges(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		testserver.StopNow(w.Server)
		ctx := t.Context()
		w = w.Crash() // idle, so that all waits
		hook := w.Webhook("in")
		patch := func(p webhook.Patch) {
			t.Helper()
			_, err := w.Server.Events.UpdateWebhook(ctx, w.Key, hook.ID, p)
			testserver.Must(t, err)
		}
		happen(w, "a")
		patch(webhook.Patch{Events: []webhook.EventName{webhook.TopicDeleted}})
		happen(w, "unwanted")
		patch(webhook.Patch{Events: []webhook.EventName{webhook.TopicCreated}, Status: webhook.Disabled})
		happen(w, "while disabled")
		patch(webhook.Patch{Status: webhook.Enabled})
		happen(w, "b")
		rows := w.Deliveries(hook)
		if len(rows) != 2 || rows[0].Status != webhook.DeliveryPending || rows[0].Attempts != 0 || rows[0].NextAt.IsZero() || len(w.Attempts(rows[0])) != 0 {
			t.Fatalf("listed: %+v", rows)
		}
		testserver.Must(t, w.Server.Events.ReplayWebhookEvent(ctx, w.Key, hook.ID, rows[0].ID))
		next := w.Crash()
		next.Config.Hooks = f
		var err error
		next.Server, err = server.New(ctx, next.Config)
		testserver.Must(t, err)
		next.Start()
		time.Sleep(time.Second)
		synctest.Wait()
		var heard []string
		for _, r := range f.to("in.example.com") {
			heard = append(heard, topicOf(t, []byte(r.body)))
		}
		if fmt.Sprint(heard) != "[a b]" || toldAll(next, hook) != "map[success:2]" {
			t.Errorf("heard %q, %s", heard, toldAll(next, hook))
		}
		if got := next.Rows(`SELECT count(*) FROM webhook_terms`); got != "0\n" {
			t.Errorf("%s terms stay", got)
		}
	})
}

// A clock that was put back, and a command beside the server whose clock is behind,
// make ids that stand before those of earlier events.
func TestAnEventWhoseIDStandsBeforeThoseThatWereToldIsTold(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		hook := w.Webhook("in")
		happen(w, "first")
		time.Sleep(time.Second)
		old := webhook.Event{ID: app.FirstID(time.Now().Add(-time.Hour)), TeamID: w.Key.TeamID, Type: webhook.TopicCreated,
			Payload: []byte(`{"data":{"name":"old"}}`), CreatedAt: time.Now().Add(time.Hour)}
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.InsertWebhookEvent(&old) }))
		w.Server.Events.WakeWebhooks()
		time.Sleep(time.Second)
		synctest.Wait()
		if len(f.to("in.example.com")) != 2 || toldAll(w, hook) != "map[success:2]" {
			t.Errorf("%d were told, %s", len(f.got), toldAll(w, hook))
		}
	})
}

func TestAKilledServerLosesNothingThatWaitsAndRepeatsOnlyWhatWasUnderWay(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		hooks := []webhook.Webhook{w.Webhook("a"), w.Webhook("b")}
		slowly := func(context.Context, request) (*http.Response, error) {
			time.Sleep(time.Duration(1+rand.IntN(200)) * time.Millisecond)
			return status(200, ""), nil
		}
		f.set(slowly)
		happenAll(w, 150)
		for range 5 {
			time.Sleep(time.Duration(1+rand.IntN(400)) * time.Millisecond)
			synctest.Wait()
			told := map[string]bool{}
			for _, r := range f.got {
				told[r.host+r.id()] = true
			}
			next := w.Crash() // what the disk holds at this moment
			testserver.StopNow(w.Server)
			w.Over = true
			underWay := map[string]bool{}
			for _, hook := range hooks {
				for _, d := range next.Deliveries(hook) {
					if d.Status == webhook.DeliveryPending && d.Attempts > 0 {
						underWay[hook.ID+webhook.MessageID(d.ID)] = true
					}
				}
			}
			before := len(f.got)
			next.Config.Hooks = f
			var err error
			next.Server, err = server.New(t.Context(), next.Config)
			testserver.Must(t, err)
			next.Start()
			w = next
			time.Sleep(35 * time.Second) // the attempts in doubt are due after 30
			synctest.Wait()
			for _, r := range f.got[before:] {
				i := strings.Index("ab", r.host[:1])
				if told[r.host+r.id()] && !underWay[hooks[i].ID+r.id()] {
					t.Errorf("%s was told %s again", r.host, r.id())
				}
			}
			happenAll(w, 50)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, hook := range hooks {
			if got := toldAll(w, hook); got != "map[success:400]" {
				t.Errorf("%s: %s", hook.Endpoint, got)
			}
		}
	})
}

func TestWhatWaitsForAWebhookGoesAfter30Days(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		w, _ := hooked(t)
		hook := w.Webhook("in")
		enable(w, hook, webhook.Disabled) // nothing waits yet
		testserver.StopNow(w.Server)
		w.Over = true
		w = w.Crash()
		enable(w, hook, webhook.Enabled)
		happen(w, "old")
		enable(w, hook, webhook.Disabled)
		time.Sleep(webhook.EventsKept - time.Hour)
		other := w.Webhook("other")
		happen(w, "new")
		testserver.Must(t, w.Server.Upkeep.Purge(t.Context()))
		if toldAll(w, hook) != "map[pending:1]" || toldAll(w, other) != "map[pending:1]" {
			t.Errorf("before 30 days: %s and %s", toldAll(w, hook), toldAll(w, other))
		}
		time.Sleep(2 * time.Hour)
		testserver.Must(t, w.Server.Upkeep.Purge(t.Context()))
		if toldAll(w, hook) != "map[]" || toldAll(w, other) != "map[pending:1]" {
			t.Errorf("after 30 days: %s and %s", toldAll(w, hook), toldAll(w, other))
		}
		if got := w.Rows(`SELECT count(*) FROM webhook_terms`); got != "0\n" {
			t.Errorf("%s terms stay", got)
		}
	})
}

func TestADeletedWebhookTakesAlongWhatItWanted(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.Idle(t)
	hook, other := w.Webhook("in"), w.Webhook("other")
	happen(w, "a")
	enable(w, hook, webhook.Disabled)
	enable(w, other, webhook.Disabled)
	testserver.Must(t, w.Server.Events.DeleteWebhook(t.Context(), w.Key, hook.ID))
	testserver.Must(t, w.Server.Audience.Clean(t.Context()))
	if got := w.Rows(`SELECT webhook_id FROM webhook_terms`); got != other.ID+"\n" {
		t.Errorf("terms of %s", got)
	}
}

func TestAnErasedAddressLeavesWhatWaitsForAWebhook(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.Idle(t)
	ctx := t.Context()
	hook := w.Webhook("in", webhook.ContactCreated)
	c, _, err := w.Server.Audience.PutContact(ctx, w.Key, app.ContactInput{Email: "ann@example.net"}, app.ConflictError)
	testserver.Must(t, err)
	_, err = w.Server.Audience.DeleteContact(ctx, w.Key, c, true)
	testserver.Must(t, err)
	w.Start() // with nobody who tells webhooks
	w.Until(func() bool {
		d, err := w.Server.Events.GetWebhookEvent(ctx, w.Key, hook.ID, w.Deliveries(hook)[0].ID)
		testserver.Must(t, err)
		return d.Attempts == 0 && strings.Contains(string(d.Payload), app.Erased) && !strings.Contains(string(d.Payload), "ann@")
	})
}
