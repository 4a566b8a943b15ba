package relays_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"mailer/app"
	"mailer/app/operate/health"
	"mailer/app/rules/webhook"
	"mailer/app/sending/queue"
	"mailer/app/sending/relays"
	"mailer/app/testing/testserver"
)

const reserve = app.DefaultRegion + "/b"

// primaryFails makes the primary unreachable, with a reply that only operators may read.
func primaryFails(w *testserver.Server, first *testserver.FakeRelay, down *outages) {
	w.T.Helper()
	first.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused by 192.0.2.7")))
	down.add(app.DefaultRegion)
}

func relay(t *testing.T, w *testserver.Server, name string) relays.Status {
	t.Helper()
	st, err := w.CommandServices().Relays.Get(t.Context(), name)
	testserver.Must(t, err)
	return st
}

func TestPeopleSeeTheReserve(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, _, down := twoRelays(t, nil)
		operator := *w.Key
		operator.Session = &app.Session{Operator: true}
		hook, err := w.Services.Webhooks.CreateWebhook(t.Context(), &operator, webhook.Input{Endpoint: "https://in.example.com/", Events: []webhook.EventName{webhook.RelaySwitched}, Scope: webhook.ScopeServer})
		testserver.Must(t, err)
		primaryFails(w, first, down)
		id := w.Send("bob@example.net")
		pass(3 * time.Minute)
		later := w.Send("carl@example.net")
		pass(time.Minute)
		const sentence = "Sent through b, the reserve of us-east-1, because us-east-1 could not be reached since 20"
		for _, id := range []string{id, later} {
			if got := w.Timeline(id); !strings.Contains(got, sentence) || strings.Contains(got[strings.Index(got, sentence):], "192.0.2.7") {
				t.Errorf("timeline %s", got)
			}
			v, err := w.Services.Queue.Verdict(t.Context(), w.Key, id)
			testserver.Must(t, err)
			if !strings.Contains(v.Text, "It was sent through b, the reserve of us-east-1, because us-east-1 could not be reached since 20") {
				t.Errorf("verdict %s", v.Text)
			}
		}
		if waited, not := w.Timeline(id), w.Timeline(later); !strings.Contains(waited, "Mail of us-east-1 leaves through b now") || strings.Contains(not, "leaves through b now") {
			t.Errorf("the switch in the timelines: %s, %s", waited, not)
		}
		st := relay(t, w, app.DefaultRegion)
		if f := st.Failover; f == nil || f.Active != reserve || f.Moved != 2 || f.Primary != app.DefaultRegion || f.SwitchReason == nil || !strings.Contains(*f.SwitchReason, "192.0.2.7") {
			t.Errorf("failover %+v", f)
		}
		if b := relay(t, w, reserve); b.Traffic == nil || b.SentHour != 2 || b.SentDay != 2 || b.Waiting != 0 {
			t.Errorf("reserve %+v", b)
		}
		if got := w.Services.Settings.RelayOf(app.DefaultRegion); got != reserve {
			t.Errorf("the mail leaves through %s", got)
		}
		if got := w.SQL("SELECT payload FROM webhook_events WHERE type = 'relay.switched'"); len(got) != 1 || !strings.Contains(got[0], `"to":"us-east-1/b"`) {
			t.Errorf("events %q", got)
		}
		_, err = w.Services.Webhooks.UpdateWebhook(t.Context(), w.Key, hook.ID, webhook.Patch{Endpoint: "https://other.example.com/"})
		testserver.WantCode(t, err, app.CodeForbidden)
		_, err = w.Services.Webhooks.CreateWebhook(t.Context(), w.Key, webhook.Input{Endpoint: "https://in.example.com/", Events: []webhook.EventName{webhook.RelaySwitched}, Scope: webhook.ScopeServer})
		testserver.WantCode(t, err, app.CodeValidation)
	})
}

// Reports of mail without a relay leave the troubles of reserves open.
func TestTroubleOfReserveStaysOpen(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, down := twoRelays(t, nil)
		primaryFails(w, first, down)
		w.Send("bob@example.net")
		pass(3 * time.Minute)
		second.SetScript(testserver.Always(testserver.RelayTrouble(app.StageConnect, "refused too")))
		down.add(reserve)
		w.Send("carl@example.net")
		pass(time.Minute)
		testserver.Must(t, w.Services.Delivery.ReportUnroutable(t.Context()))
		open := w.SQL("SELECT relay FROM relay_troubles WHERE ended_at IS NULL")
		if !slices.Contains(open, reserve) {
			t.Errorf("open troubles of %q", open)
		}
	})
}

