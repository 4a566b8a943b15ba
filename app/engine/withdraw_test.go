package engine

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mailer/app"
	"mailer/app/relays"
	"mailer/db"
)

func TestAnEmailDeletedDuringItsAttemptTroublesNobody(t *testing.T) {
	late := byName(map[string]int{"bob@example.net": 450})
	for name, a := range map[string]answer{
		"taken": accept, "refused": byName(map[string]int{"bob@example.net": 550}), "postponed": late,
		"trouble": trouble(app.StageMail, "reset"), "message refused": says(app.StageMail, 550, "no"), "local": refuseLocally,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := newRelayOf(relays.Relay{Region: app.DefaultRegion, Connections: 1}, firstly(after(hang, a)))
				w := serving(t, relay)
				id := w.send("bob@example.net")
				synctest.Wait()
				must(t, w.e.DeleteEmail(t.Context(), w.key, id))
				close(hang)
				relay.follow(nil)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if n := len(relay.seen(id)); n != 1 {
					t.Errorf("%d attempts", n)
				}
				if w.log.has("level=ERROR") {
					t.Errorf("log:\n%s", w.log.text.String())
				}
				if n := w.e.lanes[0].busy(); n != 0 {
					t.Errorf("%d units are still worked on", n)
				}
				other := w.send("eve@example.net")
				synctest.Wait()
				w.wantLast(other, app.Sent)
				_, err := w.e.GetEmail(t.Context(), w.key, id)
				wantCode(t, err, app.CodeNotFound)
			})
		})
	}
}

func TestACanceledEmailNeverLeavesAndStaysCanceled(t *testing.T) {
	for name, a := range map[string]answer{
		"taken": accept, "refused": byName(map[string]int{"bob@example.net": 550}), "postponed": byName(map[string]int{"bob@example.net": 450}),
		"trouble": trouble(app.StageMail, "reset"), "message refused": says(app.StageMail, 550, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				hang := make(chan struct{})
				relay := newRelay(firstly(after(hang, a)))
				w := serving(t, relay)
				id := w.send("bob@example.net")
				synctest.Wait()
				must(t, w.e.CancelEmail(t.Context(), w.key, id))
				close(hang)
				time.Sleep(3 * time.Minute)
				synctest.Wait()
				w.wantLast(id, app.Canceled)
				if n := len(relay.seen(id)); n != 1 || w.unit(id) != nil || len(w.dotted()) != 0 {
					t.Errorf("%d attempts, unit %v", n, w.unit(id))
				}
				if story := w.story(id); strings.Contains(story, "250") {
					t.Errorf("it left:\n%s", story)
				}
				wantCode(t, w.e.CancelEmail(t.Context(), w.key, id), app.CodeValidation)
			})
		})
	}
}

func TestCancelWhileARetryOrADoubtWaits(t *testing.T) {
	for name, a := range map[string]answer{"retry": byName(map[string]int{"bob@example.net": 450}), "doubt": lost} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				relay := newRelay(always(a))
				w := serving(t, relay)
				id := w.send("bob@example.net")
				time.Sleep(time.Second)
				synctest.Wait()
				must(t, w.e.CancelEmail(t.Context(), w.key, id))
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				w.wantLast(id, app.Canceled)
				if n := len(relay.seen(id)); n != 1 {
					t.Errorf("%d attempts", n)
				}
				for _, d := range w.doubts() {
					if d.Settled != "canceled" {
						t.Errorf("doubt %+v", d)
					}
				}
			})
		})
	}
}

func TestWhatIsDottedCanNeitherBeCanceledNorDeleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		reply := make(chan struct{})
		w := serving(t, newRelay(always(dotThen(reply))))
		id := w.send("bob@example.net")
		synctest.Wait()
		wantCode(t, w.e.CancelEmail(t.Context(), w.key, id), app.CodeValidation)
		wantCode(t, w.e.DeleteEmail(t.Context(), w.key, id), app.CodeConflict)
		close(reply)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		wantCode(t, w.e.CancelEmail(t.Context(), w.key, id), app.CodeValidation)
		must(t, w.e.DeleteEmail(t.Context(), w.key, id))
	})
}

