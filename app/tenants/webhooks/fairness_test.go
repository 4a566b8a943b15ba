package webhooks_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/server"
	"mailer/app/tenants/audience"
	"mailer/app/tenants/webhooks"
	"mailer/app/testing/testserver"
)

// addEndpoints makes a second team with a webhook for topics.
func addEndpoints(w *testserver.Server, endpoint string) (*app.Key, webhook.Webhook) {
	w.T.Helper()
	key := w.AddTeam("Other", "example.org")
	hook, err := w.Services.Webhooks.CreateWebhook(w.T.Context(), key, webhook.Input{Endpoint: endpoint, Events: []webhook.EventName{webhook.TopicCreated}})
	testserver.Must(w.T, err)
	return key, hook
}

func createTopicsAs(w *testserver.Server, key *app.Key, name string) {
	w.T.Helper()
	_, err := w.Services.Topics.CreateTopic(w.T.Context(), key, app.TopicInput{Name: name, Default: app.OptIn})
	testserver.Must(w.T, err)
}

func TestHangingEndpointsDelayNoOtherTeam(t *testing.T) {
	for _, n := range []int{20, 500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, f := newWebhookServer(t)
				for i := range n {
					w.AddWebhook(fmt.Sprint("dead", i))
				}
				key, _ := addEndpoints(w, "https://good.example.com/in")
				f.set(func(ctx context.Context, r request) (*http.Response, error) {
					if strings.HasPrefix(r.host, "dead") {
						return hang(ctx, r)
					}
					return status(200, ""), nil
				})
				createTopicsInOneWrite(w, 100)
				for i := range 30 { // before and after the dead endpoints count as slow
					begin := time.Now()
					createTopicsAs(w, key, fmt.Sprint(i))
					time.Sleep(time.Second)
					synctest.Wait()
					if got := f.to("good.example.com"); len(got) != i+1 || got[i].at.Sub(begin) > time.Second {
						t.Fatalf("the other team heard of %d events, want %d", len(got), i+1)
					}
				}
			})
		})
	}
}

func TestHangingHostLeavesSlotsForOtherTeams(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		receive := func(key *app.Key, path string) {
			_, err := w.Services.Webhooks.CreateWebhook(t.Context(), key, webhook.Input{Endpoint: "https://shared.example.com/" + path, Events: []webhook.EventName{webhook.TopicCreated}})
			testserver.Must(t, err)
		}
		for i := range 40 {
			receive(w.Key, fmt.Sprint("dead", i))
		}
		key, _ := addEndpoints(w, "https://shared.example.com:443/good")
		var mu sync.Mutex
		now, most := 0, 0
		f.set(func(ctx context.Context, r request) (*http.Response, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			defer func() { mu.Lock(); now--; mu.Unlock() }()
			if r.path != "/good" {
				return hang(ctx, r)
			}
			return status(200, ""), nil
		})
		createTopicsInOneWrite(w, 20)
		for i := range 15 {
			createTopicsAs(w, key, fmt.Sprint(i))
			time.Sleep(time.Second)
			synctest.Wait()
			good := 0
			for _, r := range f.to("shared.example.com") {
				if r.path == "/good" {
					good++
				}
			}
			if good != i+1 {
				t.Fatalf("the other team heard of %d events, want %d", good, i+1)
			}
		}
		if most > webhooks.MaxPerHost || most < webhooks.MaxPerHost/2 {
			t.Errorf("%d attempts at once to one host", most)
		}
	})
}

func TestEventFor500WebhooksIsStoredOnce(t *testing.T) {
	w := testserver.NewWithConfig(t, server.Config{WebhooksPerTeam: webhook.MaxPerTeam})
	for i := range webhook.MaxPerTeam - 1 { // the test server has one
		w.AddWebhook(fmt.Sprint("in", i), webhook.ContactCreated, webhook.TopicCreated)
	}
	_, err := w.Services.Webhooks.CreateWebhook(t.Context(), w.Key, webhook.Input{Endpoint: "https://a.example", Events: topicNames})
	testserver.WantCode(t, err, app.CodeConflict)
	var items []audience.ContactItem
	for i := range 200 {
		items = append(items, audience.ContactItem{Input: &app.ContactInput{Email: fmt.Sprint("u", i, "@example.net")}})
	}
	_, err = w.Services.Audience.PutContacts(t.Context(), w.Key, items, app.ConflictError, false)
	testserver.Must(t, err)
	if got := w.Rows(`SELECT (SELECT count(*) FROM webhook_events WHERE type = 'contact.created'), (SELECT count(*) FROM deliveries)`); got != "200 0\n" {
		t.Errorf("events and deliveries: %s", got)
	}
}

func TestWebhookLimitPerTeam(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		for i := range webhook.DefaultPerTeam + 5 {
			w.AddWebhook(fmt.Sprint("in", i))
		}
		testserver.StopNow(w.Services)
		next := w.Crash()
		next.Config.WebhookTransport, next.Config.WebhooksPerTeam = f, 0
		var err error
		next.Services, err = server.New(t.Context(), next.Config)
		testserver.Must(t, err)
		next.Start()
		_, err = next.Services.Webhooks.CreateWebhook(t.Context(), next.Key, webhook.Input{Endpoint: "https://a.example", Events: topicNames})
		testserver.WantCode(t, err, app.CodeConflict)
		if !strings.Contains(err.Error(), "at most 20 webhooks") {
			t.Errorf("refused with %q", err)
		}
		addEndpoints(next, "https://other.example.com/in")
		createTopics(next, "a")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(f.got) != webhook.DefaultPerTeam+5 {
			t.Errorf("%d of those over the limit heard", len(f.got))
		}
		if got := f.to("other.example.com"); len(got) > 0 {
			t.Errorf("the other team heard of %s", got[0].body)
		}
		w.Stopped = true
	})
}
