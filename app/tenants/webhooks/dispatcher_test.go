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
	"mailer/app/tenants/webhooks"
	"mailer/app/testing/testserver"
)

func TestDeadEndpointDelaysNoOther(t *testing.T) {
	for name, dead := range map[string]func(context.Context, request) (*http.Response, error){"that hangs": hang, "that refuses": refuse} {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, f := newWebhookServer(t)
				w.AddWebhook("dead")
				good := w.AddWebhook("good")
				f.set(func(ctx context.Context, r request) (*http.Response, error) {
					if r.host == "dead.example.com" {
						return dead(ctx, r)
					}
					return status(200, ""), nil
				})
				begin := time.Now()
				createTopicsInOneWrite(w, 1000)
				time.Sleep(time.Second)
				synctest.Wait()
				got := f.to("good.example.com")
				if len(got) != 1000 || deliveryCounts(w, good) != "map[success:1000]" {
					t.Fatalf("%d events came, %s", len(got), deliveryCounts(w, good))
				}
				if late := got[999].at.Sub(begin); late > 100*time.Millisecond {
					t.Errorf("the last one came after %s", late)
				}
			})
		})
	}
}

func TestManyDeadEndpointsLeaveSlotsForOthers(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		for i := range 100 {
			w.AddWebhook(fmt.Sprint("dead", i))
		}
		f.set(func(ctx context.Context, r request) (*http.Response, error) {
			if strings.HasPrefix(r.host, "dead") {
				return hang(ctx, r)
			}
			return status(200, ""), nil
		})
		createTopics(w, "a", "b", "c")
		time.Sleep(time.Minute) // now all of them count as slow
		good := w.AddWebhook("good")
		begin := time.Now()
		createTopics(w, "d", "e", "f")
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if got := f.to("good.example.com"); len(got) != 3 || got[2].at.Sub(begin) > 100*time.Millisecond || deliveryCounts(w, good) != "map[success:3]" {
			t.Errorf("%d events, %s", len(got), deliveryCounts(w, good))
		}
	})
}

func TestConcurrentAttemptsAreBounded(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		for i := range 100 {
			w.AddWebhook(fmt.Sprint("slow", i))
		}
		var mu sync.Mutex
		now, most, ofOne := 0, 0, map[string]int{}
		f.set(func(ctx context.Context, r request) (*http.Response, error) {
			mu.Lock()
			now++
			most = max(most, now)
			ofOne[r.host]++
			if ofOne[r.host] > webhooks.MaxPerEndpoint {
				t.Errorf("%d attempts at once to %s", ofOne[r.host], r.host)
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			defer mu.Unlock()
			now--
			ofOne[r.host]--
			return status(200, ""), nil
		})
		createTopicsInOneWrite(w, 20)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(f.got) != 2000 || most != webhooks.MaxConcurrent/2 { // the other half is for other teams
			t.Errorf("%d requests, at most %d at once", len(f.got), most)
		}
	})
}

func TestRetryAfterIsObeyed(t *testing.T) {
	for _, tt := range []struct {
		code  int
		after string
		want  time.Duration
	}{
		{429, "60", time.Minute}, {503, "60", time.Minute}, {500, "60", 5 * time.Second}, {429, "1", 5 * time.Second},
		{429, "soon", 5 * time.Second}, {429, "999999999999", 24 * time.Hour},
	} {
		t.Run(fmt.Sprint(tt.code, tt.after), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				w, f := newWebhookServer(t)
				w.AddWebhook("busy")
				f.set(func(context.Context, request) (*http.Response, error) {
					return status(tt.code, "", "Retry-After", tt.after), nil
				})
				createTopics(w, "first")
				begin := time.Now()
				if tt.want > time.Hour {
					time.Sleep(time.Minute)
					w.StopFor(tt.want - 2*time.Minute)
				}
				time.Sleep(time.Until(begin.Add(tt.want + time.Second)))
				synctest.Wait()
				wantGaps(t, f.to("busy.example.com"), tt.want)
			})
		})
	}
}

