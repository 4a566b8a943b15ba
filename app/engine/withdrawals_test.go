package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
)

// wantCanceled checks that a cancel was the end of an email.
func (w *world) wantCanceled(id string) {
	w.t.Helper()
	w.wantLast(id, app.Canceled)
	w.eventOf(id, app.EventType(app.Canceled))
	if u := w.unit(id); u != nil {
		w.t.Errorf("its work is still open: %+v", u)
	}
	if n := w.sql("SELECT count(*) FROM recipients WHERE email_id = ? AND state <> 'canceled'", id)[0]; n != "0" {
		w.t.Errorf("%s recipients still wait", n)
	}
	wantCode(w.t, w.cancel(id), app.CodeValidation)
	wantCode(w.t, w.move(id, "in 1 hour"), app.CodeValidation)
}

func TestACanceledEmailNeverLeaves(t *testing.T) {
	wait := func(*world) {}
	for name, c := range map[string]struct {
		first answer // of the relay, before the cancel
		at    string
		until func(*world)
	}{
		"scheduled": {accept, "in 1 hour", wait},
		"queued":    {trouble(app.StageConnect, "no route"), "", func(*world) { sleep(5 * time.Second) }},
		"retry":     {says(app.StageData, 451, "later"), "", func(*world) { sleep(5 * time.Second) }},
		"doubt":     {lost, "", func(*world) { sleep(5 * time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(always(c.first))
				w := serving(t, relay)
				id := w.sendAt(c.at)
				synctest.Wait()
				c.until(w)
				must(t, w.cancel(id))
				relay.follow(nil)
				before := len(relay.seen(id))
				sleep(3 * time.Hour)
				if n := len(relay.seen(id)); n != before {
					t.Errorf("%d transactions after the cancel", n-before)
				}
				w.wantCanceled(id)
				for _, d := range w.doubts() {
					if d.Settled != "canceled" {
						t.Errorf("doubt %+v", d)
					}
				}
				w.wantQuiet()
			})
		})
	}
}

func TestAnEmailCanceledWhileTheRelayThinksNeverLeaves(t *testing.T) {
	for name := range beforeTheDot(nil) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := newRelay(firstly(beforeTheDot(hang)[name]))
				w := serving(t, relay)
				id := w.send("bob@example.net")
				synctest.Wait()
				must(t, w.cancel(id))
				close(hang)
				sleep(3 * time.Hour)
				if n := len(relay.seen(id)); n != 1 || len(w.dotted()) != 0 {
					t.Errorf("%d transactions, dotted %v", n, w.dotted())
				}
				w.wantCanceled(id)
				if n := len(w.events(id)); name != "trouble" && n != 2 {
					t.Errorf("%d events:\n%s", n, w.story(id))
				}
			})
		})
	}
}

func TestTheCancelOfAProbesEmailDoesNotOpenADeadRelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		down := trouble(app.StageConnect, "no route")
		relay := newRelay(always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result {
			if len(m.Recipients) == 0 { // as smtpout does
				return app.Result{Kind: app.ResultDone, Stage: app.StageCompose}
			}
			return down(ctx, m, hold)
		}))
		w := idle(t, relay)
		var ids []string
		for i := range 20 {
			ids = append(ids, w.send(fmt.Sprintf("u%d@example.net", i)))
		}
		w.start()
		sleep(10 * time.Minute)
		began := len(relay.seen(""))
		for _, id := range ids[1:] {
			must(t, w.cancel(id))
		}
		sleep(20 * time.Minute)
		if n := len(relay.seen("")) - began; n < 15 || n > 21 {
			t.Errorf("%d tries in 20 minutes at a relay that can't be reached", n)
		}
		if w.log.has("takes mail again") {
			t.Error("the relay counts as healthy")
		}
	})
}

func TestACancelAfterTheDotIsTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := serving(t, newRelay(always(dotThen(hang))))
		id := w.send("bob@example.net")
		synctest.Wait()
		if len(w.dotted()) != 1 {
			t.Fatal("not dotted")
		}
		wantCode(t, w.cancel(id), app.CodeValidation)
		close(hang)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		wantCode(t, w.cancel(id), app.CodeValidation)
	})
}

