package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
)

// sendAt has an email to bob accepted for a time.
func (w *world) sendAt(at string) string {
	w.t.Helper()
	in := letter("bob@example.net")
	in.ScheduledAt = at
	id, err := w.e.SendEmail(w.t.Context(), w.key, in, SendOptions{})
	must(w.t, err)
	return id
}

func (w *world) move(id, at string) error {
	return w.e.RescheduleEmail(w.t.Context(), w.key, id, at)
}

func (w *world) cancel(id string) error {
	return w.e.CancelEmail(context.Background(), w.key, id)
}

func (w *world) remove(id string) error {
	return w.e.DeleteEmail(w.t.Context(), w.key, id)
}

// sleep lets time pass and everything that it brings about happen.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// wantGone checks that no table has a trace of an email.
func (w *world) wantGone(id string) {
	w.t.Helper()
	_, err := w.e.GetEmail(w.t.Context(), w.key, id)
	wantCode(w.t, err, app.CodeNotFound)
	tables := w.sql("SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c ON c.name = 'email_id' WHERE m.type = 'table'")
	if len(tables) < 7 {
		w.t.Fatalf("only %q have an email_id", tables)
	}
	for _, table := range tables {
		if n := w.sql("SELECT count(*) FROM "+table+" WHERE email_id = ?", id)[0]; n != "0" {
			w.t.Errorf("%s rows in %s", n, table)
		}
	}
	if n := w.sql("SELECT count(*) FROM emails WHERE id = ?", id)[0]; n != "0" {
		w.t.Error("the email is still there")
	}
}

// wantQuiet checks that nothing was logged as an error.
func (w *world) wantQuiet() {
	w.t.Helper()
	if w.log.has("level=ERROR") {
		w.t.Errorf("log:\n%s", w.log.text.String())
	}
}

func TestAScheduledEmailLeavesWithinASecondOfItsTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		id := w.sendAt("in 1 hour")
		due := time.Now().Add(time.Hour)
		w.wantLast(id, app.Scheduled)
		if got := w.email(id).ScheduledAt; !got.Equal(due) {
			t.Errorf("scheduled at %v, want %v", got, due)
		}
		sleep(time.Hour - 2*time.Millisecond)
		w.wantLast(id, app.Scheduled)
		sleep(time.Second)
		tries := relay.seen(id)
		if len(tries) != 1 || tries[0].at.Before(due) {
			t.Errorf("left at %+v, want once at %v", tries, due)
		}
		w.wantLast(id, app.Sent)
		if got := w.email(id).ScheduledAt; !got.Equal(due) {
			t.Errorf("it reads as scheduled at %v once it left", got)
		}
	})
}

func TestAScheduledEmailOutlivesRestarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(nil)
		w := serving(t, relay)
		id := w.sendAt("in 1 hour")
		due := time.Now().Add(time.Hour)
		sleep(10 * time.Minute)
		w.stop()
		w.open()
		w.start()
		sleep(49 * time.Minute)
		if n := len(relay.seen("")); n != 0 {
			t.Fatal("it left early")
		}
		next := w.crash(newRelay(nil))
		next.start()
		sleep(61 * time.Second)
		for _, r := range []*fakeRelay{relay, next.relays[0]} {
			if tries := r.seen(id); len(tries) != 1 || tries[0].at.Before(due) || tries[0].at.After(due.Add(time.Second)) {
				t.Errorf("left at %+v, want once at %v", tries, due)
			}
		}
		next.wantLast(id, app.Sent)
	})
}

func TestAScheduledEmailWhoseTimeCameWhileTheServerWasDownLeavesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sendAt("in 1 hour")
		w.stop()
		time.Sleep(5 * time.Hour)
		w.open()
		w.start()
		synctest.Wait()
		w.wantLast(id, app.Sent)
	})
}

func TestATimeInThePastIsNow(t *testing.T) {
	for _, at := range []string{"1999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"} {
		t.Run(at, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := idle(t, newRelay(nil))
				id := w.sendAt(at)
				w.wantLast(id, app.Queued)
				w.start()
				synctest.Wait()
				w.wantLast(id, app.Sent)
			})
		})
	}
}

func TestThirtyDaysAheadAreTheMost(t *testing.T) {
	w := idle(t, newRelay(nil))
	in := letter("bob@example.net")
	in.ScheduledAt = "in 31 days"
	_, err := w.e.SendEmail(t.Context(), w.key, in, SendOptions{})
	wantCode(t, err, app.CodeValidation)
	if !strings.Contains(err.Error(), "`scheduled_at`") {
		t.Errorf("%v names no field", err)
	}
	w.wantNothing()
	id := w.sendAt("in 30 days")
	for _, bad := range []string{"in 31 days", "soon", "", " "} {
		err := w.move(id, bad)
		wantCode(t, err, app.CodeValidation)
		if !strings.Contains(err.Error(), "`scheduled_at`") {
			t.Errorf("%v names no field", err)
		}
	}
}

