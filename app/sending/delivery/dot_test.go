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

func TestAnEmailThatIsWithdrawnBeforeTheDotNeverLeaves(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Serving(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		testserver.Must(t, w.DB.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteUnit(app.Unit{EmailID: id}) }))
		close(hang)
		synctest.Wait()
		if n := len(w.Events(id)); n != 1 || len(w.Dotted()) != 0 || w.Unit(id) != nil {
			t.Errorf("%d events, dotted %v:\n%s", n, w.Dotted(), w.Story(id))
		}
	})
}

func TestNeverAreMoreUnitsDottedThanTheRelayHasConnections(t *testing.T) {
	for _, connections := range []int{1, 3} {
		t.Run(fmt.Sprint(connections), func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				most := make(chan int, 1000)
				var w *testserver.World
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: connections}, testserver.Always(testserver.Trouble(app.StageConnect, "no route")))
				w = testserver.Idle(t, relay)
				for i := range 200 {
					w.Send(fmt.Sprintf("u%d@example.net", i))
				}
				w.Start()
				synctest.Wait()
				// The probe has the end of the trouble to note between its reply and its
				// result: others may overtake it there.
				relay.Follow(testserver.Always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
					res := testserver.Accept(ctx, m, hold)
					most <- len(w.Dotted())
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
					t.Errorf("%d transactions, at most %d dotted at once", n, top)
				}
				if relay.MaxOpen > connections {
					t.Errorf("%d connections were used at once", relay.MaxOpen)
				}
			})
		})
	}
}

func TestStopLetsWhatRunsEndAndKeepsTheRestQueued(t *testing.T) {
	testserver.BothEngines(t)
	testserver.Bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := testserver.NewRelay(testserver.Always(testserver.After(hang, testserver.Accept)))
		w := testserver.Idle(t, relay)
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
		// What waits for a connection may still get it; what waits in the lane not.
		begun := len(relay.Seen(""))
		if begun < 4 || begun > 2*4+w.Server.Delivery.Builders || !relay.Closed {
			t.Errorf("%d transactions, closed %v", begun, relay.Closed)
		}
		w.Open()
		sent := 0
		emails, _, err := w.Server.Mail.ListEmails(t.Context(), w.Key, app.Page{Limit: 100})
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
		if sent != begun || len(w.Dotted()) != 0 {
			t.Errorf("%d sent, dotted %v", sent, w.Dotted())
		}
	})
}

func TestStopDropsAfterItsTimeWhatHasNotSentItsDot(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.After(nil, testserver.Accept)))
		w := testserver.Serving(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		began := time.Now()
		w.Stop()
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		relay.Follow(nil)
		w.Open()
		if u := w.Unit(id); u == nil || u.Attempts != 0 || len(w.Dotted()) != 0 {
			t.Errorf("unit %+v, dotted %v", u, w.Dotted())
		}
		w.Start()
		synctest.Wait()
		w.WantLast(id, app.Sent)
		if len(w.Doubts()) != 0 {
			t.Errorf("doubts %v", w.Doubts())
		}
	})
}

