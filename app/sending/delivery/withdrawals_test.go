package delivery_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/sending/mail"
	"mailer/app/testing/testserver"
)

func TestACanceledEmailNeverLeaves(t *testing.T) {
	wait := func(*testserver.World) {}
	for name, c := range map[string]struct {
		first testserver.Answer // of the relay, before the cancel
		at    string
		until func(*testserver.World)
	}{
		"scheduled": {testserver.Accept, "in 1 hour", wait},
		"queued":    {testserver.Trouble(app.StageConnect, "no route"), "", func(*testserver.World) { testserver.Sleep(5 * time.Second) }},
		"retry":     {testserver.Says(app.StageData, 451, "later"), "", func(*testserver.World) { testserver.Sleep(5 * time.Second) }},
		"doubt":     {testserver.Lost, "", func(*testserver.World) { testserver.Sleep(5 * time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(c.first))
				w := testserver.Serving(t, relay)
				id := w.SendAt(c.at)
				synctest.Wait()
				c.until(w)
				testserver.Must(t, w.Cancel(id))
				relay.Follow(nil)
				before := len(relay.Seen(id))
				testserver.Sleep(time.Hour)
				if n := len(relay.Seen(id)); n != before {
					t.Errorf("%d transactions after the cancel", n-before)
				}
				wantCanceled(w, id)
				for _, d := range w.Doubts() {
					if d.Settled != "canceled" {
						t.Errorf("doubt %+v", d)
					}
				}
				wantQuiet(w)
			})
		})
	}
}

func TestAnEmailCanceledWhileTheRelayThinksNeverLeaves(t *testing.T) {
	for name := range testserver.BeforeTheDot(nil) {
		t.Run(name, func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(testserver.Firstly(testserver.BeforeTheDot(hang)[name]))
				w := testserver.Serving(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.Cancel(id))
				close(hang)
				testserver.Sleep(time.Hour)
				if n := len(relay.Seen(id)); n != 1 || len(w.Dotted()) != 0 {
					t.Errorf("%d transactions, dotted %v", n, w.Dotted())
				}
				wantCanceled(w, id)
				if n := len(w.Events(id)); name != "trouble" && n != 2 {
					t.Errorf("%d events:\n%s", n, w.Story(id))
				}
			})
		})
	}
}

func TestTheCancelOfAProbesEmailDoesNotOpenADeadRelay(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		down := testserver.Trouble(app.StageConnect, "no route")
		relay := testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			if len(m.Recipients) == 0 { // as smtpout does
				return app.Result{Kind: app.ResultDone, Stage: app.StageCompose}
			}
			return down(ctx, m, hold)
		}))
		w := testserver.Idle(t, relay)
		var ids []string
		for i := range 20 {
			ids = append(ids, w.Send(fmt.Sprintf("u%d@example.net", i)))
		}
		w.Start()
		testserver.Sleep(10 * time.Minute)
		began := len(relay.Seen(""))
		for _, id := range ids[1:] {
			testserver.Must(t, w.Cancel(id))
		}
		testserver.Sleep(20 * time.Minute)
		if n := len(relay.Seen("")) - began; n < 15 || n > 21 {
			t.Errorf("%d tries in 20 minutes at a relay that can't be reached", n)
		}
		if w.Log.Has("takes mail again") {
			t.Error("the relay counts as healthy")
		}
	})
}

func TestACancelAfterTheDotIsTooLate(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := testserver.Serving(t, testserver.NewRelay(testserver.Always(testserver.DotThen(hang))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		if len(w.Dotted()) != 1 {
			t.Fatal("not dotted")
		}
		testserver.WantCode(t, w.Cancel(id), app.CodeValidation)
		close(hang)
		synctest.Wait()
		w.WantLast(id, app.Sent)
		testserver.WantCode(t, w.Cancel(id), app.CodeValidation)
	})
}

func TestNeverBothACancelAndADot(t *testing.T) {
	const emails = 1000
	results := make(chan [2]bool, emails) // canceled, dotted
	var w *testserver.World
	race := func(_ context.Context, m *app.Outgoing, hold func() error) app.Result {
		var canceled bool
		var wg sync.WaitGroup
		wg.Go(func() { canceled = w.Cancel(m.EmailID) == nil })
		held := hold()
		wg.Wait()
		results <- [2]bool{canceled, held == nil}
		if held != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		return testserver.Accept(t.Context(), m, func() error { return nil })
	}
	relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 16}, testserver.Always(race))
	w = testserver.Idle(t, relay)
	var ids []string
	for range emails / app.MaxBatch {
		var to []string
		for i := range app.MaxBatch {
			to = append(to, fmt.Sprintf("u%d@example.net", i))
		}
		result, err := w.Server.Mail.SendBatch(t.Context(), w.Key, testserver.Good(to...), false, mail.SendOptions{})
		testserver.Must(t, err)
		ids = append(ids, result.IDs...)
	}
	w.Start()
	canceled, timeout := 0, time.After(time.Minute)
	for range emails {
		select {
		case r := <-results:
			if r[0] == r[1] {
				t.Errorf("canceled %v, dotted %v", r[0], r[1])
			}
			if r[0] {
				canceled++
			}
		case <-timeout:
			t.Fatal("not all came up in a minute")
		}
	}
	w.Stop()
	w.Open()
	for _, id := range ids {
		switch last := w.Email(id).LastEvent; last {
		case app.Canceled:
			canceled--
		case app.Sent:
		default:
			t.Errorf("%s is %s", id, last)
		}
	}
	if canceled != 0 {
		t.Errorf("%d cancels were answered and are not stored", canceled)
	}
}

