package engine

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
	"mailer/db"
)

// request is one that an endpoint got.
type request struct {
	at     time.Time
	host   string
	header http.Header
	body   string
}

func (r *request) id() string { return r.header.Get("Webhook-Id") }

// endpoints stand for all endpoints of the Internet.
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
	one := request{time.Now(), r.URL.Host, r.Header, string(body)}
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

// to gives what a host got so far.
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

// hooked makes a world that tells webhooks, and sends no mail.
func hooked(t testing.TB) (*world, *endpoints) {
	t.Helper()
	f := &endpoints{}
	w := idleWith(t, Config{Hooks: f})
	rows, _, err := w.e.ListWebhooks(t.Context(), w.key, app.Page{Limit: 100})
	must(t, err)
	for _, row := range rows { // that of the world
		must(t, w.e.DeleteWebhook(t.Context(), w.key, row.ID))
	}
	w.start()
	return w, f
}

// webhook makes one that hears of topics, at https://NAME.example.com.
func (w *world) webhook(name string, events ...app.EventName) app.Webhook {
	w.t.Helper()
	if len(events) == 0 {
		events = []app.EventName{app.TopicCreated}
	}
	hook, err := w.e.CreateWebhook(w.t.Context(), w.key, app.WebhookInput{Endpoint: "https://" + name + ".example.com/in", Events: events})
	must(w.t, err)
	return hook
}

// happen has n topics made, which webhooks hear of.
func (w *world) happen(names ...string) {
	w.t.Helper()
	for _, name := range names {
		_, err := w.e.CreateTopic(w.t.Context(), w.key, app.TopicInput{Name: name, Default: app.OptIn})
		must(w.t, err)
	}
}

// happenAll is happen for n topics in one Write.
func (w *world) happenAll(n int) {
	w.t.Helper()
	must(w.t, w.db.Write(w.t.Context(), func(tx *db.Tx) error {
		for i := range n {
			topic := app.Topic{ID: app.NewID(), TeamID: w.key.TeamID, Name: fmt.Sprint("topic ", i), CreatedAt: tx.Now, UpdatedAt: tx.Now}
			if err := w.e.announceTopic(tx, app.TopicCreated, &topic); err != nil {
				return err
			}
		}
		return nil
	}))
}

// deliveries are all events of a webhook, oldest first.
func (w *world) deliveries(hook app.Webhook) []app.Delivery {
	w.t.Helper()
	var all []app.Delivery
	for page := (app.Page{Limit: 100}); ; {
		rows, more, err := w.e.ListWebhookEvents(w.t.Context(), w.key, hook.ID, page)
		must(w.t, err)
		all = append(all, rows...)
		if !more {
			slices.Reverse(all)
			return all
		}
		page.After = rows[len(rows)-1].ID
	}
}

// toldAll counts the events of a webhook by status.
func (w *world) toldAll(hook app.Webhook) string {
	w.t.Helper()
	counts := map[app.DeliveryStatus]int{}
	for _, d := range w.deliveries(hook) {
		counts[d.Status]++
	}
	return fmt.Sprint(counts)
}

func (w *world) attempts(d app.Delivery) []app.WebhookAttempt {
	w.t.Helper()
	rows, _, err := w.e.ListWebhookAttempts(w.t.Context(), w.key, d.WebhookID, d.ID, app.Page{Limit: 100})
	must(w.t, err)
	slices.Reverse(rows)
	return rows
}

func (w *world) hook(hook app.Webhook) app.Webhook {
	w.t.Helper()
	got, err := w.e.GetWebhook(w.t.Context(), w.key, hook.ID)
	must(w.t, err)
	return got
}

func (w *world) enable(hook app.Webhook, status app.WebhookStatus) {
	w.t.Helper()
	_, err := w.e.UpdateWebhook(w.t.Context(), w.key, hook.ID, app.WebhookPatch{Status: status})
	must(w.t, err)
}

// wantGaps compares the pauses between requests, to the second.
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

