package webhooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/webhook"
	"mailer/app/sending/mail"
	"mailer/app/server"
	"mailer/app/testing/testserver"
	"mailer/db"
)

// request is a request that an endpoint received.
type request struct {
	at     time.Time
	host   string
	path   string
	header http.Header
	body   string
}

func (r *request) id() string { return r.header.Get("Webhook-Id") }

// endpoints answers for all endpoints of the Internet.
type endpoints struct {
	mu     sync.Mutex
	got    []request
	answer func(ctx context.Context, r request) (*http.Response, error) // nil: 200
}

func status(code int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// RoundTrip implements http.RoundTripper.
func (f *endpoints) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	one := request{time.Now(), r.URL.Hostname(), r.URL.Path, r.Header, string(body)}
	f.mu.Lock()
	f.got = append(f.got, one)
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return status(200, "ok"), nil
	}
	return answer(r.Context(), one)
}

func (f *endpoints) set(answer func(ctx context.Context, r request) (*http.Response, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// to returns the requests to a host.
func (f *endpoints) to(host string) []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.got), func(r request) bool { return r.host != host })
}

var errRefused = errors.New("the host refused the connection")

func refuse(context.Context, request) (*http.Response, error) { return nil, errRefused }

// hang never answers.
func hang(ctx context.Context, _ request) (*http.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// newWebhookServer starts a test server that delivers to webhooks and sends no mail.
func newWebhookServer(t testing.TB) (*testserver.Server, *endpoints) {
	t.Helper()
	f := &endpoints{}
	w := testserver.NewWithConfig(t, server.Config{WebhookTransport: f, WebhooksPerTeam: webhook.MaxPerTeam})
	rows, _, err := w.Services.Webhooks.ListWebhooks(t.Context(), w.Key, app.Page{Limit: 100})
	testserver.Must(t, err)
	for _, row := range rows { // that of the test server
		testserver.Must(t, w.Services.Webhooks.DeleteWebhook(t.Context(), w.Key, row.ID))
	}
	w.Start()
	return w, f
}

// wantGaps compares the pauses between requests, in seconds.
func wantGaps(t *testing.T, got []request, want ...time.Duration) {
	t.Helper()
	var gaps []time.Duration
	for i := 1; i < len(got); i++ {
		gaps = append(gaps, got[i].at.Sub(got[i-1].at).Round(time.Second))
	}
	if !slices.Equal(gaps, want) {
		t.Errorf("pauses %v, want %v", gaps, want)
	}
}

func TestReplayHastensPendingDelivery(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("in")
		since := time.Now().Add(-time.Minute)
		f.set(refuse)
		createTopics(w, "first")
		time.Sleep(10 * time.Second) // the second attempt failed too, and the third is minutes away
		f.set(func(context.Context, request) (*http.Response, error) { return status(200, ""), nil })
		out, err := w.Services.Webhooks.ReplayWebhook(t.Context(), w.Key, hook.ID, webhook.Replay{Since: since})
		testserver.Must(t, err)
		time.Sleep(time.Second)
		synctest.Wait()
		if out.Queued != 1 || deliveryCounts(w, hook) != "map[success:1]" || len(f.got) != 3 {
			t.Errorf("%+v, %s after %d requests", out, deliveryCounts(w, hook), len(f.got))
		}
	})
}

