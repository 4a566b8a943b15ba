package sdktest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	resendv3 "github.com/resend/resend-go/v3"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// hookThing is any object of the routes of webhooks, as the Node client gives it.
type hookThing struct {
	Object        string   `json:"object"`
	ID            string   `json:"id"`
	Endpoint      string   `json:"endpoint"`
	Status        string   `json:"status"`
	Events        []string `json:"events"`
	Type          string   `json:"type"`
	SigningSecret string   `json:"signing_secret"`
	HTTPStatus    int      `json:"http_status_code"`
	Response      string   `json:"response"`
	Deleted       bool     `json:"deleted"`
	Payload       struct{ Type string }
	Data          []hookThing `json:"data"`
}

// verdict is what the client's verify said: the event, or why it is refused.
type verdict struct {
	Type    string
	Refused string
	Data    map[string]any
}

func TestNodeClientWebhooks(t *testing.T) {
	part(t, "clients")
	inBothModes(t, nodeClientWebhooks)
}

func nodeClientWebhooks(t *testing.T, mode compat) {
	needNode(t)
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true, args: []string{"--webhook-allow", "127.0.0.0/8"}})
	var got struct {
		Created, One, Listed, Rotated, Events, Event, Attempts, Replayed, Updated, Disabled, Removed hookThing
		Sent                                                                                         struct{ ID string }
		Verified, Rotation                                                                           map[string]verdict
		Errors                                                                                       map[string]apiError
		Headers                                                                                      map[string]string
		Same                                                                                         bool
	}
	runNode(t, w.in.url, w.key, "webhooks.mjs", map[string]string{"FROM": "Shop <a@example.test>"}).into(t, &got)
	if got.Created.Object != "webhook" || !strings.HasPrefix(got.Created.SigningSecret, "whsec_") || got.One.SigningSecret != got.Created.SigningSecret ||
		got.One.Status != "enabled" || !slices.Equal(got.One.Events, []string{"email.sent", "contact.created"}) || len(got.Listed.Data) != 1 || got.Listed.Data[0].SigningSecret != "" {
		t.Errorf("created %+v, got %+v, listed %+v", got.Created, got.One, got.Listed)
	}
	good := got.Verified["good"]
	if good.Type != "email.sent" || good.Data["email_id"] != got.Sent.ID || good.Data["subject"] != "Hi" || good.Data["from"] != "Shop <a@example.test>" {
		t.Errorf("the event %+v", good)
	}
	for _, name := range []string{"changed", "foreign", "otherID", "old"} {
		if v := got.Verified[name]; v.Refused == "" {
			t.Errorf("%s: taken, %+v", name, v)
		}
	}
	for name, refused := range map[string]bool{"fresh": false, "former": false, "foreign": true} {
		if v := got.Rotation[name]; (v.Refused != "") != refused {
			t.Errorf("during the rotation, %s: %+v", name, v)
		}
	}
	if got.Rotated.ID != got.Created.ID || got.Rotated.SigningSecret == got.Created.SigningSecret {
		t.Errorf("rotated %+v", got.Rotated)
	}
	for _, name := range []string{"id", "timestamp", "signature"} {
		if v := got.Headers["webhook-"+name]; v == "" || v != got.Headers["svix-"+name] {
			t.Errorf("webhook-%s %q, svix-%s %q", name, v, name, got.Headers["svix-"+name])
		}
	}
	event := got.Events.Data[0]
	if len(got.Events.Data) != 2 || event.Type != "contact.created" || got.Event.ID != event.ID || got.Event.Payload.Type != "contact.created" ||
		got.Event.Object != "webhook_event" || got.Replayed.ID != event.ID || !got.Same {
		t.Errorf("events %+v, event %+v, replayed %+v", got.Events, got.Event, got.Replayed)
	}
	if a := got.Attempts.Data; len(a) != 1 || a[0].HTTPStatus != 200 || a[0].Response != "thanks" {
		t.Errorf("attempts %+v", a)
	}
	if got.Updated.ID != got.Created.ID || got.Disabled.Status != "disabled" || !slices.Equal(got.Disabled.Events, []string{"topic.created"}) || !got.Removed.Deleted {
		t.Errorf("updated %+v, disabled %+v, removed %+v", got.Updated, got.Disabled, got.Removed)
	}
	for name, want := range map[string]apiError{
		"unknown": {StatusCode: 422, Name: "validation_error"}, "refused": {StatusCode: 422, Name: "validation_error"}, "gone": {StatusCode: 404, Name: "not_found"},
	} {
		if e := got.Errors[name]; e.StatusCode != want.StatusCode || e.Name != want.Name {
			t.Errorf("%s: got %+v, want %+v", name, e, want)
		}
	}
}