func TestAReplayTellsAgainWhateverBecameOfIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		hook := w.webhook("in")
		w.happen("first")
		time.Sleep(time.Second)
		d := w.deliveries(hook)[0]
		replay := func() {
			t.Helper()
			must(t, w.e.ReplayWebhookEvent(t.Context(), w.key, hook.ID, d.ID))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		replay()
		if len(f.got) != 2 || f.got[0].id() != f.got[1].id() || f.got[0].body != f.got[1].body || len(w.attempts(d)) != 2 {
			t.Fatalf("%d requests", len(f.got))
		}
		slowly := func(context.Context, request) (*http.Response, error) {
			time.Sleep(1900 * time.Millisecond)
			return status(200, ""), nil
		}
		f.set(slowly)
		replay()
		replay() // while the attempt is under way, and there is room for others
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if w.toldAll(hook) != "map[success:1]" || len(f.got) != 4 {
			t.Errorf("%s after %d requests", w.toldAll(hook), len(f.got))
		}
		f.set(refuse)
		replay()
		if w.toldAll(hook) != "map[pending:1]" {
			t.Errorf("replayed in vain: %s", w.toldAll(hook))
		}
		time.Sleep(48 * time.Hour)
		if w.toldAll(hook) != "map[failed:1]" || len(f.got) != 12 {
			t.Errorf("%s after %d requests", w.toldAll(hook), len(f.got))
		}
		f.set(func(context.Context, request) (*http.Response, error) {
			time.Sleep(3 * time.Second)
			return status(200, ""), nil
		})
		replay()
		replay() // while the attempt is under way
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if w.toldAll(hook) != "map[success:1]" || len(f.got) != 14 {
			t.Errorf("%s after %d requests", w.toldAll(hook), len(f.got))
		}
		w.enable(hook, app.WebhookDisabled)
		wantCode(t, w.e.ReplayWebhookEvent(t.Context(), w.key, hook.ID, d.ID), app.CodeConflict)
		wantCode(t, w.e.ReplayWebhookEvent(t.Context(), w.key, hook.ID, app.NewID()), app.CodeNotFound)
		wantCode(t, w.e.ReplayWebhookEvent(t.Context(), w.key, app.NewID(), d.ID), app.CodeNotFound)
		foreign := w.addTeam("Other", "example.org")
		wantCode(t, w.e.ReplayWebhookEvent(t.Context(), foreign, hook.ID, d.ID), app.CodeNotFound)
	})
}

func TestRequestsAreSignedByAllSecretsThatCount(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		hook := w.webhook("in")
		old := hook.Secrets[0]
		rotated, err := w.e.RotateSigningSecret(t.Context(), w.key, hook.ID, app.Rotation{})
		must(t, err)
		w.happen("during")
		time.Sleep(24 * time.Hour)
		w.happen("after")
		time.Sleep(time.Second)
		synctest.Wait()
		got := f.to("in.example.com")
		if len(got) != 2 {
			t.Fatalf("%d requests", len(got))
		}
		for i, want := range [][]app.SigningSecret{{rotated.Secrets[0], old}, {rotated.Secrets[0]}} {
			r := got[i]
			signature := app.Sign(want, r.id(), r.at, []byte(r.body))
			for _, family := range []string{"Webhook-", "Svix-"} {
				if r.header.Get(family+"Signature") != signature || r.header.Get(family+"Timestamp") != fmt.Sprint(r.at.Unix()) || r.header.Get(family+"Id") != r.id() {
					t.Errorf("%d: %v, want %s", i, r.header, signature)
				}
			}
			if r.header.Get("Content-Type") != "application/json" {
				t.Errorf("content type %q", r.header.Get("Content-Type"))
			}
		}
	})
}

