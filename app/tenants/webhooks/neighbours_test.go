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

// others makes a second team with a webhook that hears of topics.
func others(w *testserver.World, endpoint string) (*app.Key, webhook.Webhook) {
	w.T.Helper()
	key := w.AddTeam("Other", "example.org")
	hook, err := w.Server.Events.CreateWebhook(w.T.Context(), key, webhook.Input{Endpoint: endpoint, Events: []webhook.EventName{webhook.TopicCreated}})
	testserver.Must(w.T, err)
	return key, hook
}

func happenTo(w *testserver.World, key *app.Key, name string) {
	w.T.Helper()
	_, err := w.Server.Topics.CreateTopic(w.T.Context(), key, app.TopicInput{Name: name, Default: app.OptIn})
	testserver.Must(w.T, err)
}

func TestATeamsHangingEndpointsDelayNoOtherTeam(t *testing.T) {
	for _, n := range []int{20, 500} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				w, f := hooked(t)
				for i := range n {
					w.Webhook(fmt.Sprint("dead", i))
				}
				key, _ := others(w, "https://good.example.com/in")
				f.set(func(ctx context.Context, r request) (*http.Response, error) {
					if strings.HasPrefix(r.host, "dead") {
						return hang(ctx, r)
					}
					return status(200, ""), nil
				})
				happenAll(w, 100)
				for i := range 30 { // before and after the dead ones are known to be dead
					begin := time.Now()
					happenTo(w, key, fmt.Sprint(i))
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

func TestEndpointsThatHangAtAHostLeaveRoomForAnotherTeamThere(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		hear := func(key *app.Key, path string) {
			_, err := w.Server.Events.CreateWebhook(t.Context(), key, webhook.Input{Endpoint: "https://shared.example.com/" + path, Events: []webhook.EventName{webhook.TopicCreated}})
			testserver.Must(t, err)
		}
		for i := range 40 {
			hear(w.Key, fmt.Sprint("dead", i))
		}
		key, _ := others(w, "https://shared.example.com:443/good")
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
		happenAll(w, 20)
		for i := range 15 {
			happenTo(w, key, fmt.Sprint(i))
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
		if most > webhooks.HostShare || most < webhooks.HostShare/2 {
			t.Errorf("%d attempts at once to one host", most)
		}
	})
}

func TestPlacesAreSharedByTeams(t *testing.T) {
	p := webhooks.NewPool(64)
	fill := func(team string) (n int) {
		for ; p.Room(team) > 0; n++ {
			p.Take(team, 1)
		}
		return n
	}
	if whole := p.Room("a"); whole != 32 {
		t.Errorf("a team may take %d places", whole)
	}
	if a, b, c, d := fill("a"), fill("b"), fill("c"), fill("d"); a != 32 || b != 16 || c != 8 || d != 4 {
		t.Errorf("%d %d %d %d", a, b, c, d)
	}
	p.Take("a", -32)
	if a, b := fill("a"), fill("b"); a != 18 || b != 1 {
		t.Errorf("again %d %d", a, b)
	}
	for _, team := range []string{"a", "b", "c", "d"} {
		for p.Held(team) > 0 {
			p.Take(team, -1)
		}
	}
	if p.Room("e") != 32 || p.Teams() != 0 {
		t.Errorf("%d places, %d teams", p.Room("e"), p.Teams())
	}
}

func TestABatchOfWhich500WebhooksHearIsARowForEachContact(t *testing.T) {
	w := testserver.IdleWith(t, server.Config{WebhooksPerTeam: webhook.MaxPerTeam})
	for i := range webhook.MaxPerTeam - 1 { // the world has one
		w.Webhook(fmt.Sprint("in", i), webhook.ContactCreated, webhook.TopicCreated)
	}
	_, err := w.Server.Events.CreateWebhook(t.Context(), w.Key, webhook.Input{Endpoint: "https://a.example", Events: topicNames})
	testserver.WantCode(t, err, app.CodeConflict)
	var items []audience.ContactItem
	for i := range 200 {
		items = append(items, audience.ContactItem{Input: &app.ContactInput{Email: fmt.Sprint("u", i, "@example.net")}})
	}
	_, err = w.Server.Audience.PutContacts(t.Context(), w.Key, items, app.ConflictError, false)
	testserver.Must(t, err)
	if got := w.Rows(`SELECT (SELECT count(*) FROM happenings WHERE type = 'contact.created'), (SELECT count(*) FROM deliveries)`); got != "200 0\n" {
		t.Errorf("events and deliveries: %s", got)
	}
}

func TestATeamHasAsManyWebhooksAsTheOperatorSays(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		for i := range webhook.DefaultPerTeam + 5 {
			w.Webhook(fmt.Sprint("in", i))
		}
		testserver.StopNow(w.Server)
		next := w.Crash()
		next.Config.Hooks, next.Config.WebhooksPerTeam = f, 0
		var err error
		next.Server, err = server.New(t.Context(), next.Config)
		testserver.Must(t, err)
		next.Start()
		_, err = next.Server.Events.CreateWebhook(t.Context(), next.Key, webhook.Input{Endpoint: "https://a.example", Events: topicNames})
		testserver.WantCode(t, err, app.CodeConflict)
		if !strings.Contains(err.Error(), "at most 20 webhooks") {
			t.Errorf("refused with %q", err)
		}
		others(next, "https://other.example.com/in")
		happen(next, "a")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(f.got) != webhook.DefaultPerTeam+5 {
			t.Errorf("%d of those over the limit heard", len(f.got))
		}
		if got := f.to("other.example.com"); len(got) > 0 {
			t.Errorf("the other team heard of %s", got[0].body)
		}
		w.Over = true
	})
}