// receiver is an endpoint on loopback.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
}

type received struct {
	header http.Header
	body   string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, received{req.Header, string(body)})
	}))
	t.Cleanup(r.Close)
	return r
}

// wait returns the n-th request with an event type, once it has arrived.
func (r *receiver) wait(t *testing.T, kind string, n int) (found received) {
	t.Helper()
	eventually(t, time.Minute, kind+" at the endpoint", func() (bool, string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		count, seen := 0, ""
		for _, one := range r.got {
			var event struct{ Type string }
			_ = json.Unmarshal([]byte(one.body), &event)
			seen += event.Type + " "
			if event.Type == kind {
				if count++; count == n {
					found = one
					return true, ""
				}
			}
		}
		return false, seen
	})
	return found
}

func (r received) options(secret string) *resendv3.VerifyWebhookOptions {
	return &resendv3.VerifyWebhookOptions{Payload: r.body, WebhookSecret: secret, Headers: resendv3.WebhookHeaders{
		Id: r.header.Get("svix-id"), Timestamp: r.header.Get("svix-timestamp"), Signature: r.header.Get("svix-signature"),
	}}
}

func TestGoV3ClientWebhooks(t *testing.T) {
	part(t, "clients")
	inBothModes(t, goV3ClientWebhooks)
}

func goV3ClientWebhooks(t *testing.T, mode compat) {
	w := newFixture(t, &fixtureOptions{compat: mode, direct: true, args: []string{"--webhook-allow", "127.0.0.0/8"}})
	c, seen := v3Client(t, w.in.url, w.key)
	hooks, other := newReceiver(t), newReceiver(t)
	made, err := c.Webhooks.Create(&resendv3.CreateWebhookRequest{Endpoint: hooks.URL, Events: []string{"email.sent", "suppression.added"}})
	must(t, err)
	foreign, err := c.Webhooks.Create(&resendv3.CreateWebhookRequest{Endpoint: other.URL, Events: []string{"email.sent"}})
	must(t, err)
	got, err := c.Webhooks.Get(made.Id)
	must(t, err)
	list, err := c.Webhooks.List()
	must(t, err)
	if got.SigningSecret != made.SigningSecret || got.Endpoint != hooks.URL || got.Status != "enabled" || len(list.Data) != 2 || list.Data[0].Id != foreign.Id {
		t.Errorf("%+v %+v", got, list)
	}
	sent, err := c.Emails.Send(&resendv3.SendEmailRequest{From: "a@example.test", To: []string{"ann@example.com"}, Subject: "Hi", Text: "x"})
	must(t, err)
	event, otherEvent := hooks.wait(t, "email.sent", 1), other.wait(t, "email.sent", 1)
	if !strings.Contains(event.body, sent.Id) || event.header.Get("Webhook-Id") != otherEvent.header.Get("Webhook-Id") {
		t.Errorf("%s", event.body)
	}
	wantVerified(t, c, event, made.SigningSecret, true)
	wantVerified(t, c, otherEvent, foreign.SigningSecret, true)
	wantVerified(t, c, otherEvent, made.SigningSecret, false)
	changed := received{event.header.Clone(), strings.Replace(event.body, "Hi", "Ho", 1)}
	wantVerified(t, c, changed, made.SigningSecret, false)
	late := received{event.header.Clone(), event.body}
	for _, family := range []string{"Svix-", "Webhook-"} {
		late.header.Set(family+"Timestamp", "1614265330")
	}
	wantVerified(t, c, late, made.SigningSecret, false)

	status, answer := client{w.in.url, w.key}.do(t, "POST", "/webhooks/"+made.Id+"/signing-secret/rotate", nil)
	var rotated hookThing
	if err := json.Unmarshal(answer, &rotated); status != 200 || err != nil {
		t.Fatalf("rotate: %d %s", status, answer)
	}
	_, err = c.Suppressions.Add(&resendv3.AddSuppressionRequest{Email: "bob@example.com"})
	must(t, err)
	during := hooks.wait(t, "suppression.added", 1)
	wantVerified(t, c, during, rotated.SigningSecret, true)
	wantVerified(t, c, during, made.SigningSecret, true)
	wantVerified(t, c, during, foreign.SigningSecret, false)

	disabled := "disabled"
	if _, err := c.Webhooks.Update(made.Id, &resendv3.UpdateWebhookRequest{Status: &disabled}); err != nil {
		t.Fatal(err)
	}
	got, err = c.Webhooks.Get(made.Id)
	must(t, err)
	removed, err := c.Webhooks.Remove(foreign.Id)
	must(t, err)
	if got.Status != "disabled" || !removed.Deleted || removed.Id != foreign.Id {
		t.Errorf("%+v %+v", got, removed)
	}
	if _, err := c.Webhooks.Get(foreign.Id); err == nil || seen.last.StatusCode != 404 {
		t.Errorf("removed: %v", err)
	}
	if _, err := c.Webhooks.Create(&resendv3.CreateWebhookRequest{Endpoint: hooks.URL, Events: []string{"email.lost"}}); err == nil || seen.last.StatusCode != 422 {
		t.Errorf("an unknown event: %v", err)
	}
}