func TestReplayRepeatsAnyDelivery(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("in")
		createTopics(w, "first")
		time.Sleep(time.Second)
		d := w.Deliveries(hook)[0]
		replay := func() {
			t.Helper()
			testserver.Must(t, w.Services.Webhooks.ReplayWebhookEvent(t.Context(), w.Key, hook.ID, d.ID))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		replay()
		if len(f.got) != 2 || f.got[0].id() != f.got[1].id() || f.got[0].body != f.got[1].body || len(w.Attempts(d)) != 2 {
			t.Fatalf("%d requests", len(f.got))
		}
		slowly := func(context.Context, request) (*http.Response, error) {
			time.Sleep(1900 * time.Millisecond)
			return status(200, ""), nil
		}
		f.set(slowly)
		replay()
		replay() // while the attempt runs, and slots are free
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if deliveryCounts(w, hook) != "map[success:1]" || len(f.got) != 4 {
			t.Errorf("%s after %d requests", deliveryCounts(w, hook), len(f.got))
		}
		f.set(refuse)
		replay()
		if deliveryCounts(w, hook) != "map[pending:1]" {
			t.Errorf("replayed in vain: %s", deliveryCounts(w, hook))
		}
		time.Sleep(48 * time.Hour)
		if deliveryCounts(w, hook) != "map[failed:1]" || len(f.got) != 12 {
			t.Errorf("%s after %d requests", deliveryCounts(w, hook), len(f.got))
		}
		f.set(func(context.Context, request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return status(200, ""), nil
		})
		replay()
		replay() // while the attempt runs
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if deliveryCounts(w, hook) != "map[success:1]" || len(f.got) != 14 {
			t.Errorf("%s after %d requests", deliveryCounts(w, hook), len(f.got))
		}
		enable(w, hook, webhook.Disabled)
		testserver.WantCode(t, w.Services.Webhooks.ReplayWebhookEvent(t.Context(), w.Key, hook.ID, d.ID), app.CodeConflict)
		testserver.WantCode(t, w.Services.Webhooks.ReplayWebhookEvent(t.Context(), w.Key, hook.ID, app.NewID()), app.CodeNotFound)
		testserver.WantCode(t, w.Services.Webhooks.ReplayWebhookEvent(t.Context(), w.Key, app.NewID(), d.ID), app.CodeNotFound)
		otherTeams := w.AddTeam("Other", "example.org")
		testserver.WantCode(t, w.Services.Webhooks.ReplayWebhookEvent(t.Context(), otherTeams, hook.ID, d.ID), app.CodeNotFound)
	})
}

func TestRequestsAreSignedWithAllValidSecrets(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("in")
		old := hook.Secrets[0]
		rotated, err := w.Services.Webhooks.RotateSigningSecret(t.Context(), w.Key, hook.ID, webhook.Rotation{})
		testserver.Must(t, err)
		createTopics(w, "during")
		time.Sleep(time.Second)
		w.StopFor(24*time.Hour - time.Second)
		createTopics(w, "after")
		time.Sleep(time.Second)
		synctest.Wait()
		got := f.to("in.example.com")
		if len(got) != 2 {
			t.Fatalf("%d requests", len(got))
		}
		for i, want := range [][]webhook.SigningSecret{{rotated.Secrets[0], old}, {rotated.Secrets[0]}} {
			r := got[i]
			signature := webhook.Sign(want, r.id(), r.at, []byte(r.body))
			for _, family := range []string{"Webhook-", "Svix-"} {
				if r.header.Get(family+"Signature") != signature || r.header.Get(family+"Timestamp") != fmt.Sprint(r.at.Unix()) || r.header.Get(family+"Id") != r.id() {
					t.Errorf("%d: %v, want %s", i, r.header, signature)
				}
			}
			if r.header.Get("Content-Type") != "application/json" {
				t.Errorf("content type %q", r.header.Get("Content-Type"))
			}
			if r.header.Get("User-Agent") != "Mailer-Webhooks/1.0" {
				t.Errorf("user agent %q", r.header.Get("User-Agent"))
			}
		}
	})
}

func TestOnlySubscribedEnabledWebhooksGetEvents(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	otherTeams := w.AddTeam("Other", "example.org")
	count := func(hook webhook.Webhook) int { t.Helper(); return len(w.Deliveries(hook)) }
	topics := w.AddWebhook("topics")
	other := w.AddWebhook("contacts", webhook.ContactCreated)
	createTopics(w, "a")
	if count(topics) != 1 || count(other) != 0 {
		t.Errorf("%d and %d events", count(topics), count(other))
	}
	_, err := w.Services.Webhooks.UpdateWebhook(ctx, w.Key, other.ID, webhook.Patch{Events: []webhook.EventName{webhook.TopicCreated, webhook.TopicDeleted}})
	testserver.Must(t, err)
	enable(w, topics, webhook.Disabled)
	createTopics(w, "b")
	_, err = w.Services.Topics.CreateTopic(ctx, otherTeams, app.TopicInput{Name: "theirs", Default: app.OptIn})
	testserver.Must(t, err)
	if count(topics) != 1 || count(other) != 1 {
		t.Errorf("%d and %d events", count(topics), count(other))
	}
	enable(w, topics, webhook.Enabled)
	testserver.Must(t, w.Services.Webhooks.DeleteWebhook(ctx, w.Key, other.ID))
	createTopics(w, "c")
	if got := w.Rows(`SELECT count(*) FROM deliveries WHERE webhook_id = '` + other.ID + `'`); count(topics) != 2 || got != "0\n" {
		t.Errorf("%d events, and %s", count(topics), got)
	}
	again, err := server.New(ctx, w.Config) // another process, or the next start
	testserver.Must(t, err)
	if got := again.Webhooks.Subscriptions().SubscriberIDs(w.Key.TeamID, webhook.TopicCreated); !slices.Contains(got, topics.ID) || slices.Contains(got, other.ID) {
		t.Errorf("read anew: %q", got)
	}
}