func TestOnlyEnabledWebhooksOfTheTeamHearOfWhatTheyWant(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	foreign := w.addTeam("Other", "example.org")
	count := func(hook app.Webhook) int { t.Helper(); return len(w.deliveries(hook)) }
	topics := w.webhook("topics")
	other := w.webhook("contacts", app.ContactCreated)
	w.happen("a")
	if count(topics) != 1 || count(other) != 0 {
		t.Errorf("%d and %d events", count(topics), count(other))
	}
	_, err := w.e.UpdateWebhook(ctx, w.key, other.ID, app.WebhookPatch{Events: []app.EventName{app.TopicCreated, app.TopicDeleted}})
	must(t, err)
	w.enable(topics, app.WebhookDisabled)
	w.happen("b")
	_, err = w.e.CreateTopic(ctx, foreign, app.TopicInput{Name: "theirs", Default: app.OptIn})
	must(t, err)
	if count(topics) != 1 || count(other) != 1 {
		t.Errorf("%d and %d events", count(topics), count(other))
	}
	w.enable(topics, app.WebhookEnabled)
	must(t, w.e.DeleteWebhook(ctx, w.key, other.ID))
	w.happen("c")
	if got := w.rows(`SELECT count(*) FROM deliveries WHERE webhook_id = '` + other.ID + `'`); count(topics) != 2 || got != "1\n" {
		t.Errorf("%d events, and %s", count(topics), got)
	}
	again, err := New(ctx, w.cfg) // another process, or the next start
	must(t, err)
	if got := again.listeners.to(w.key.TeamID, app.TopicCreated); !slices.Contains(got, topics.ID) || slices.Contains(got, other.ID) {
		t.Errorf("read anew: %q", got)
	}
}

func TestWhatAWebhookWasToldGoesWithItAndWithTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		count := func(hook app.Webhook) string {
			return w.rows(`SELECT count(*), (SELECT count(*) FROM webhook_attempts WHERE webhook_id = '` + hook.ID + `')
				FROM deliveries WHERE webhook_id = '` + hook.ID + `'`)
		}
		f.set(refuse)
		gone, stays := w.webhook("gone"), w.webhook("stays")
		w.happenAll(1200)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		must(t, w.e.DeleteWebhook(t.Context(), w.key, gone.ID))
		must(t, w.e.clean(t.Context()))
		if count(gone) != "0 0\n" || count(stays) != "1200 1200\n" {
			t.Errorf("gone %s, stays %s", count(gone), count(stays))
		}
		must(t, w.e.purge(t.Context()))
		if count(stays) != "1200 1200\n" {
			t.Errorf("before 30 days: %s", count(stays))
		}
		w.sql("UPDATE happenings SET created_at = created_at - ?", (app.WebhookEventsKept + time.Minute).Milliseconds())
		w.happen("new")
		must(t, w.e.purge(t.Context()))
		if count(stays) != "1 0\n" && count(stays) != "1 1\n" {
			t.Errorf("after 30 days: %s", count(stays))
		}
	})
}

func TestAnswersOfEndpointsAreKeptInPart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, f := hooked(t)
		hook := w.webhook("in")
		f.set(func(context.Context, request) (*http.Response, error) {
			return status(500, "a\x00b\x1b[31m\xff\n"+strings.Repeat("é", 2000)), nil
		})
		w.happen("first")
		time.Sleep(time.Second)
		got := w.attempts(w.deliveries(hook)[0])[0]
		if !strings.HasPrefix(got.Response, "ab[31m\né") || len(got.Response) > app.MaxResponse || strings.ContainsRune(got.Response, 0xfffd) {
			t.Errorf("%q", got.Response)
		}
		f.set(hang)
		w.happen("second")
		time.Sleep(11 * time.Second)
		if got := w.attempts(w.deliveries(hook)[1]); len(got) != 1 || got[0].HTTPStatus != 0 || got[0].Response != "No answer within 10 seconds" {
			t.Errorf("%+v", got)
		}
	})
}

func TestErasedAddressesLeaveTheAnswersOfEndpoints(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	f := &endpoints{}
	w.cfg.Hooks = f
	f.set(func(_ context.Context, r request) (*http.Response, error) {
		return status(200, "you said "+r.body), nil
	})
	var err error
	w.e, err = New(ctx, w.cfg)
	must(t, err)
	hook := w.webhook("echo", app.SuppressionAdded)
	w.start()
	_, err = w.e.AddSuppression(ctx, w.key, app.SuppressionInput{Email: "ann@example.net"})
	must(t, err)
	w.until(func() bool { return w.toldAll(hook) == "map[success:1]" })
	if got := w.attempts(w.deliveries(hook)[0])[0].Response; !strings.Contains(got, "ann@example.net") {
		t.Fatalf("the endpoint answered %q", got)
	}
	c, err := w.e.CreateContact(ctx, w.key, app.ContactInput{Email: "ann@example.net"})
	must(t, err)
	_, err = w.e.DeleteContact(ctx, w.key, c, true)
	must(t, err)
	w.until(func() bool {
		return !strings.Contains(w.rows(`SELECT response FROM webhook_attempts`)+w.rows(`SELECT payload FROM happenings`), "ann@")
	})
	// What was read before the erasure and is noted after it keeps nothing.
	d, err := w.e.GetWebhookEvent(ctx, w.key, hook.ID, w.deliveries(hook)[0].ID)
	must(t, err)
	d.Payload = []byte(strings.ReplaceAll(string(d.Payload), app.Erased, "ann@example.net"))
	late := app.WebhookAttempt{Response: "you said ann@example.net"}
	must(t, w.db.Write(ctx, func(tx *db.Tx) error { return w.e.hooks.withoutErased(tx, d, &late) }))
	if late.Response != "" {
		t.Errorf("kept %q", late.Response)
	}
}

