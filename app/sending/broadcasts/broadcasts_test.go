package broadcasts_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/testserver"
)

func TestBroadcastReachesEachContactOnce(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(2500)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		testserver.WantEachOnce(t, testserver.Received(relay), 2500)
		got := w.Broadcast(b.ID)
		if got.Status != app.SentBroadcast || got.Counts.Sent != 2500 || got.Audience != 2500 || got.Open != 0 || got.SentAt.IsZero() {
			t.Errorf("the broadcast ended as %+v", got)
		}
	})
}

func TestBroadcastSendsOncePerContactDespiteCrashes(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		const n = 400
		got := map[string]int{}
		var mu sync.Mutex
		// A relay of one process: it receives nothing after that process crashed.
		slow := func(dead *atomic.Bool) *testserver.FakeRelay {
			return testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
				time.Sleep(20 * time.Millisecond)
				if dead.Load() || authorize() != nil || dead.Load() {
					return app.Result{Kind: app.ResultTrouble, Stage: app.StageConnect}
				}
				mu.Lock()
				got[m.Recipients[0]]++
				mu.Unlock()
				time.Sleep(20 * time.Millisecond)
				return testserver.Accept(ctx, m, func() error { return nil })
			}))
		}
		dead := new(atomic.Bool)
		w := testserver.Start(t, slow(dead))
		w.AddSubscribers(n)
		b := w.AddDraft()
		w.Queue(b)
		for i := range 12 {
			time.Sleep(time.Duration(303+7*i) * time.Millisecond)
			next := new(atomic.Bool)
			dead.Store(true)
			after := w.Crash(slow(next))
			testserver.StopNow(w.Services)
			w, dead = after, next
			w.Start()
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		doubted := map[string]int{}
		for _, d := range w.Doubts() {
			for _, address := range d.Recipients {
				doubted[address]++
			}
		}
		doubles := 0
		for i := range n {
			if got[testserver.SubscriberAddress(i)] == 0 {
				t.Errorf("%s got nothing", testserver.SubscriberAddress(i))
			}
			if extra := got[testserver.SubscriberAddress(i)] - 1; extra > doubted[testserver.SubscriberAddress(i)] {
				t.Errorf("%s got %d messages, with %d doubts", testserver.SubscriberAddress(i), extra+1, doubted[testserver.SubscriberAddress(i)])
			} else if extra > 0 {
				doubles++
			}
		}
		end := w.Broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != n || end.Open != 0 {
			t.Errorf("the broadcast ended as %+v", end)
		}
		if len(doubted) == 0 {
			t.Error("no crash came between a dot and its result: this test shows nothing")
		}
		t.Logf("%d doubts, %d doubles", len(doubted), doubles)
	})
}

func TestCanceledBroadcastSendsNothing(t *testing.T) {
	testserver.BothEngines(t)
	testserver.SynctestHours(t, func(t *testing.T) {
		const n = 500
		release := make(chan struct{})
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 50}, func(*app.Outgoing, int) testserver.Answer {
			return func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
				if err := authorize(); err != nil {
					return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
				}
				select {
				case <-release: // replies to final dots are delayed during the cancellation
				default:
				}
				return testserver.Accept(ctx, m, func() error { return nil })
			}
		})
		w := testserver.Start(t, relay)
		w.AddSubscribers(n)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(3010 * time.Millisecond)
		got, remaining, err := w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
		testserver.Must(t, err)
		left := len(testserver.Received(relay))
		synctest.Wait()
		if got.Status != app.CanceledBroadcast || remaining < 300 {
			t.Errorf("canceled: %s, %d remaining", got.Status, remaining)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		close(release)
		if late := len(testserver.Received(relay)) - left; late > 4 {
			t.Errorf("%d messages left after the answer", late)
		}
		end := w.Broadcast(b.ID)
		if end.Counts.Sent+remaining != n || end.Open != 0 || end.Status != app.CanceledBroadcast {
			t.Errorf("%d sent and %d remaining of %d; %+v", end.Counts.Sent, remaining, n, end)
		}
		_, _, err = w.Services.Broadcasts.CancelBroadcast(t.Context(), w.Key, b.ID)
		testserver.WantCode(t, err, app.CodeInvalidParameter)
	})
}