func TestDeliveriesAreDeletedWithWebhookAndByAge(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		count := func(hook webhook.Webhook) string {
			return w.Rows(`SELECT count(*), (SELECT count(*) FROM webhook_attempts WHERE webhook_id = '` + hook.ID + `')
				FROM deliveries WHERE webhook_id = '` + hook.ID + `'`)
		}
		f.set(refuse)
		deleted, stays := w.AddWebhook("gone"), w.AddWebhook("stays")
		createTopicsInOneWrite(w, 1200)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		testserver.Must(t, w.Services.Webhooks.DeleteWebhook(t.Context(), w.Key, deleted.ID))
		testserver.Must(t, w.Services.Audience.PurgeLeftovers(t.Context()))
		if count(deleted) != "0 0\n" || count(stays) != "1200 1200\n" {
			t.Errorf("gone %s, stays %s", count(deleted), count(stays))
		}
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		if count(stays) != "1200 1200\n" {
			t.Errorf("before 30 days: %s", count(stays))
		}
		w.SQL("UPDATE webhook_events SET created_at = created_at - ?", (webhook.EventRetention + time.Minute).Milliseconds())
		createTopics(w, "new")
		testserver.Must(t, w.Services.Jobs.Purge(t.Context()))
		if count(stays) != "1 0\n" && count(stays) != "1 1\n" {
			t.Errorf("after 30 days: %s", count(stays))
		}
	})
}

func TestResponsesAreTruncated(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("in")
		f.set(func(context.Context, request) (*http.Response, error) {
			return status(500, "a\x00b\x1b[31m\xff\n"+strings.Repeat("é", 2000)), nil
		})
		createTopics(w, "first")
		time.Sleep(time.Second)
		got := w.Attempts(w.Deliveries(hook)[0])[0]
		if !strings.HasPrefix(got.Response, "ab[31m\né") || len(got.Response) > webhook.MaxResponse || strings.ContainsRune(got.Response, 0xfffd) {
			t.Errorf("%q", got.Response)
		}
		f.set(hang)
		createTopics(w, "second")
		time.Sleep(11 * time.Second)
		if got := w.Attempts(w.Deliveries(hook)[1]); len(got) != 1 || got[0].HTTPStatus != 0 || got[0].Response != "No answer within 10 seconds" {
			t.Errorf("%+v", got)
		}
	})
}

func TestErasureScrubsEndpointResponses(t *testing.T) {
	w := testserver.New(t)
	ctx := t.Context()
	f := &endpoints{}
	w.Config.WebhookTransport = f
	f.set(func(_ context.Context, r request) (*http.Response, error) {
		return status(200, "you said "+r.body), nil
	})
	var err error
	w.Services, err = server.New(ctx, w.Config)
	testserver.Must(t, err)
	hook := w.AddWebhook("echo", webhook.SuppressionAdded)
	w.Start()
	_, err = w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "ann@example.net"})
	testserver.Must(t, err)
	w.WaitUntil(func() bool { return deliveryCounts(w, hook) == "map[success:1]" })
	if got := w.Attempts(w.Deliveries(hook)[0])[0].Response; !strings.Contains(got, "ann@example.net") {
		t.Fatalf("the endpoint answered %q", got)
	}
	c, _, err := w.Services.Audience.PutContact(ctx, w.Key, app.ContactInput{Email: "ann@example.net"}, app.ConflictError)
	testserver.Must(t, err)
	_, err = w.Services.Audience.DeleteContact(ctx, w.Key, c, true)
	testserver.Must(t, err)
	w.WaitUntil(func() bool {
		return !strings.Contains(w.Rows(`SELECT response FROM webhook_attempts`)+w.Rows(`SELECT payload FROM webhook_events`), "ann@")
	})
	// A response read before the erasure and stored after it is dropped.
	d, err := w.Services.Webhooks.GetWebhookEvent(ctx, w.Key, hook.ID, w.Deliveries(hook)[0].ID)
	testserver.Must(t, err)
	d.Payload = []byte(strings.ReplaceAll(string(d.Payload), app.Erased, "ann@example.net"))
	late := webhook.Attempt{Response: "you said ann@example.net"}
	testserver.Must(t, w.DB.Write(ctx, func(tx *db.Tx) error { return w.Services.Webhooks.Dispatcher().DropErased(tx, d, &late) }))
	if late.Response != "" {
		t.Errorf("kept %q", late.Response)
	}
}