// until waits for something that workers do.
func (w *world) until(done func() bool) {
	w.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(10 * time.Second); !done(); {
		select {
		case <-tick.C:
		case <-end:
			w.t.Fatal("it does not come about")
		}
	}
}

func TestEventsOfEmailsSayWhatClientsExpect(t *testing.T) {
	w := idle(t)
	ctx := t.Context()
	hook := w.webhook("in", app.EmailScheduled, app.EmailSuppressed)
	_, err := w.e.AddSuppression(ctx, w.key, app.SuppressionInput{Email: "gone@example.net"})
	must(t, err)
	in := letter("Bob <bob@example.net>")
	in.Cc = []string{"gone@example.net"}
	in.ScheduledAt = "in 1 hour"
	in.Tags = []app.Tag{{Name: "kind", Value: "welcome"}}
	in.Headers = map[string]string{"X-Order": "7"}
	id, err := w.e.SendEmail(ctx, w.key, in, SendOptions{})
	must(t, err)
	w.send("eve@example.net") // at once: nothing to tell yet
	rows := w.deliveries(hook)
	if len(rows) != 2 {
		t.Fatalf("%d events", len(rows))
	}
	payloads := map[app.EventName]map[string]any{}
	for _, row := range rows {
		d, err := w.e.GetWebhookEvent(ctx, w.key, hook.ID, row.ID)
		must(t, err)
		var payload struct {
			Type app.EventName
			Data map[string]any
		}
		must(t, json.Unmarshal(d.Payload, &payload))
		payloads[payload.Type] = payload.Data
	}
	email := w.email(id)
	want := map[string]any{
		"email_id": id, "message_id": "<" + email.MessageID + ">", "created_at": app.FormatTime(email.CreatedAt),
		"from": "Ann <ann@" + testDomain + ">", "to": []any{"Bob <bob@example.net>"}, "subject": "Hi",
		"tags": map[string]any{"kind": "welcome"}, "headers": []any{map[string]any{"name": "X-Order", "value": "7"}},
	}
	if got := payloads[app.EmailScheduled]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("email.scheduled\n%v, want\n%v", got, want)
	}
	got := payloads[app.EmailSuppressed]
	suppressed, _ := got["suppressed"].(map[string]any)
	if got["recipient"] != "gone@example.net" || suppressed["type"] != "OnAccountSuppressionList" || suppressed["message"] == "" {
		t.Errorf("email.suppressed %v", got)
	}
}

func TestAnEventThatNobodyWantsCostsNothing(t *testing.T) {
	w := idle(t)
	must(t, w.db.Write(t.Context(), func(tx *db.Tx) error {
		n := testing.AllocsPerRun(100, func() {
			if err := w.e.announceEmail(tx, w.key.TeamID, app.EmailSent, "x", app.EmailExtra{}); err != nil {
				t.Error(err)
			}
		})
		if n > 0 {
			t.Errorf("%v allocations", n)
		}
		return nil
	}))
}

func BenchmarkAnnounceWithoutSubscriber(b *testing.B) {
	w := idle(b)
	must(b, w.db.Write(b.Context(), func(tx *db.Tx) error {
		b.ReportAllocs()
		for b.Loop() {
			if err := w.e.announceEmail(tx, w.key.TeamID, app.EmailSent, "x", app.EmailExtra{}); err != nil {
				return err
			}
		}
		return nil
	}))
}