func TestFailingEndpointIsDisabledAfterFiveDays(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("down")
		f.set(func(context.Context, request) (*http.Response, error) { return status(500, "broken"), nil })
		for i := range 19 {
			createTopics(w, fmt.Sprint(i))
			time.Sleep(10 * time.Minute)
			w.StopFor(6*time.Hour - 10*time.Minute)
		}
		synctest.Wait()
		if got := w.ReloadWebhook(hook); got.Status != webhook.Enabled || got.FailingSince.IsZero() {
			t.Fatalf("after 4 days and 18 hours: %+v", got)
		}
		w.StopFor(24*time.Hour - 10*time.Minute)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := w.ReloadWebhook(hook); got.Status != webhook.Disabled || !w.Log.Contains("a webhook is disabled") {
			t.Fatalf("after 5 days and 18 hours: %+v", got)
		}
		before, waiting := len(f.got), deliveryCounts(w, hook)
		createTopics(w, "unheard")
		w.StopFor(24*time.Hour - 10*time.Minute)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(f.got) != before || deliveryCounts(w, hook) != waiting || !strings.Contains(waiting, "pending") {
			t.Fatalf("disabled, it got %d requests: %s, before %s", len(f.got)-before, deliveryCounts(w, hook), waiting)
		}
		f.set(nil)
		enable(w, hook, webhook.Enabled)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.ReloadWebhook(hook); strings.Contains(deliveryCounts(w, hook), "pending") || !strings.Contains(deliveryCounts(w, hook), "success") || !got.FailingSince.IsZero() {
			t.Errorf("enabled: %s %+v", deliveryCounts(w, hook), got)
		}
	})
}

func TestSuccessResetsFailingPeriod(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("down")
		for i := range 12 {
			f.set(refuse)
			if i == 5 {
				f.set(nil)
			}
			createTopics(w, fmt.Sprint(i))
			time.Sleep(10 * time.Minute)
			w.StopFor(12*time.Hour - 10*time.Minute)
		}
		synctest.Wait()
		if got := w.ReloadWebhook(hook); got.Status != webhook.Enabled {
			t.Errorf("%+v", got)
		}
		f.set(refuse)
		w.StopFor(48 * time.Hour)
		createTopics(w, "last")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.ReloadWebhook(hook); got.Status != webhook.Disabled {
			t.Errorf("five days after the success %+v", got)
		}
	})
}

func TestEventsOfOtherProcessWithinAMinute(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		testserver.FastHeartbeat(t)
		w, f := newWebhookServer(t)
		w.AddWebhook("up")
		time.Sleep(90 * time.Second)
		cli := w.CommandServices()
		for i := range 3 {
			_, err := cli.Topics.CreateTopic(t.Context(), w.Key, app.TopicInput{Name: fmt.Sprint(i), Default: app.OptIn})
			testserver.Must(t, err)
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := len(f.to("up.example.com")); got != i+1 {
				t.Errorf("%d events were told, want %d", got, i+1)
			}
		}
	})
}

func TestCrashRepeatsDeliveryWithSameID(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("slow")
		f.set(hang)
		createTopics(w, "first")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(f.got) != 1 || deliveryCounts(w, hook) != "map[attempting:1]" {
			t.Fatalf("%d requests, %s", len(f.got), deliveryCounts(w, hook))
		}
		next := w.Crash()
		next.Config.WebhookTransport = f
		f.set(nil)
		d := next.Deliveries(hook)[0]
		if d.Attempts != 1 || d.Status != webhook.DeliveryPending || !d.NextAt.After(time.Now()) {
			t.Errorf("the attempt is not on the disk: %+v", d)
		}
		next.Start()
		time.Sleep(30 * time.Second)
		synctest.Wait()
		got := f.to("slow.example.com")
		if deliveryCounts(next, hook) != "map[success:1]" || got[0].id() != got[len(got)-1].id() || got[0].body != got[len(got)-1].body {
			t.Errorf("%s after %d requests", deliveryCounts(next, hook), len(got))
		}
	})
}

func TestCrashedAttemptsAreRetriedSoon(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("in")
		f.set(hang)
		createTopics(w, "first")
		for range 4 {
			time.Sleep(time.Second)
			synctest.Wait()
			began := f.got[len(f.got)-1].at
			next := w.Crash() // while an attempt runs
			testserver.StopNow(w.Services)
			w.Stopped = true
			if wait := next.Deliveries(hook)[0].NextAt.Sub(began); wait <= webhook.Timeout || wait > 30*time.Second {
				t.Fatalf("it is due again %s after an attempt began that may take %s", wait, webhook.Timeout)
			}
			next.Start()
			time.Sleep(30*time.Second - time.Since(began))
			w = next
		}
		synctest.Wait()
		if len(f.got) != 5 {
			t.Errorf("%d attempts, want 5", len(f.got))
		}
	})
}