func TestEmailEventPayloads(t *testing.T) {
	testserver.BothEngines(t)
	w := testserver.New(t)
	ctx := t.Context()
	hook := w.AddWebhook("in", webhook.EmailScheduled, webhook.EmailSuppressed)
	_, err := w.Services.Suppressions.AddSuppression(ctx, w.Key, app.SuppressionInput{Email: "gone@example.net"})
	testserver.Must(t, err)
	in := testserver.Message("Bob <bob@example.net>")
	in.Cc = []string{"gone@example.net"}
	in.ScheduledAt = "in 1 hour"
	in.Tags = []app.Tag{{Name: "kind", Value: "welcome"}}
	in.Headers = map[string]string{"X-Order": "7"}
	id, err := w.Services.Mail.SendEmail(ctx, w.Key, in, mail.SendOptions{})
	testserver.Must(t, err)
	w.Send("eve@example.net") // immediate: no event yet
	rows := w.Deliveries(hook)
	if len(rows) != 2 {
		t.Fatalf("%d events", len(rows))
	}
	payloads := map[webhook.EventName]map[string]any{}
	for _, row := range rows {
		d, err := w.Services.Webhooks.GetWebhookEvent(ctx, w.Key, hook.ID, row.ID)
		testserver.Must(t, err)
		var payload struct {
			Type webhook.EventName
			Data map[string]any
		}
		testserver.Must(t, json.Unmarshal(d.Payload, &payload))
		payloads[payload.Type] = payload.Data
	}
	email := w.Email(id)
	want := map[string]any{
		"email_id": id, "message_id": "<" + email.MessageID + ">", "created_at": app.FormatTime(email.CreatedAt),
		"from": "Ann <ann@" + testserver.TestDomain + ">", "to": []any{"Bob <bob@example.net>"}, "subject": "Hi",
		"tags": map[string]any{"kind": "welcome"}, "headers": []any{map[string]any{"name": "X-Order", "value": "7"}},
	}
	if got := payloads[webhook.EmailScheduled]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("email.scheduled\n%v, want\n%v", got, want)
	}
	got := payloads[webhook.EmailSuppressed]
	suppressed, _ := got["suppressed"].(map[string]any)
	if got["recipient"] != "gone@example.net" || suppressed["type"] != "OnAccountSuppressionList" || suppressed["message"] == "" ||
		suppressed["reason"] != "manual" || fmt.Sprint(suppressed["diagnosticCode"]) != "[]" {
		t.Errorf("email.suppressed %v", got)
	}
}

func TestUnwantedEventIsNotStored(t *testing.T) {
	w := testserver.New(t)
	testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error {
		return w.Services.Mail.AnnounceEmail(tx, w.Key.TeamID, webhook.EmailSent, "x", webhook.EmailExtra{})
	}))
	if got := w.Rows(`SELECT count(*) FROM webhook_events WHERE type = 'email.sent'`); got != "0\n" {
		t.Errorf("%s events", got)
	}
}

func BenchmarkAnnounceWithoutSubscriber(b *testing.B) {
	w := testserver.New(b)
	testserver.Must(b, w.DB.Write(b.Context(), func(tx *db.Tx) error {
		b.ReportAllocs()
		for b.Loop() {
			if err := w.Services.Mail.AnnounceEmail(tx, w.Key.TeamID, webhook.EmailSent, "x", webhook.EmailExtra{}); err != nil {
				return err
			}
		}
		return nil
	}))
}