func TestNeverBothACancelAndADot(t *testing.T) {
	const emails = 1000
	results := make(chan [2]bool, emails) // canceled, dotted
	var w *world
	race := func(_ context.Context, m *app.Outgoing, hold func() error) app.Result {
		var canceled bool
		var wg sync.WaitGroup
		wg.Go(func() { canceled = w.cancel(m.EmailID) == nil })
		held := hold()
		wg.Wait()
		results <- [2]bool{canceled, held == nil}
		if held != nil {
			return app.Result{Kind: app.ResultWithdrawn, Stage: app.StageDot}
		}
		return accept(t.Context(), m, func() error { return nil })
	}
	relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 16}, always(race))
	w = idle(t, relay)
	var ids []string
	for range emails / app.MaxBatch {
		var to []string
		for i := range app.MaxBatch {
			to = append(to, fmt.Sprintf("u%d@example.net", i))
		}
		result, err := w.e.SendBatch(t.Context(), w.key, good(to...), false, SendOptions{})
		must(t, err)
		ids = append(ids, result.IDs...)
	}
	w.start()
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
	w.stop()
	w.open()
	for _, id := range ids {
		switch last := w.email(id).LastEvent; last {
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
		first answer
		at    string
	}{
		"scheduled": {accept, "in 1 hour"}, "queued": {trouble(app.StageConnect, "no route"), ""},
		"retry": {says(app.StageData, 451, "later"), ""}, "doubt": {lost, ""}, "sent": {accept, ""}, "bounced": {byName(map[string]int{"bob@example.net": 550}), ""},
		"captured": {captured, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(always(c.first))
				w := serving(t, relay)
				in := letter("bob@example.net")
				in.ScheduledAt, in.HTML = c.at, "<p>x</p>"
				in.Attachments = []app.Attachment{{Filename: "a.txt", Content: []byte("x")}}
				id, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{IdempotencyKey: "k"})
				must(t, err)
				sleep(5 * time.Second)
				must(t, w.remove(id))
				w.wantGone(id)
				wantCode(t, w.remove(id), app.CodeNotFound)
				wantCode(t, w.cancel(id), app.CodeNotFound)
				wantCode(t, w.move(id, "in 1 hour"), app.CodeNotFound)
				before := len(relay.seen(id))
				relay.follow(nil)
				sleep(3 * time.Hour)
				if n := len(relay.seen(id)); n != before {
					t.Errorf("%d transactions after the end", n-before)
				}
				w.wantGone(id)
				w.wantQuiet()
			})
		})
	}
}

func TestADeleteWhileTheEmailLeavesIsAConflict(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		w := serving(t, newRelay(always(dotThen(hang))))
		id := w.send("bob@example.net")
		synctest.Wait()
		wantCode(t, w.remove(id), app.CodeConflict)
		close(hang)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		must(t, w.remove(id))
		w.wantGone(id)
	})
}

func TestTheAttemptOfADeletedEmailEndsQuietly(t *testing.T) {
	for name := range beforeTheDot(nil) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1}, firstly(beforeTheDot(hang)[name]))
				w := serving(t, relay)
				id := w.send("bob@example.net")
				synctest.Wait()
				must(t, w.remove(id))
				close(hang)
				sleep(10 * time.Minute)
				w.wantGone(id)
				if n := len(relay.seen(id)); n != 1 || len(w.dotted()) != 0 {
					t.Errorf("%d transactions, dotted %v", n, w.dotted())
				}
				if w.log.has("record a result") || w.log.has("read a unit") || name != "panic" && w.log.has("level=ERROR") {
					t.Errorf("log:\n%s", w.log.text.String())
				}
				relay.follow(nil)
				next := w.send("eve@example.net") // the workers are free
				sleep(2 * time.Second)
				w.wantLast(next, app.Sent)
				if n := len(w.e.lanes[0].claimed); n != 0 {
					t.Errorf("%d units are still claimed", n)
				}
			})
		})
	}
}

func TestAnEmailDeletedBeforeItsContentIsReadEndsQuietly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil)
		w := idle(t, relay)
		var ids []string
		for range 8 {
			ids = append(ids, w.send("bob@example.net"))
		}
		w.start()
		synctest.Wait() // the later ones are claimed and wait for the relay's rate
		must(t, w.remove(ids[6]))
		must(t, w.cancel(ids[7]))
		sleep(time.Minute)
		w.wantQuiet()
		w.wantGone(ids[6])
		w.wantCanceled(ids[7])
		if n := len(relay.seen(ids[6])) + len(relay.seen(ids[7])); n != 0 {
			t.Errorf("%d transactions for emails that were withdrawn before", n)
		}
		for _, id := range ids[:6] {
			w.wantLast(id, app.Sent)
		}
	})
}
