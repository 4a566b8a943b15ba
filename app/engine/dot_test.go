package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

func TestAnEmailThatIsWithdrawnBeforeTheDotNeverLeaves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(always(after(hang, accept)))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.DeleteUnit(app.Unit{EmailID: id}) }))
		close(hang)
		synctest.Wait()
		if n := len(w.events(id)); n != 1 || len(w.dotted()) != 0 || w.unit(id) != nil {
			t.Errorf("%d events, dotted %v:\n%s", n, w.dotted(), w.story(id))
		}
	})
}

func TestNeverAreMoreUnitsDottedThanTheRelayHasConnections(t *testing.T) {
	for _, connections := range []int{1, 3} {
		t.Run(fmt.Sprint(connections), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				most := make(chan int, 1000)
				var w *world
				relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: connections}, always(trouble(app.StageConnect, "no route")))
				w = idle(t, relay)
				for i := range 200 {
					w.send(fmt.Sprintf("u%d@example.net", i))
				}
				w.start()
				synctest.Wait()
				// The probe has the end of the trouble to note between its reply and its
				// result: others may overtake it there.
				relay.follow(always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
					res := accept(ctx, m, hold)
					most <- len(w.dotted())
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
				if relay.maxOpen > connections {
					t.Errorf("%d connections were used at once", relay.maxOpen)
				}
			})
		})
	}
}

func TestStopLetsWhatRunsEndAndKeepsTheRestQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(always(after(hang, accept)))
		w := idle(t, relay)
		for i := range 60 {
			w.send(fmt.Sprintf("u%d@example.net", i))
		}
		w.start()
		synctest.Wait()
		time.AfterFunc(10*time.Second, func() { close(hang) })
		began := time.Now()
		w.stop()
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		// What waits for a connection may still get it; what waits in the lane not.
		begun := len(relay.seen(""))
		if begun < 4 || begun > 2*4+w.e.cfg.Builders || !relay.closed {
			t.Errorf("%d transactions, closed %v", begun, relay.closed)
		}
		w.open()
		sent := 0
		emails, _, err := w.e.ListEmails(t.Context(), w.key, app.Page{Limit: 100})
		must(t, err)
		for _, email := range emails {
			u := w.unit(email.ID)
			switch {
			case email.LastEvent == app.Sent && u == nil:
				sent++
			case email.LastEvent != app.Queued || u == nil:
				t.Errorf("%s is %s with unit %+v", email.ID, email.LastEvent, u)
			case u.Attempts != 0:
				t.Errorf("%s: %d attempts were counted though none began", email.ID, u.Attempts)
			}
		}
		if sent != begun || len(w.dotted()) != 0 {
			t.Errorf("%d sent, dotted %v", sent, w.dotted())
		}
	})
}

func TestStopDropsAfterItsTimeWhatHasNotSentItsDot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(always(after(nil, accept)))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		began := time.Now()
		w.stop()
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		relay.follow(nil)
		w.open()
		if u := w.unit(id); u == nil || u.Attempts != 0 || len(w.dotted()) != 0 {
			t.Errorf("unit %+v, dotted %v", u, w.dotted())
		}
		w.start()
		synctest.Wait()
		w.wantLast(id, app.Sent)
		if len(w.doubts()) != 0 {
			t.Errorf("doubts %v", w.doubts())
		}
	})
}

func TestStopDoesNotWaitForARelayThatIsSilentAfterTheDot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		relay.follow(always(func(_ context.Context, m *app.Outgoing, hold func() error) app.Result {
			must(t, hold())
			<-relay.gone // as smtpout does: only Close ends this wait
			return app.Result{Kind: app.ResultDoubt, Stage: app.StageDot, Reply: app.Reply{Text: "stopped"}}
		}))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		began := time.Now()
		w.stop()
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("it took %v to stop", d)
		}
		relay.follow(nil)
		w.open()
		if d := w.doubts(); len(d) != 1 || d[0].EmailID != id {
			t.Errorf("doubts %+v", d)
		}
		w.start()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		if d := w.doubts(); len(d) != 1 || d[0].Settled == "" {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestATroubleAfterHoldAtStopIsNoDoubt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The client closes the socket before the dot, though hold had agreed.
		relay := newRelay(always(func(ctx context.Context, _ *app.Outgoing, hold func() error) app.Result {
			must(t, hold())
			<-ctx.Done()
			return app.Result{Kind: app.ResultTrouble, Stage: app.StageData, Reply: app.Reply{Text: "stopped"}}
		}))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		w.stop()
		w.open()
		if n := len(w.dotted()); n != 0 {
			t.Errorf("%d units are dotted that surely did not leave", n)
		}
		if u := w.unit(id); u == nil {
			t.Error("the unit is gone")
		}
	})
}