func TestShutdownDoesntCountEndedAttempts(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("slow")
		f.set(hang)
		createTopics(w, "first")
		time.Sleep(time.Second)
		synctest.Wait()
		testserver.StopNow(w.Services)
		w.Stopped = true
		d := w.Deliveries(hook)[0]
		if d.Attempts != 0 || d.Status != webhook.DeliveryPending || d.NextAt.After(time.Now()) || len(w.Attempts(d)) != 0 {
			t.Errorf("%+v, %v", d, w.Attempts(d))
		}
	})
}

func TestShutdownWaitsForAttempts(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("slow")
		f.set(func(context.Context, request) (*http.Response, error) {
			time.Sleep(5 * time.Second)
			return status(200, ""), nil
		})
		createTopics(w, "first")
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		w.Services.Stop(ctx)
		w.Stopped = true
		if deliveryCounts(w, hook) != "map[success:1]" {
			t.Error(deliveryCounts(w, hook))
		}
	})
}

func TestEndpointDownForADayGetsAllEvents(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("down")
		begin := time.Now()
		f.set(func(_ context.Context, r request) (*http.Response, error) {
			if r.at.Sub(begin) < 24*time.Hour {
				return nil, errRefused
			}
			return status(204, ""), nil
		})
		createTopics(w, "first")
		for i := range 23 {
			time.Sleep(time.Hour)
			createTopics(w, fmt.Sprint(i))
		}
		time.Sleep(30 * time.Hour)
		synctest.Wait()
		taken, all := map[string]int{}, map[string][]request{}
		for _, r := range f.to("down.example.com") {
			all[r.id()] = append(all[r.id()], r)
			if r.at.Sub(begin) >= 24*time.Hour {
				taken[r.id()]++
			}
		}
		rows := w.Deliveries(hook)
		if len(rows) != 24 || len(all) != 24 {
			t.Fatalf("%d events listed, %d told", len(rows), len(all))
		}
		for _, d := range rows {
			id := webhook.MessageID(d.ID)
			if d.Status != webhook.DeliverySuccess || taken[id] != 1 {
				t.Errorf("%s is %s and was taken %d times", id, d.Status, taken[id])
			}
		}
		first := webhook.MessageID(rows[0].ID)
		wantGaps(t, all[first], 5*time.Second, 5*time.Minute, 30*time.Minute, 2*time.Hour, 5*time.Hour, 10*time.Hour, 10*time.Hour)
		for _, r := range all[first] {
			if r.body != all[first][0].body || r.header.Get("Svix-Id") != first {
				t.Error("an attempt differs from the first one")
			}
		}
		attempts := w.Attempts(rows[0])
		if len(attempts) != 8 || attempts[0].HTTPStatus != 0 || attempts[0].Response != errRefused.Error() || attempts[7].HTTPStatus != 204 {
			t.Errorf("attempts %+v", attempts)
		}
		if got := w.ReloadWebhook(hook); !got.FailingSince.IsZero() || got.Status != webhook.Enabled {
			t.Errorf("afterwards %+v", got)
		}
	})
}

func TestDeliveryFailsAfterEightAttempts(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		w, f := newWebhookServer(t)
		hook := w.AddWebhook("down")
		f.set(func(context.Context, request) (*http.Response, error) {
			return status(302, "moved", "Location", "https://else.example"), nil
		})
		createTopics(w, "first")
		time.Sleep(40 * time.Hour)
		synctest.Wait()
		wantGaps(t, f.to("down.example.com"), 5*time.Second, 5*time.Minute, 30*time.Minute, 2*time.Hour, 5*time.Hour, 10*time.Hour, 10*time.Hour)
		d := w.Deliveries(hook)[0]
		if d.Status != webhook.DeliveryFailed || !d.NextAt.IsZero() || w.Attempts(d)[7].HTTPStatus != 302 {
			t.Errorf("%+v", d)
		}
		if len(f.got) != 8 {
			t.Errorf("%d requests: a redirect was followed", len(f.got))
		}
	})
}
