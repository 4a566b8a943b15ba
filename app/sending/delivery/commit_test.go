package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/rules/relayurl"
	"mailer/app/testing/testserver"
	"mailer/db"
)

func TestEmailWithdrawnBeforeDotIsNotSent(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteUnit(app.Unit{EmailID: id}) }))
		close(hang)
		synctest.Wait()
		if n := len(w.Events(id)); n != 1 || len(w.CommittedUnits()) != 0 || w.Unit(id) != nil {
			t.Errorf("%d events, committed %v:\n%s", n, w.CommittedUnits(), w.Timeline(id))
		}
	})
}

func TestCommittedUnitsAreBoundedByConnections(t *testing.T) {
	for _, connections := range []int{1, 3} {
		t.Run(fmt.Sprint(connections), func(t *testing.T) {
			testserver.SynctestHours(t, func(t *testing.T) {
				most := make(chan int, 1000)
				var w *testserver.Server
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: connections}, testserver.Always(testserver.RelayTrouble(app.StageConnect, "no route")))
				w = testserver.New(t, relay)
				for i := range 200 {
					w.Send(fmt.Sprintf("u%d@example.net", i))
				}
				w.Start()
				synctest.Wait()
				// The probe records the end of the trouble between its reply and its
				// result: other results may come before.
				relay.SetScript(testserver.Always(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
					res := testserver.Accept(ctx, m, authorize)
					most <- len(w.CommittedUnits())
					return res
				}))
				time.Sleep(time.Minute)
				synctest.Wait()
				close(most)
				n, top := 0, 0
				for d := range most {
					n, top = n+1, max(top, d)
				}
				if n != 200 || top > connections || top == 0 {
					t.Errorf("%d transactions, at most %d committed concurrently", n, top)
				}
				if relay.MaxOpen > connections {
					t.Errorf("%d connections were used concurrently", relay.MaxOpen)
				}
			})
		})
	}
}

func TestStopFinishesRunningTransactions(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Synctest(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.New(t, relay)
		for i := range 60 {
			w.Send(fmt.Sprintf("u%d@example.net", i))
		}
		w.Start()
		synctest.Wait()
		time.AfterFunc(10*time.Second, func() { close(hang) })
		began := time.Now()
		w.Stop()
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		// Units that wait for a connection may get one; units that wait for a worker may not.
		begun := len(relay.Transactions(""))
		if begun < 4 || begun > 2*4+w.Services.Delivery.Builders || !relay.Closed {
			t.Errorf("%d transactions, closed %v", begun, relay.Closed)
		}
		w.Open()
		sent := 0
		emails, _, err := w.Services.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 100})
		testserver.Must(t, err)
		for _, email := range emails {
			u := w.Unit(email.ID)
			switch {
			case email.LastEvent == app.Sent && u == nil:
				sent++
			case email.LastEvent != app.Queued || u == nil:
				t.Errorf("%s is %s with unit %+v", email.ID, email.LastEvent, u)
			case u.Attempts != 0:
				t.Errorf("%s: %d attempts were counted though none began", email.ID, u.Attempts)
			}
		}
		if sent != begun || len(w.CommittedUnits()) != 0 {
			t.Errorf("%d sent, committed %v", sent, w.CommittedUnits())
		}
	})
}

func TestStopTimeoutDropsUncommittedTransactions(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept)))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		began := time.Now()
		w.Stop()
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		relay.SetScript(nil)
		w.Open()
		if u := w.Unit(id); u == nil || u.Attempts != 0 || len(w.CommittedUnits()) != 0 {
			t.Errorf("unit %+v, committed %v", u, w.CommittedUnits())
		}
		w.Start()
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		if len(w.Doubts()) != 0 {
			t.Errorf("doubts %v", w.Doubts())
		}
	})
}

func TestStopDoesNotWaitForSilentRelay(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		relay.SetScript(testserver.Always(func(_ context.Context, m *app.Outgoing, authorize func() error) app.Result {
			testserver.Must(t, authorize())
			<-relay.Done // like smtpout: only Close ends this wait
			return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "stopped"}}
		}))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		began := time.Now()
		w.Stop()
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		relay.SetScript(nil)
		w.Open()
		if d := w.Doubts(); len(d) != 1 || d[0].EmailID != id {
			t.Errorf("doubts %+v", d)
		}
		w.Start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		if d := w.Doubts(); len(d) != 1 || d[0].Settled == "" {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestTroubleAfterCommitAtStopIsNoDoubt(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		// The client closes the socket before the dot, although authorize agreed.
		relay := testserver.NewRelay(testserver.Always(func(ctx context.Context, _ *app.Outgoing, authorize func() error) app.Result {
			testserver.Must(t, authorize())
			<-ctx.Done()
			return app.Result{Kind: app.ResultTrouble, Stage: app.StageData, Reply: app.Reply{Text: "stopped"}}
		}))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		w.Stop()
		w.Open()
		if n := len(w.CommittedUnits()); n != 0 {
			t.Errorf("%d units are committed that surely did not leave", n)
		}
		if u := w.Unit(id); u == nil {
			t.Error("the unit is gone")
		}
	})
}