func TestADeletedEmailNeverLeavesAndLeavesNoTrace(t *testing.T) {
	for name, c := range map[string]struct {
		first testserver.Answer
		at    string
	}{
		"scheduled": {testserver.Accept, "in 1 hour"}, "queued": {testserver.Trouble(app.StageConnect, "no route"), ""},
		"retry": {testserver.Says(app.StageData, 451, "later"), ""}, "doubt": {testserver.Lost, ""}, "sent": {testserver.Accept, ""}, "bounced": {testserver.ByName(map[string]int{"bob@example.net": 550}), ""},
		"captured": {testserver.Captured, ""},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(c.first))
				w := testserver.Serving(t, relay)
				in := testserver.Letter("bob@example.net")
				in.ScheduledAt, in.HTML = c.at, "<p>x</p>"
				in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte("x")}}
				id, err := w.Server.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{IdempotencyKey: "k"})
				testserver.Must(t, err)
				testserver.Sleep(5 * time.Second)
				testserver.Must(t, w.Remove(id))
				wantGone(w, id)
				testserver.WantCode(t, w.Remove(id), app.CodeNotFound)
				testserver.WantCode(t, w.Cancel(id), app.CodeNotFound)
				testserver.WantCode(t, w.Move(id, "in 1 hour"), app.CodeNotFound)
				before := len(relay.Seen(id))
				relay.Follow(nil)
				testserver.Sleep(time.Hour)
				if n := len(relay.Seen(id)); n != before {
					t.Errorf("%d transactions after the end", n-before)
				}
				wantGone(w, id)
				wantQuiet(w)
			})
		})
	}
}

func TestADeleteWhileTheEmailLeavesIsAConflict(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := testserver.Serving(t, testserver.NewRelay(testserver.Always(testserver.DotThen(hang))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		testserver.WantCode(t, w.Remove(id), app.CodeConflict)
		close(hang)
		synctest.Wait()
		w.WantLast(id, app.Sent)
		testserver.Must(t, w.Remove(id))
		wantGone(w, id)
	})
}

func TestTheAttemptOfADeletedEmailEndsQuietly(t *testing.T) {
	for name := range testserver.BeforeTheDot(nil) {
		t.Run(name, func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1}, testserver.Firstly(testserver.BeforeTheDot(hang)[name]))
				w := testserver.Serving(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.Remove(id))
				close(hang)
				testserver.Sleep(10 * time.Minute)
				wantGone(w, id)
				if n := len(relay.Seen(id)); n != 1 || len(w.Dotted()) != 0 {
					t.Errorf("%d transactions, dotted %v", n, w.Dotted())
				}
				if w.Log.Has("record a result") || w.Log.Has("read a unit") || name != "panic" && w.Log.Has("level=ERROR") {
					t.Errorf("log:\n%s", w.Log.Text.String())
				}
				relay.Follow(nil)
				next := w.Send("eve@example.net") // the workers are free
				testserver.Sleep(2 * time.Second)
				w.WantLast(next, app.Sent)
				if n := len(w.Server.Delivery.Lanes()[0].Claimed()); n != 0 {
					t.Errorf("%d units are still claimed", n)
				}
			})
		})
	}
}

func TestAnEmailDeletedBeforeItsContentIsReadEndsQuietly(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil)
		w := testserver.Idle(t, relay)
		var ids []string
		for range 8 {
			ids = append(ids, w.Send("bob@example.net"))
		}
		w.Start()
		synctest.Wait() // the later ones are claimed and wait for the relay's rate
		testserver.Must(t, w.Remove(ids[6]))
		testserver.Must(t, w.Cancel(ids[7]))
		testserver.Sleep(time.Minute)
		wantQuiet(w)
		wantGone(w, ids[6])
		wantCanceled(w, ids[7])
		if n := len(relay.Seen(ids[6])) + len(relay.Seen(ids[7])); n != 0 {
			t.Errorf("%d transactions for emails that were withdrawn before", n)
		}
		for _, id := range ids[:6] {
			w.WantLast(id, app.Sent)
		}
	})
}