func TestStopDoesNotWaitForARelayThatIsSilentAfterTheDot(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(nil)
		relay.Follow(testserver.Always(func(_ context.Context, m *app.Outgoing, hold func() error) app.Result {
			testserver.Must(t, hold())
			<-relay.Gone // as smtpout does: only Close ends this wait
			return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "stopped"}}
		}))
		w := testserver.Serving(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		began := time.Now()
		w.Stop()
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		relay.Follow(nil)
		w.Open()
		if d := w.Doubts(); len(d) != 1 || d[0].EmailID != id {
			t.Errorf("doubts %+v", d)
		}
		w.Start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.WantLast(id, app.Sent)
		if d := w.Doubts(); len(d) != 1 || d[0].Settled == "" {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestATroubleAfterHoldAtStopIsNoDoubt(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		// The client closes the socket before the dot, though hold had agreed.
		relay := testserver.NewRelay(testserver.Always(func(ctx context.Context, _ *app.Outgoing, hold func() error) app.Result {
			testserver.Must(t, hold())
			<-ctx.Done()
			return app.Result{Kind: app.ResultTrouble, Stage: app.StageData, Reply: app.Reply{Text: "stopped"}}
		}))
		w := testserver.Serving(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		w.Stop()
		w.Open()
		if n := len(w.Dotted()); n != 0 {
			t.Errorf("%d units are dotted that surely did not leave", n)
		}
		if u := w.Unit(id); u == nil {
			t.Error("the unit is gone")
		}
	})
}

func TestAPanicInADeliveryStopsNothingElse(t *testing.T) {
	for _, dotted := range []bool{false, true} {
		t.Run(fmt.Sprint("dotted=", dotted), func(t *testing.T) {
			testserver.Bubble(t, func(t *testing.T) {
				relay := testserver.NewRelayOf(relayurl.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 1000}, func(m *app.Outgoing, n int) testserver.Answer {
					if n > 1 || m.Recipients[0] != "bad@example.net" {
						return nil
					}
					return func(_ context.Context, _ *app.Outgoing, hold func() error) app.Result {
						if dotted {
							testserver.Must(t, hold())
						}
						panic("boom")
					}
				})
				w := testserver.Serving(t, relay)
				bad := w.Send("bad@example.net")
				synctest.Wait()
				time.Sleep(3 * time.Second)
				good := w.Send("good@example.net")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				w.WantLast(good, app.Sent)
				if n := len(w.Doubts()); n == 1 != dotted {
					t.Errorf("%d doubts", n)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				w.WantLast(bad, app.Sent)
				if !w.Log.Has("boom") || w.Log.Has("claim units") {
					t.Errorf("log:\n%s", w.Log.Text.String())
				}
				want := int64(2)
				if dotted {
					want = 3
				}
				if got := w.Server.Delivery.Lanes()[0].Limits().Total().Sent(); got != want {
					t.Errorf("%d places of the daily limit are taken, want %d", got, want)
				}
			})
		})
	}
}

func TestALostReplyRestsTheSenderAndSendsTheSameBytesOnce(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Firstly(testserver.Lost))
		w := testserver.Serving(t, relay)
		id := w.Send("bob@example.net")
		synctest.Wait()
		if d := w.Doubts(); len(d) != 1 || d[0].EmailID != id || d[0].MessageID != id+"@example.com" || d[0].Settled != "" || d[0].Recipients[0] != "bob@example.net" {
			t.Fatalf("doubts %+v", d)
		}
		if ev := w.EventOf(id, app.EventInDoubt); !strings.Contains(ev.Detail.Message, "the relay may have accepted it") || ev.Detail.NextAttemptAt == "" {
			t.Errorf("event %+v", ev)
		}
		w.WantLast(id, app.Queued)
		if l := w.Server.Delivery.Lanes()[0]; l.Gate().Shut() || l.Resting() != 1 {
			t.Error("the sender does not rest, or the relay does")
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := relay.Dots(id); n != 1 {
			t.Errorf("sent %d times within the delay", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.WantLast(id, app.Sent)
		tries := relay.Seen(id)
		if len(tries) != 2 || tries[0].M.Signature != "" || tries[1].M.Signature != testserver.FirstSignature(id) ||
			tries[0].M.MessageID != tries[1].M.MessageID || !tries[0].M.Date.Truncate(time.Second).Equal(tries[1].M.Date.Truncate(time.Second)) {
			t.Errorf("tries %+v", tries)
		}
		if d := w.Doubts(); len(d) != 1 || !strings.Contains(d[0].Settled, "sent again") || d[0].SettledAt.IsZero() {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestRepeatedDoubtsBackOffAndEndAfter48Hours(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Always(testserver.Lost))
		w := testserver.Serving(t, relay)
		id := w.Send("bob@example.net")
		time.Sleep(time.Hour)
		synctest.Wait()
		tries := relay.Seen(id)
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
		w.WantLast(id, app.Failed)
		for _, d := range w.Doubts() {
			if d.Settled == "" {
				t.Errorf("doubt %+v", d)
			}
		}
		if !w.Log.Has("msg=expired email=" + id) {
			t.Error("the log does not say that it was given up")
		}
		if ev := w.EventOf(id, app.EventType(app.Failed)); w.Unit(id) != nil || !strings.Contains(ev.Detail.Message, "the relay may have accepted it") {
			t.Errorf("unit %v, event %+v", w.Unit(id), ev)
		}
	})
}

func TestARecipientRefusedInADoubtfulTransactionIsSettled(t *testing.T) {
	testserver.Bubble(t, func(t *testing.T) {
		relay := testserver.NewRelay(testserver.Firstly(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			res := testserver.ByName(map[string]int{"no@example.net": 550})(ctx, m, hold)
			res.Kind, res.Reply, res.Recipients = app.ResultDoubt, app.Reply{Text: "connection reset"}, res.Recipients[:1]
			return res
		}))
		w := testserver.Serving(t, relay)
		id := w.Send("no@example.net", "yes@example.net")
		synctest.Wait()
		if d := w.Doubts(); len(d) != 1 || len(d[0].Recipients) != 1 || d[0].Recipients[0] != "yes@example.net" {
			t.Errorf("doubts %+v", d)
		}
		w.WantLast(id, app.Bounced)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if tries := relay.Seen(id); len(tries) != 2 || len(tries[1].M.Recipients) != 1 {
			t.Errorf("tries %+v", tries)
		}
	})
}