// wantVerified asks two verifiers of other makes.
func wantVerified(t *testing.T, c *resendv3.Client, r received, secret string, want bool) {
	t.Helper()
	calls.note(goV3Client, "Webhooks.Verify")
	if err := c.Webhooks.Verify(r.options(secret)); (err == nil) != want {
		t.Errorf("the client's verify: %v, want %v", err, want)
	}
	oracle, err := standardwebhooks.NewWebhook(secret)
	must(t, err)
	if err := oracle.Verify([]byte(r.body), r.header); (err == nil) != want {
		t.Errorf("the scheme's own verify: %v, want %v", err, want)
	}
}

// TestWebhooksCannotReachPrivateHosts: an endpoint on loopback gets nothing unless --webhook-allow
// names it.
func TestWebhooksCannotReachPrivateHosts(t *testing.T) {
	part(t, "clients")
	t.Parallel()
	w := newFixture(t, &fixtureOptions{direct: true})
	api := client{w.in.url, w.key}
	canary := newReceiver(t)
	_, port, _ := strings.Cut(strings.TrimPrefix(canary.URL, "http://"), ":")
	for _, endpoint := range []string{canary.URL, "https://127.0.0.1:" + port, "https://[::ffff:127.0.0.1]:" + port} {
		if status, b := api.do(t, "POST", "/webhooks", map[string]any{"endpoint": endpoint, "events": []string{"suppression.added"}}); status != 422 {
			t.Errorf("%s: %d %s", endpoint, status, b)
		}
	}
	var hook hookThing
	_, answer := api.do(t, "POST", "/webhooks", map[string]any{"endpoint": "https://localhost:" + port + "/in", "events": []string{"suppression.added"}})
	must(t, json.Unmarshal(answer, &hook))
	api.do(t, "POST", "/suppressions", map[string]any{"email": "ann@example.com"})
	eventually(t, time.Minute, "an attempt", func() (bool, string) {
		var events, attempts hookThing
		api.get(t, "/webhooks/"+hook.ID+"/events", &events)
		if len(events.Data) == 0 {
			return false, "no event"
		}
		api.get(t, "/webhooks/"+hook.ID+"/events/"+events.Data[0].ID+"/attempts", &attempts)
		return len(attempts.Data) > 0 && attempts.Data[0].HTTPStatus == 0 && strings.Contains(attempts.Data[0].Response, "not public"), attempts.text()
	})
	canary.mu.Lock()
	defer canary.mu.Unlock()
	if len(canary.got) > 0 {
		t.Errorf("the canary got %+v", canary.got)
	}
}

func (h hookThing) text() string {
	b, _ := json.Marshal(h)
	return string(b)
}