func TestAMovedEmailLeavesAtItsNewTimeOnly(t *testing.T) {
	for name, c := range map[string]struct {
		at    string
		after time.Duration // from the move, at 30 minutes, to its time
	}{
		"later": {"in 2 hours", 2 * time.Hour}, "earlier": {"in 10 minutes", 10 * time.Minute},
		"now": {"2000-01-01T00:30:00Z", 0}, "past": {"1999-01-01T00:00:00Z", 0},
		"1970": {"1970-01-01T00:00:00Z", 0}, "the zero time": {"0001-01-01T00:00:00Z", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(nil)
				w := serving(t, relay)
				id := w.sendAt("in 1 hour")
				sleep(30 * time.Minute)
				must(t, w.move(id, c.at))
				due := time.Now().Add(c.after)
				w.eventOf(id, app.EventRescheduled)
				if got := w.email(id).ScheduledAt; c.after > 0 && !got.Equal(due) {
					t.Errorf("scheduled at %v, want %v", got, due)
				}
				sleep(5 * time.Hour)
				if tries := relay.seen(id); len(tries) != 1 || tries[0].at.Before(due) || tries[0].at.After(due.Add(time.Second)) {
					t.Errorf("left at %+v, want once at %v", tries, due)
				}
				w.wantLast(id, app.Sent)
			})
		})
	}
}

func TestAnEmailMovedToThePastIsTriedFor48HoursLikeAnyOther(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(firstly(says(app.StageData, 451, "later"))))
		id := w.sendAt("in 1 hour")
		must(t, w.move(id, "1999-01-01T00:00:00Z"))
		sleep(30 * time.Second)
		w.wantLast(id, app.Scheduled)
		sleep(time.Minute)
		w.wantLast(id, app.Sent)
	})
}

func TestTheTimeBeforeItsFirstTryDoesNotCountForAMovedEmail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		relay := newRelay(firstly(says(app.StageData, 451, "later")))
		w := serving(t, relay)
		id := w.sendAt("in 1 hour")
		must(t, w.move(id, "in 1 minute"))
		w.sql("UPDATE units SET since = since - 3*24*3600*1000") // the relay was down for three days
		sleep(90 * time.Second)
		w.wantLast(id, app.Scheduled)
		sleep(time.Minute)
		w.wantLast(id, app.Sent)
	})
}

func TestAnEmailMovedInItsLastSecondStays(t *testing.T) {
	for _, left := range []time.Duration{time.Second, 500 * time.Millisecond, 2 * time.Millisecond} {
		t.Run(left.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(nil)
				w := serving(t, relay)
				id := w.sendAt("in 1 hour")
				time.Sleep(time.Hour - left)
				must(t, w.move(id, "in 1 hour"))
				sleep(time.Hour - time.Millisecond)
				if n := len(relay.seen(id)); n != 0 {
					t.Fatal("it left at its old time")
				}
				sleep(time.Second)
				w.eventOf(id, app.EventType(app.Sent))
			})
		})
	}
}

// beforeTheDot are the ways in which an attempt may end without a dot. Each
// waits for the channel first.
func beforeTheDot(hang chan struct{}) map[string]answer {
	return map[string]answer{
		"the dot": after(hang, accept), "trouble": after(hang, trouble(app.StageRcpt, "connection reset")),
		"deferred": after(hang, says(app.StageData, 451, "later")), "refused": after(hang, says(app.StageData, 554, "no")),
		"recipient refused":  after(hang, byName(map[string]int{"bob@example.net": 550})),
		"recipient deferred": after(hang, byName(map[string]int{"bob@example.net": 450})),
		"refused locally":    after(hang, refuseLocally),
		"panic": after(hang, func(context.Context, *app.Outgoing, func() error) app.Result {
			panic("boom")
		}),
	}
}

func TestAnEmailMovedWhileTheRelayThinksLeavesOnceAtItsNewTime(t *testing.T) {
	for name := range beforeTheDot(nil) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := newRelay(firstly(beforeTheDot(hang)[name]))
				w := serving(t, relay)
				id := w.sendAt("in 1 minute")
				sleep(61 * time.Second)
				if n := len(relay.seen(id)); n != 1 {
					t.Fatalf("%d transactions", n)
				}
				must(t, w.move(id, "in 1 hour"))
				due := time.Now().Add(time.Hour)
				close(hang)
				synctest.Wait()
				w.wantLast(id, app.Scheduled)
				if n := len(w.events(id)); name != "trouble" && n != 2 || len(w.dotted()) != 0 {
					t.Errorf("the old attempt left something behind, dotted %v:\n%s", w.dotted(), w.story(id))
				}
				sleep(time.Hour + 2*time.Second)
				tries := relay.seen(id)
				if len(tries) != 2 || tries[1].at.Before(due) || tries[1].at.After(due.Add(time.Second)) {
					t.Errorf("tries %+v, want the second at %v", tries, due)
				}
				w.eventOf(id, app.EventType(app.Sent))
				w.wantLast(id, app.Sent)
			})
		})
	}
}