func TestBroadcastObeysOptOutsWhileSending(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		const n = 100
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 2, Rate: 1}, nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(n)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(10 * time.Second)
		_, err := w.Services.Suppressions.AddSuppression(t.Context(), w.Key, app.SuppressionInput{Email: "P50@example.net"})
		testserver.Must(t, err)
		out := true
		_, err = w.Services.Audience.UpdateContact(t.Context(), w.Key, testserver.SubscriberAddress(60), app.ContactPatch{Unsubscribed: &out})
		testserver.Must(t, err)
		_, err = w.Services.Audience.DeleteContact(t.Context(), w.Key, testserver.SubscriberAddress(70), false)
		testserver.Must(t, err)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		got := testserver.Received(relay)
		if got[testserver.SubscriberAddress(50)] != 0 || got[testserver.SubscriberAddress(60)] != 0 {
			t.Error("mail left to somebody who opted out")
		}
		if got[testserver.SubscriberAddress(70)] != 1 {
			t.Error("a contact that was deleted after the send is no longer of the frozen audience")
		}
		if len(got) != n-2 {
			t.Errorf("%d got mail, want %d", len(got), n-2)
		}
		end := w.Broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != n-2 || end.Counts.Suppressed != 2 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestBadContactsDontStopBroadcast(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		const n = 120
		relay := testserver.NewRelay(func(m *app.Outgoing, try int) testserver.Answer {
			switch m.Recipients[0] {
			case testserver.SubscriberAddress(7):
				return testserver.ReplyPerRecipient(map[string]int{m.Recipients[0]: 550})
			case testserver.SubscriberAddress(8):
				return testserver.RelayTrouble(app.StageData, "connection lost")
			case testserver.SubscriberAddress(9):
				if try < 3 {
					return testserver.ReplyPerRecipient(map[string]int{m.Recipients[0]: 451})
				}
			case testserver.SubscriberAddress(10):
				return testserver.ReplyWith(app.StageData, 554, "5.7.1 not like this")
			}
			return testserver.Accept
		})
		w := testserver.Start(t, relay)
		w.AddSubscribers(n)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(50 * time.Hour)
		synctest.Wait()
		got := testserver.Received(relay)
		for i := range n {
			want := 1
			if i == 7 || i == 8 || i == 10 {
				want = 0
			}
			if got[testserver.SubscriberAddress(i)] != want {
				t.Errorf("%s got %d messages, want %d", testserver.SubscriberAddress(i), got[testserver.SubscriberAddress(i)], want)
			}
		}
		end := w.Broadcast(b.ID)
		if end.Status != app.SentBroadcast || end.Counts.Sent != n-3 || end.Counts.Bounced != 1 || end.Counts.Failed != 2 || end.Open != 0 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestEmailsPrecedeBroadcasts(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 2}, nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(200)
		w.Queue(w.AddDraft())
		time.Sleep(10*time.Second + 100*time.Millisecond)
		for range 5 {
			id := w.Send("ann@example.org")
			begun := time.Now()
			for len(relay.Transactions(id)) == 0 && time.Since(begun) < time.Minute {
				time.Sleep(10 * time.Millisecond)
			}
			if d := time.Since(begun); d > time.Second { // the time of one running message, and its own
				t.Errorf("an email waited %s behind a broadcast of 2 a second", d)
			}
			time.Sleep(3 * time.Second)
		}
	})
}

func TestBroadcastsShareARelayFairly(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Rate: 10}, nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(2000)
		first, second := w.AddDraft(), w.AddDraft()
		w.Queue(first)
		time.Sleep(10 * time.Second)
		w.Queue(second)
		before := w.Broadcast(first.ID).Counts.Sent
		time.Sleep(40 * time.Second)
		a, b := w.Broadcast(first.ID).Counts.Sent-before, w.Broadcast(second.ID).Counts.Sent
		if a < 150 || b < 150 || a+b < 380 {
			t.Errorf("in 40 s at 10 a second one broadcast sent %d and the other %d", a, b)
		}
	})
}

func TestBroadcastDailyShare(t *testing.T) {
	testserver.SynctestDays(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 4, Daily: 100}, nil)
		w := testserver.Start(t, relay)
		w.AddSubscribers(150)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(time.Hour)
		if n := w.Broadcast(b.ID).Counts.Sent; n != 70 {
			t.Errorf("%d sent in the first hour, want 70", n)
		}
		for range 30 {
			w.Send("ann@example.org")
		}
		time.Sleep(time.Minute)
		if n := len(relay.Transactions("")); n != 100 {
			t.Errorf("%d messages in all, want 100", n)
		}
		time.Sleep(24 * time.Hour)
		if n := w.Broadcast(b.ID).Counts.Sent; n != 140 {
			t.Errorf("%d sent after a day, want 140", n)
		}
		time.Sleep(24 * time.Hour)
		if end := w.Broadcast(b.ID); end.Status != app.SentBroadcast || end.Counts.Sent != 150 {
			t.Errorf("the broadcast ended as %+v", end)
		}
	})
}

func TestFinishTimeWithFailingRelay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		down := new(atomic.Bool)
		down.Store(true)
		relay := testserver.NewRelay(func(*app.Outgoing, int) testserver.Answer {
			if down.Load() {
				return testserver.RelayTrouble(app.StageConnect, "connection refused")
			}
			return testserver.Accept
		})
		w := testserver.Start(t, relay)
		w.AddSubscribers(3)
		b := w.AddDraft()
		w.Queue(b)
		time.Sleep(time.Minute)
		synctest.Wait()
		view, err := w.Services.Broadcasts.GetBroadcast(t.Context(), w.Key, b.ID)
		if err != nil || view.Status != app.QueuedBroadcast || !view.FinishesAt.IsZero() {
			t.Errorf("%s, finishes at %s: %v", view.Status, view.FinishesAt, err)
		}
	})
}