func TestPanicInDeliveryIsContained(t *testing.T) {
	for _, committed := range []bool{false, true} {
		t.Run(fmt.Sprint("committed=", committed), func(t *testing.T) {
			testserver.Synctest(t, func(t *testing.T) {
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 1000}, func(m *app.Outgoing, n int) testserver.Answer {
					if n > 1 || m.Recipients[0] != "bad@example.net" {
						return nil
					}
					return func(_ context.Context, _ *app.Outgoing, authorize func() error) app.Result {
						if committed {
							testserver.Must(t, authorize())
						}
						panic("boom")
					}
				})
				w := testserver.Start(t, relay)
				bad := w.Send("bad@example.net")
				synctest.Wait()
				time.Sleep(3 * time.Second)
				good := w.Send("good@example.net")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				w.WantLastEvent(good, app.Sent)
				if n := len(w.Doubts()); n == 1 != committed {
					t.Errorf("%d doubts", n)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				w.WantLastEvent(bad, app.Sent)
				if !w.Log.Contains("boom") || w.Log.Contains("claim units") {
					t.Errorf("log:\n%s", w.Log.String())
				}
				want := int64(2)
				if committed {
					want = 3
				}
				if got := w.Services.Delivery.Queues()[0].Limits().Total().Sent(); got != want {
					t.Errorf("%d messages of the daily limit are reserved, want %d", got, want)
				}
			})
		})
	}
}

func TestLostReplyPausesSenderAndResendsSameBytes(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(testserver.LoseReply))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		if d := w.Doubts(); len(d) != 1 || d[0].EmailID != id || d[0].MessageID != id+"@example.com" || d[0].Settled != "" || d[0].Recipients[0] != "bob@example.net" {
			t.Fatalf("doubts %+v", d)
		}
		if ev := w.OnlyEvent(id, app.EventInDoubt); !strings.Contains(ev.Detail.Message, "the relay may have accepted it") || ev.Detail.NextAttemptAt == "" {
			t.Errorf("event %+v", ev)
		}
		w.WantLastEvent(id, app.Queued)
		if l := w.Services.Delivery.Queues()[0]; l.Breaker().IsOpen() || l.OpenSenders() != 1 {
			t.Error("the sender does not rest, or the relay does")
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := relay.FinalDots(id); n != 1 {
			t.Errorf("sent %d times within the delay", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.WantLastEvent(id, app.Sent)
		tries := relay.Transactions(id)
		if len(tries) != 2 || tries[0].Message.Signature != "" || tries[1].Message.Signature != testserver.FirstSignature(id) ||
			tries[0].Message.MessageID != tries[1].Message.MessageID || !tries[0].Message.Date.Truncate(time.Second).Equal(tries[1].Message.Date.Truncate(time.Second)) {
			t.Errorf("tries %+v", tries)
		}
		if d := w.Doubts(); len(d) != 1 || !strings.Contains(d[0].Settled, "sent again") || d[0].SettledAt.IsZero() {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestRepeatedDoubtsBackOffAndExpire(t *testing.T) {
	testserver.SynctestHours(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.LoseReply))
		w := testserver.Start(t, relay)
		id := w.Send("bob@example.net")
		time.Sleep(time.Hour)
		synctest.Wait()
		tries := relay.Transactions(id)
		for i := 1; i < len(tries); i++ {
			want := time.Minute << (i - 1)
			if gap := tries[i].At.Sub(tries[i-1].At); gap < want || gap > want+2*time.Minute {
				t.Errorf("try %d came after %v, want %v", i+1, gap, want)
			}
		}
		if len(tries) < 5 || len(tries) > 7 {
			t.Errorf("%d tries in an hour", len(tries))
		}
		w.Stop()
		time.Sleep(48 * time.Hour)
		w.Open()
		w.Start()
		synctest.Wait()
		w.WantLastEvent(id, app.Failed)
		for _, d := range w.Doubts() {
			if d.Settled == "" {
				t.Errorf("doubt %+v", d)
			}
		}
		if !w.Log.Contains("msg=expired email=" + id) {
			t.Error("the log does not say that it was given up")
		}
		if ev := w.OnlyEvent(id, app.EventType(app.Failed)); w.Unit(id) != nil || !strings.Contains(ev.Detail.Message, "the relay may have accepted it") {
			t.Errorf("unit %v, event %+v", w.Unit(id), ev)
		}
	})
}

func TestRecipientRefusedInDoubtIsSettled(t *testing.T) {
	testserver.Synctest(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.InOrder(func(ctx context.Context, m *app.Outgoing, authorize func() error) app.Result {
			res := testserver.ReplyPerRecipient(map[string]int{"no@example.net": 550})(ctx, m, authorize)
			res.Kind, res.Reply, res.Recipients = app.ResultDoubt, app.Reply{Text: "connection reset"}, res.Recipients[:1]
			return res
		}))
		w := testserver.Start(t, relay)
		id := w.Send("no@example.net", "yes@example.net")
		synctest.Wait()
		if d := w.Doubts(); len(d) != 1 || len(d[0].Recipients) != 1 || d[0].Recipients[0] != "yes@example.net" {
			t.Errorf("doubts %+v", d)
		}
		w.WantLastEvent(id, app.Bounced)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if tries := relay.Transactions(id); len(tries) != 2 || len(tries[1].Message.Recipients) != 1 {
			t.Errorf("tries %+v", tries)
		}
	})
}
