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

func TestCanceledEmailIsNotSent(t *testing.T) {
	wait := func(*testserver.Server) {}
	for name, c := range map[string]struct {
		first testserver.Answer // of the relay, before the cancel
		at    string
		until func(*testserver.Server)
	}{
		"scheduled": {testserver.Accept, "in 1 hour", wait},
		"queued":    {testserver.RelayTrouble(app.StageConnect, "no route"), "", func(*testserver.Server) { testserver.Sleep(5 * time.Second) }},
		"retry":     {testserver.ReplyWith(app.StageData, 451, "later"), "", func(*testserver.Server) { testserver.Sleep(5 * time.Second) }},
		"doubt":     {testserver.LoseReply, "", func(*testserver.Server) { testserver.Sleep(5 * time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(c.first))
				w := testserver.Start(t, relay)
				id := w.SendAt(c.at)
				synctest.Wait()
				c.until(w)
				testserver.Must(t, w.Cancel(id))
				relay.SetScript(nil)
				before := len(relay.Transactions(id))
				testserver.Sleep(time.Hour)
				if n := len(relay.Transactions(id)); n != before {
					t.Errorf("%d transactions after the cancel", n-before)
				}
				wantCanceled(w, id)
				for _, d := range w.Doubts() {
					if d.Settled != "canceled" {
						t.Errorf("doubt %+v", d)
					}
				}
				wantNoErrorLog(w)
			})
		})
	}
}

func TestCancelDuringTransaction(t *testing.T) {
	for name := range testserver.FailuresBeforeDot(nil) {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelay(testserver.InOrder(testserver.FailuresBeforeDot(hang)[name]))
				w := testserver.Start(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.Cancel(id))
				close(hang)
				testserver.Sleep(time.Hour)
				if n := len(relay.Transactions(id)); n != 1 || len(w.CommittedUnits()) != 0 {
					t.Errorf("%d transactions, committed %v", n, w.CommittedUnits())
				}
				wantCanceled(w, id)
				if n := len(w.Events(id)); name != "trouble" && n != 2 {
					t.Errorf("%d events:\n%s", n, w.Timeline(id))
				}
			})
		})
	}
}

func TestCancelOfProbeKeepsBreakerOpen(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		down := testserver.RelayTrouble(app.StageConnect, "no route")
		relay := testserver.NewRelay(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			if len(m.Recipients) == 0 { // like smtpout
				return app.Result{Kind: app.ResultDone, Stage: app.StageCompose}
			}
			return down(ctx, m, authorize)
		}))
		w := testserver.New(t, relay)
		var ids []string
		for i := range 20 {
			ids = append(ids, w.Send(fmt.Sprintf("u%d@example.net", i)))
		}
		w.Start()
		testserver.Sleep(10 * time.Minute)
		began := len(relay.Transactions(""))
		for _, id := range ids[1:] {
			testserver.Must(t, w.Cancel(id))
		}
		testserver.Sleep(20 * time.Minute)
		if n := len(relay.Transactions("")) - began; n < 15 || n > 21 {
			t.Errorf("%d tries in 20 minutes at a relay that can't be reached", n)
		}
		if w.Log.Contains("takes mail again") {
			t.Error("the relay counts as healthy")
		}
	})
}

func TestCancelAfterDotIsRefused(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyAfter(hang))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		if len(w.CommittedUnits()) != 1 {
			t.Fatal("not committed")
		}
		testserver.WantCode(t, w.Cancel(id), app.CodeValidation)
		close(hang)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		testserver.WantCode(t, w.Cancel(id), app.CodeValidation)
	})
}

