package engine

import (
	"context"
	"strings"
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