func TestAnEmailMovedToNowWhileTheRelayThinksLeavesOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(firstly(after(hang, accept)))
		w := serving(t, relay)
		id := w.sendAt("in 1 minute")
		sleep(61 * time.Second)
		must(t, w.move(id, "1999-01-01T00:00:00Z"))
		sleep(10 * time.Second)
		if n := len(relay.seen(id)); n != 1 {
			t.Errorf("%d attempts at once", n)
		}
		close(hang)
		sleep(2 * time.Second)
		w.eventOf(id, app.EventType(app.Sent))
		w.wantLast(id, app.Sent)
	})
}

func TestOnlyAScheduledEmailCanBeMoved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang, dot := make(chan struct{}), make(chan struct{})
		relay := newRelay(always(after(hang, accept)))
		w := serving(t, relay)
		queued, canceled := w.send("bob@example.net"), w.sendAt("in 1 hour")
		must(t, w.cancel(canceled))
		wantCode(t, w.move(queued, "in 1 hour"), app.CodeValidation)
		close(hang)
		synctest.Wait()
		w.wantLast(queued, app.Sent)
		relay.follow(always(dotThen(dot)))
		leaving := w.sendAt("in 1 second")
		sleep(2 * time.Second)
		for _, id := range []string{queued, canceled, leaving} {
			wantCode(t, w.move(id, "in 1 hour"), app.CodeValidation)
		}
		close(dot)
		synctest.Wait()
		w.wantLast(leaving, app.Sent)
		wantCode(t, w.move(leaving, "in 1 hour"), app.CodeValidation)
		wantCode(t, w.move(app.NewID(), "in 1 hour"), app.CodeNotFound)
		if n := len(relay.seen("")); n != 2 {
			t.Errorf("%d transactions", n)
		}
	})
}

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
	relay := newRelayOf(app.Relay{Region: app.DefaultRegion, Connections: 16}, always(race))
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
				relay := newRelayOf(app.Relay{Region: app.DefaultRegion, Connections: 1}, firstly(beforeTheDot(hang)[name]))
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
		relay := newRelayOf(app.Relay{Region: app.DefaultRegion, Connections: 1, Rate: 1}, nil)
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

func TestASendingKeyChangesOnlyWhatItSent(t *testing.T) {
	w := idle(t, newRelay(nil))
	sending, other := *w.key, *w.key
	sending.ID, sending.Permission = app.NewID(), app.SendingAccess
	other.ID, other.Permission = app.NewID(), app.SendingAccess
	foreign := w.addTeam("Other", "other.example")
	in := letter("bob@example.net")
	in.ScheduledAt = "in 1 hour"
	for range 2 {
		mine, err := w.e.SendEmail(t.Context(), &sending, in, SendOptions{})
		must(t, err)
		theirs := w.sendAt("in 1 hour")
		wantCode(t, w.e.RescheduleEmail(t.Context(), &sending, theirs, "in 2 hours"), app.CodeNotFound)
		wantCode(t, w.e.CancelEmail(t.Context(), &sending, theirs), app.CodeNotFound)
		for _, key := range []*app.Key{&other, foreign} {
			wantCode(t, w.e.RescheduleEmail(t.Context(), key, mine, "in 2 hours"), app.CodeNotFound)
			wantCode(t, w.e.CancelEmail(t.Context(), key, mine), app.CodeNotFound)
			wantCode(t, w.e.DeleteEmail(t.Context(), key, mine), app.CodeNotFound)
		}
		w.wantLast(theirs, app.Scheduled)
		must(t, w.e.RescheduleEmail(t.Context(), &sending, mine, "in 2 hours"))
		must(t, w.e.CancelEmail(t.Context(), &sending, mine))
		must(t, w.move(theirs, "in 2 hours"))
		must(t, w.cancel(theirs))
	}
}

func TestAWallClockThatIsSetOnSendsWhatIsDueByIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := serving(t, newRelay(nil))
		id := w.sendAt("in 3 hours")
		sleep(time.Minute)
		w.sql("UPDATE units SET next_at = next_at - 3*3600*1000") // seen from a clock that is 3 hours on
		sleep(sweepEvery)
		w.wantLast(id, app.Sent)
	})
}