func TestReleaseDoubtsThroughAnotherRelay(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, down := twoRelays(t, testserver.Always(testserver.LoseReply))
		id := w.Send("bob@example.net")
		pass(5 * time.Second)
		primaryFails(w, first, down)
		w.Send("carl@example.net")
		pass(5 * time.Minute)
		v, err := w.Services.Queue.Verdict(t.Context(), w.Key, id)
		testserver.Must(t, err)
		if !strings.Contains(v.Text, "It is kept for us-east-1, which may have sent it.") {
			t.Errorf("verdict %s", v.Text)
		}
		if st := relay(t, w, app.DefaultRegion); st.InDoubt != 1 || st.Kept != 1 || st.Waiting != 1 {
			t.Errorf("%+v %+v", st, st.Failover)
		}
		q := w.CommandServices().Queue
		list := func(f queue.Filter) (ids []string) {
			items, _, err := q.List(t.Context(), f, "", 10)
			testserver.Must(t, err)
			for _, item := range items {
				if strings.ContainsAny(item.Relay+item.Reason, "@>!") {
					t.Errorf("a key of a queue: %+v", item)
				}
				ids = append(ids, item.ID)
			}
			return ids
		}
		for _, f := range []queue.Filter{{Relay: app.DefaultRegion}, {Relay: app.DefaultRegion, Doubts: true}} {
			if got := list(f); !slices.Equal(got, []string{id}) {
				t.Errorf("%+v lists %q", f, got)
			}
		}
		if got := list(queue.Filter{Relay: reserve}); len(got) != 0 {
			t.Errorf("of the reserve %q", got)
		}
		_, err = q.ReleaseDoubts(t.Context(), queue.Filter{Relay: app.DefaultRegion}, "elsewhere")
		testserver.WantCode(t, err, app.CodeValidation)
		res, err := q.ReleaseDoubts(t.Context(), queue.Filter{Relay: app.DefaultRegion}, reserve)
		testserver.Must(t, err)
		pass(time.Minute)
		if w.WantLastEvent(id, app.Sent); res.Changed != 1 || second.FinalDots(id) != 1 {
			t.Errorf("%+v, the reserve had it %d times", res, second.FinalDots(id))
		}
	})
}

func TestPauseOfRegionAndRelay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, first, second, _ := twoRelays(t, nil)
		s := w.CommandServices().Relays
		_, err := s.Pause(t.Context(), app.DefaultRegion, 0)
		testserver.Must(t, err)
		waitForTick()
		id := w.Send("bob@example.net")
		pass(15 * time.Minute)
		if first.FinalDots(id)+second.FinalDots(id) != 0 {
			t.Fatal("it left through a paused region")
		}
		_, err = s.Resume(t.Context(), app.DefaultRegion)
		testserver.Must(t, err)
		_, err = s.PauseOnly(t.Context(), app.DefaultRegion, 0)
		testserver.Must(t, err)
		pass(time.Minute)
		if w.WantLastEvent(id, app.Sent); second.FinalDots(id) != 1 {
			t.Error("the pause of the primary did not make the reserve send")
		}
	})
}

func TestManualModeSaysThatAReserveIsAvailable(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, first, _, down := twoRelays(t, nil)
		mode := "manual"
		_, err := w.CommandServices().Relays.SetPolicy(t.Context(), app.DefaultRegion, relays.PolicyInput{Mode: &mode})
		testserver.Must(t, err)
		waitForTick()
		primaryFails(w, first, down)
		w.Send("bob@example.net")
		pass(10 * time.Minute)
		f := relay(t, w, app.DefaultRegion).Failover
		if f.Available == nil || *f.Available != reserve || f.Active != app.DefaultRegion {
			t.Errorf("%+v", f)
		}
		if n := strings.Count(w.Log.String(), "a reserve could send it"); n != 1 || !w.Log.Contains("mailer relays switch us-east-1 b") {
			t.Errorf("the log says it %d times", n)
		}
		found, err := w.CommandServices().Health.Findings(t.Context())
		testserver.Must(t, err)
		i := slices.IndexFunc(found, func(n health.Finding) bool { return n.ID == "region_available" })
		if i < 0 || !strings.HasPrefix(found[i].Command, "mailer relays switch us-east-1 b") {
			t.Errorf("findings %+v", found)
		}
	})
}

func TestRelayInASecondRegion(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		w, _, _, _ := twoRelays(t, nil)
		s := w.CommandServices().Relays
		_, err := s.Add(t.Context(), "eu-west-1=smtp://a.test")
		testserver.Must(t, err)
		_, err = s.AddExisting(t.Context(), "eu-west-1", reserve)
		testserver.Must(t, err)
		_, err = s.AddExisting(t.Context(), "eu-west-1", reserve)
		testserver.WantCode(t, err, app.CodeConflict)
		if f := relay(t, w, "eu-west-1").Failover; f == nil || !slices.Equal(f.Reserves, []string{reserve}) {
			t.Errorf("%+v", f)
		}
		_, err = s.RemoveFrom(t.Context(), app.DefaultRegion, reserve)
		testserver.WantCode(t, err, app.CodeValidation)
		st, err := s.RemoveFrom(t.Context(), "eu-west-1", reserve)
		testserver.Must(t, err)
		if !slices.Equal(st.Relays, []string{"eu-west-1"}) || relay(t, w, reserve).Host == "" {
			t.Errorf("%+v", st)
		}
	})
}