func TestAPanicInADeliveryStopsNothingElse(t *testing.T) {
	for _, dotted := range []bool{false, true} {
		t.Run(fmt.Sprint("dotted=", dotted), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Daily: 1000}, func(m *app.Outgoing, n int) answer {
					if n > 1 || m.Recipients[0] != "bad@example.net" {
						return nil
					}
					return func(_ context.Context, _ *app.Outgoing, hold func() error) app.Result {
						if dotted {
							must(t, hold())
						}
						panic("boom")
					}
				})
				w := serving(t, relay)
				bad := w.send("bad@example.net")
				synctest.Wait()
				time.Sleep(3 * time.Second)
				good := w.send("good@example.net")
				time.Sleep(2 * time.Second)
				synctest.Wait()
				w.wantLast(good, app.Sent)
				if n := len(w.doubts()); n == 1 != dotted {
					t.Errorf("%d doubts", n)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				w.wantLast(bad, app.Sent)
				if !w.log.has("boom") || w.log.has("claim units") {
					t.Errorf("log:\n%s", w.log.text.String())
				}
				want := int64(2)
				if dotted {
					want = 3
				}
				if got := w.e.lanes[0].limits.total.sent; got != want {
					t.Errorf("%d places of the daily limit are taken, want %d", got, want)
				}
			})
		})
	}
}

func TestALostReplyRestsTheRelayAndSendsTheSameBytesOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(lost))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		synctest.Wait()
		if d := w.doubts(); len(d) != 1 || d[0].EmailID != id || d[0].MessageID != id+"@example.com" || d[0].Settled != "" || d[0].Recipients[0] != "bob@example.net" {
			t.Fatalf("doubts %+v", d)
		}
		if ev := w.eventOf(id, app.EventInDoubt); !strings.Contains(ev.Detail.Message, "connection reset") || ev.Detail.NextAttemptAt == "" {
			t.Errorf("event %+v", ev)
		}
		w.wantLast(id, app.Queued)
		if !w.e.lanes[0].gate.shut {
			t.Error("the relay does not rest")
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if n := len(relay.seen(id)); n != 1 {
			t.Errorf("sent %d times within the delay", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		tries := relay.seen(id)
		if len(tries) != 2 || tries[0].m.Signature != "" || tries[1].m.Signature != firstSignature(id) ||
			tries[0].m.MessageID != tries[1].m.MessageID || !tries[0].m.Date.Truncate(time.Second).Equal(tries[1].m.Date.Truncate(time.Second)) {
			t.Errorf("tries %+v", tries)
		}
		if d := w.doubts(); len(d) != 1 || !strings.Contains(d[0].Settled, "sent again") || d[0].SettledAt.IsZero() {
			t.Errorf("doubts %+v", d)
		}
	})
}

func TestRepeatedDoubtsBackOffAndEndAfter48Hours(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(always(lost))
		w := serving(t, relay)
		id := w.send("bob@example.net")
		time.Sleep(time.Hour)
		synctest.Wait()
		tries := relay.seen(id)
		for i := 1; i < len(tries); i++ {
			want := time.Minute << (i - 1)
			if gap := tries[i].at.Sub(tries[i-1].at); gap < want || gap > want+2*time.Minute {
				t.Errorf("try %d came after %v, want %v", i+1, gap, want)
			}
		}
		if len(tries) < 5 || len(tries) > 7 {
			t.Errorf("%d tries in an hour", len(tries))
		}
		w.stop()
		time.Sleep(48 * time.Hour)
		w.open()
		w.start()
		synctest.Wait()
		w.wantLast(id, app.Failed)
		for _, d := range w.doubts() {
			if d.Settled == "" {
				t.Errorf("doubt %+v", d)
			}
		}
		if ev := w.eventOf(id, app.EventType(app.Failed)); w.unit(id) != nil || !strings.Contains(ev.Detail.Message, "connection reset") {
			t.Errorf("unit %v, event %+v", w.unit(id), ev)
		}
	})
}

func TestARecipientRefusedInADoubtfulTransactionIsSettled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			res := byName(map[string]int{"no@example.net": 550})(ctx, m, hold)
			res.Kind, res.Reply, res.Recipients = app.ResultDoubt, app.Reply{Text: "connection reset"}, res.Recipients[:1]
			return res
		}))
		w := serving(t, relay)
		id := w.send("no@example.net", "yes@example.net")
		synctest.Wait()
		if d := w.doubts(); len(d) != 1 || len(d[0].Recipients) != 1 || d[0].Recipients[0] != "yes@example.net" {
			t.Errorf("doubts %+v", d)
		}
		w.wantLast(id, app.Bounced)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if tries := relay.seen(id); len(tries) != 2 || len(tries[1].m.Recipients) != 1 {
			t.Errorf("tries %+v", tries)
		}
	})
}