func TestCancelsRaceWithDeliveriesAndEveryEmailIsEitherSentOrCanceled(t *testing.T) {
	w := idle(t, newRelay(always(func(ctx context.Context, m *app.Outgoing, hold func() error) app.Result { return accept(ctx, m, hold) })))
	var ids []string
	for range 200 {
		ids = append(ids, w.send("bob@example.net"))
	}
	w.start()
	canceled := map[string]bool{}
	for i := len(ids) - 1; i >= 0; i-- {
		canceled[ids[i]] = w.e.CancelEmail(t.Context(), w.key, ids[i]) == nil
	}
	w.stop()
	w.open()
	left := map[string]int{}
	for _, s := range w.relays[0].seen("") {
		left[s.m.EmailID]++
	}
	for _, id := range ids {
		sent := false
		for _, ev := range w.events(id) {
			sent = sent || ev.Type == app.EventType(app.Sent)
		}
		if canceled[id] && (sent || w.email(id).LastEvent != app.Canceled || w.unit(id) != nil) {
			t.Errorf("canceled, and its timeline is\n%s", w.story(id))
		}
		if !canceled[id] && !sent {
			t.Errorf("not canceled and not sent:\n%s", w.story(id))
		}
	}
}

func TestAScheduledEmailThatIsMovedIsTriedFromTheBeginning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		relay := newRelay(firstly(after(hang, accept), says(app.StageMail, 450, "greylisted")))
		w := idle(t, relay)
		id := w.send("bob@example.net")
		// As accepted with scheduled_at: now.
		must(t, w.db.Write(t.Context(), func(tx *db.Tx) error { return tx.SetLastEvent(id, app.Scheduled) }))
		w.start()
		synctest.Wait()
		at := time.Now().Add(20 * 24 * time.Hour)
		must(t, w.e.RescheduleEmail(t.Context(), w.key, id, app.FormatTime(at)))
		close(hang) // the attempt under way must not leave
		synctest.Wait()
		if u := w.unit(id); u == nil || u.Attempts != 0 || !u.NextAt.Equal(at) || len(w.dotted()) != 0 {
			t.Fatalf("unit %+v", u)
		}
		w.stop()
		// The server is down for three days beyond that time.
		time.Sleep(23 * 24 * time.Hour)
		w.open()
		w.start()
		synctest.Wait()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		w.wantLast(id, app.Sent)
		if n := len(relay.seen(id)); n != 3 {
			t.Errorf("%d attempts:\n%s", n, w.story(id))
		}
	})
}

func TestForeignKeysChangeNothing(t *testing.T) {
	w := idle(t, newRelay(nil))
	own := *w.key
	own.ID, own.Permission = app.NewID(), app.SendingAccess
	id := w.send("bob@example.net")
	for name, change := range map[string]func(*app.Key) error{
		"cancel":     func(k *app.Key) error { return w.e.CancelEmail(t.Context(), k, id) },
		"delete":     func(k *app.Key) error { return w.e.DeleteEmail(t.Context(), k, id) },
		"reschedule": func(k *app.Key) error { return w.e.RescheduleEmail(t.Context(), k, id, "in 1 hour") },
	} {
		for who, key := range map[string]*app.Key{"another key": &own, "another team": {TeamID: app.NewID(), Permission: app.FullAccess}} {
			if err := change(key); app.CodeOf(err) != app.CodeNotFound {
				t.Errorf("%s by %s: %v", name, who, err)
			}
		}
	}
	w.wantLast(id, app.Queued)
	mine, err := w.e.SendEmail(t.Context(), &own, letter("x@example.net"), SendOptions{})
	must(t, err)
	must(t, w.e.CancelEmail(t.Context(), &own, mine))
}