func TestCancelOrDotNeverBoth(t *testing.T) {
	const emails = 1000
	results := make(chan [2]bool, emails) // canceled, committed
	var w *testserver.Server
	race := func(_ context.Context, m *app.Outgoing, authorize func() error) app.Result {
		var canceled bool
		var wg sync.WaitGroup
		wg.Go(func() { canceled = w.Cancel(m.EmailID) == nil })
		held := authorize()
		wg.Wait()
		results <- [2]bool{canceled, held == nil}
		if held != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		return testserver.Accept(t.Context(), m, func() error { return nil })
	}
	relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 16}, testserver.Always(race))
	w = testserver.New(t, relay)
	var ids []string
	for range emails / app.MaxBatch {
		var to []string
		for i := range app.MaxBatch {
			to = append(to, fmt.Sprintf("u%d@example.net", i))
		}
		result, err := w.Services.Mail.SendBatch(t.Context(), w.Key, testserver.GoodItems(to...), false, mail.SendOptions{})
		testserver.Must(t, err)
		ids = append(ids, result.IDs...)
	}
	w.Start()
	canceled, timeout := 0, time.After(time.Minute)
	for range emails {
		select {
		case r := <-results:
			if r[0] == r[1] {
				t.Errorf("canceled %v, committed %v", r[0], r[1])
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

func TestDeletedEmailIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		first testserver.Answer
		at    string
	}{
		"scheduled": {testserver.Accept, "in 1 hour"}, "queued": {testserver.RelayTrouble(app.StageConnect, "no route"), ""},
		"retry": {testserver.ReplyWith(app.StageData, 451, "later"), ""}, "doubt": {testserver.LoseReply, ""}, "sent": {testserver.Accept, ""}, "bounced": {testserver.ReplyPerRecipient(map[string]int{"bob@example.net": 550}), ""},
		"captured": {testserver.Capture, ""},
	} {
		t.Run(name, func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				relay := testserver.NewRelay(testserver.Always(c.first))
				w := testserver.Start(t, relay)
				in := testserver.Message("bob@example.net")
				in.ScheduledAt, in.HTML = c.at, "<p>x</p>"
				in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte("x")}}
				id, err := w.Services.Mail.SendEmail(t.Context(), w.Key, in, mail.SendOptions{IdempotencyKey: "k"})
				testserver.Must(t, err)
				testserver.Sleep(5 * time.Second)
				testserver.Must(t, w.DeleteEmail(id))
				wantDeleted(w, id)
				testserver.WantCode(t, w.DeleteEmail(id), app.CodeNotFound)
				testserver.WantCode(t, w.Cancel(id), app.CodeNotFound)
				testserver.WantCode(t, w.Reschedule(id, "in 1 hour"), app.CodeNotFound)
				before := len(relay.Transactions(id))
				relay.SetScript(nil)
				testserver.Sleep(time.Hour)
				if n := len(relay.Transactions(id)); n != before {
					t.Errorf("%d transactions after the end", n-before)
				}
				wantDeleted(w, id)
				wantNoErrorLog(w)
			})
		})
	}
}

func TestDeleteDuringDotIsConflict(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := testserver.Start(t, testserver.NewRelay(testserver.Always(testserver.ReplyAfter(hang))))
		id := w.Send("bob@example.net")
		synctest.Wait()
		testserver.WantCode(t, w.DeleteEmail(id), app.CodeConflict)
		close(hang)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		testserver.Must(t, w.DeleteEmail(id))
		wantDeleted(w, id)
	})
}

func TestAttemptOfDeletedEmailLogsNoError(t *testing.T) {
	for name := range testserver.FailuresBeforeDot(nil) {
		t.Run(name, func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1}, testserver.InOrder(testserver.FailuresBeforeDot(hang)[name]))
				w := testserver.Start(t, relay)
				id := w.Send("bob@example.net")
				synctest.Wait()
				testserver.Must(t, w.DeleteEmail(id))
				close(hang)
				testserver.Sleep(10 * time.Minute)
				wantDeleted(w, id)
				if n := len(relay.Transactions(id)); n != 1 || len(w.CommittedUnits()) != 0 {
					t.Errorf("%d transactions, committed %v", n, w.CommittedUnits())
				}
				if w.Log.Contains("record a result") || w.Log.Contains("read a unit") || name != "panic" && w.Log.Contains("level=ERROR") {
					t.Errorf("log:\n%s", w.Log.String())
				}
				relay.SetScript(nil)
				next := w.Send("eve@example.net") // the workers are free
				testserver.Sleep(2 * time.Second)
				w.WantLastEvent(next, app.Sent)
				if n := len(w.Services.Delivery.Queues()[0].Claimed()); n != 0 {
					t.Errorf("%d units are still claimed", n)
				}
			})
		})
	}
}

func TestDeleteBeforeContentIsReadLogsNoError(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil)
		w := testserver.New(t, relay)
		var ids []string
		for range 8 {
			ids = append(ids, w.Send("bob@example.net"))
		}
		w.Start()
		synctest.Wait() // later emails are claimed and wait for the rate limit
		testserver.Must(t, w.DeleteEmail(ids[6]))
		testserver.Must(t, w.Cancel(ids[7]))
		testserver.Sleep(time.Minute)
		wantNoErrorLog(w)
		wantDeleted(w, ids[6])
		wantCanceled(w, ids[7])
		if n := len(relay.Transactions(ids[6])) + len(relay.Transactions(ids[7])); n != 0 {
			t.Errorf("%d transactions for emails that were withdrawn before", n)
		}
		for _, id := range ids[:6] {
			w.WantLastEvent(id, app.Sent)
		}
	})
}
